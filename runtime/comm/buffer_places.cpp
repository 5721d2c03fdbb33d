// Where the buffers of operations and transfers are: in a heap, and in which window. What was found
// is remembered as long as neither changes.

#include "comm/communicator.h"
#include "comm/symmetric_heap.h"

namespace hcclrun {

Fault Communicator::Locate(const void* address, uint64_t bytes, const char* parameter,
                           Buffer* buffer) {
  return IsKnown(address, bytes, buffer) ? Fault::None()
                                         : LocateAnew(address, bytes, parameter, buffer);
}

bool Communicator::IsKnown(const void* address, uint64_t bytes, Buffer* buffer) {
  buffer->address = static_cast<char*>(const_cast<void*>(address));
  buffer->bytes = bytes;
  if (bytes == 0) return true;
  const uint64_t map_generation = MemoryMapGeneration(), window_generation = windows_->generation();
  for (const KnownMemory& known : known_) {
    const uint64_t at = uint64_t(buffer->address - known.whole.address);
    if (at >= known.whole.bytes || bytes > known.whole.bytes - at) continue;
    if (known.map_generation != map_generation || known.window_generation != window_generation)
      continue;
    buffer->heap_offset = known.whole.heap_offset + at;
    if (known.whole.window_offset != kNoWindow)
      buffer->window_offset = known.whole.window_offset + at;
    return true;
  }
  return false;
}

Fault Communicator::FindPlace(const MemoryInfo& memory, const char* parameter,
                              Buffer* buffer) const {
  const uintptr_t address = reinterpret_cast<uintptr_t>(buffer->address);
  if (memory.kind == MemoryKind::kPeerView || memory.imported) {
    if (buffer->bytes > memory.size - uint64_t(buffer->address - memory.base)) {
      return Fault(FaultKind::kOutsideAllocation,
                   {address, buffer->bytes, reinterpret_cast<uintptr_t>(memory.base), memory.size},
                   parameter);
    }
    buffer->is_private = true;
    return Fault::None();
  }
  bool scattered = false;
  Result<HeapRange> range = ResolveRange(buffer->address, buffer->bytes, parameter, &scattered);
  if (!range.ok()) return range.fault();
  if (range->device != device_) {
    return Fault(FaultKind::kOtherDevice,
                 {address, uint64_t(range->device->id()), uint64_t(device_->id())}, parameter);
  }
  buffer->is_private = scattered;
  buffer->heap_offset = range->offset;
  return Fault::None();
}

Fault Communicator::CheckBuffer(const void* address, uint64_t bytes, const char* parameter) const {
  if (bytes == 0) return Fault::None();
  Buffer buffer;
  buffer.address = static_cast<char*>(const_cast<void*>(address));
  buffer.bytes = bytes;
  return FindPlace(FindMemory(address), parameter, &buffer);
}

// Also remembers the whole of what the buffer lies in, if the rest of it is like the buffer.
Fault Communicator::LocateAnew(const void* address, uint64_t bytes, const char* parameter,
                               Buffer* buffer) {
  KnownMemory known;
  known.map_generation = MemoryMapGeneration();
  known.window_generation = windows_->generation();
  const MemoryInfo memory = FindMemory(address);
  if (Fault f = FindPlace(memory, parameter, buffer)) return f;
  if (memory.kind == MemoryKind::kPeerView || memory.imported) return Fault::None();
  buffer->window_offset = windows_->OffsetOf(buffer->address, bytes, memory.identity);
  if (memory.kind == MemoryKind::kNone || memory.device != device_) return Fault::None();
  known.whole.address = memory.base;
  known.whole.bytes = memory.size;
  known.whole.heap_offset = memory.heap_offset;
  known.whole.window_offset = windows_->OffsetOf(memory.base, memory.size, memory.identity);
  // A mapping may be in a window only in part; allocations never are in one.
  if (known.whole.window_offset != kNoWindow || memory.kind == MemoryKind::kAllocation ||
      !windows_->Any()) {
    known_[next_known_] = known;
    next_known_ = (next_known_ + 1) % kKnown;
  }
  return Fault::None();
}

}  // namespace hcclrun
