#pragma once
// What peer pointers may be used for. The view of another rank's memory (MemoryKind::kPeerView) is all
// of its heap; the program may use those parts of it that a symmetric window has, as long as it is
// registered. Ranges are the program's addresses, and may be opened several times. Any thread.

#include <cstdint>

namespace hcclrun {

void OpenPeerRange(char* base, uint64_t size);
// The last time: from now on an address in it is told as given back by `ended_by`;
// null: it never was one.
void ClosePeerRange(char* base, uint64_t size, const char* ended_by);

}  // namespace hcclrun
