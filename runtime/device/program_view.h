#pragma once
// The two views of device memory. What the program knows of it is an address in the program's view;
// the library reaches the same bytes in its own. Without HCCLRUN_STRICT they are one and the same.
// With it the program's view is a second mapping without access (PROT_NONE): on hardware the host
// cannot touch device memory either. Every entry of the map (device/memory_map.h) has program
// addresses; EngineView() makes the library's of one, in the few places that touch memory by the
// program's pointer (copies, fills, value tasks, and buffers of operations that have no place in an
// own heap).

#include <cstdint>

namespace hcclrun {

// While it lives, the program's view is open: for functions of the program that stand for kernels.
// Does nothing without HCCLRUN_STRICT. May be nested, any thread; open is open for all threads.
class OpenProgramView {
 public:
  OpenProgramView();
  ~OpenProgramView();
  static bool IsOpen();
};

// Addresses for the program's view, in one range that nothing else uses, so that the addresses of
// system calls' arguments can be told apart. A hint: null when the range is used up.
void* NextProgramAddress(uint64_t size);
inline constexpr uint64_t kProgramViewBegin = uint64_t{24} << 40, kProgramViewEnd = uint64_t{80} << 40;

}  // namespace hcclrun
