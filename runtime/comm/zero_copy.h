#pragma once
// Memory that a framework has declared for zero copy (semantics D.10): address ranges, and the
// mapped blocks in them that are active. The tables belong to the process, as on hardware; every
// communicator sees them. Since all heaps are mapped anyway, activation exports nothing: it only
// makes operations on the block eligible for the direct path. Any thread.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class ZeroCopyRanges {
 public:
  static ZeroCopyRanges& Get();

  Fault Set(uint64_t base, uint64_t bytes);
  Fault Unset(uint64_t base);
  Fault Activate(uint64_t address, uint64_t bytes);
  Fault Deactivate(uint64_t address);
  // Whether any block is active.
  bool AnyActive();
  // Whether the whole range lies in active blocks.
  bool IsActive(const void* address, uint64_t bytes);

 private:
  ZeroCopyRanges() = default;
};

}  // namespace hcclrun
