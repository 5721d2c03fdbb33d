#pragma once
// The memory of one device: a shared object that every rank of a communicator maps, and the
// allocator of its ranges.
//
// The allocator's tables are private to the owning process: a death orphans no lock, peers only
// ever see bytes. The first granule holds the heap header (device/heap_header.h), everything behind
// it is handed out. Offset 0 is therefore never an allocation. Memory is committed when it is
// handed out; Free() keeps the pages, because refaulting them in every view is what costs time, and
// gives them back only when the budget runs short. All functions may be called from any thread.

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/fault.h"
#include "device/commit_map.h"
#include "device/range_allocator.h"
#include "shm/memory_object.h"

namespace hcclrun {

inline constexpr uint64_t kGranule = uint64_t{2} << 20;  // of physical memory (semantics B.1)
inline constexpr uint64_t kDevicePage = 4096;            // every allocation starts and ends on one

class Heap {
 public:
  // Sized by HCCLRUN_HBM_SIZE; smaller where address space is scarce (device/heap.cpp says when).
  static Result<std::unique_ptr<Heap>> Create();
  // Of `size` bytes, a multiple of kGranule and at least two of them.
  static Result<std::unique_ptr<Heap>> CreateSized(uint64_t size);
  ~Heap();

  char* base() const { return base_; }        // the library's view, as long as the heap lives
  // The program's view: the same, or with HCCLRUN_STRICT one without access
  // (device/program_view.h).
  char* program_base() const { return program_base_; }
  uint64_t size() const { return size_; }     // address space, not committed memory
  MemoryObject& object() { return object_; }  // what peers map
  uint64_t uid() const { return uid_; }       // random, names this heap between processes

  // `bytes` of committed memory at `alignment` (a power of two); the offset in the heap.
  // kMemoryExhausted with all operands. Contents are undefined.
  Result<uint64_t> Allocate(uint64_t bytes, uint64_t alignment);
  // Address space only; pages come through Commit(). For HCCL buffers that commit piece by piece.
  Result<uint64_t> AllocateUncommitted(uint64_t bytes, uint64_t alignment);
  // Gives [offset, +bytes) of an allocation pages; what has pages already costs nothing.
  Fault Commit(uint64_t offset, uint64_t bytes);
  // Of an allocation made by either function. Unknown offsets are ignored.
  void Free(uint64_t offset);

  uint64_t used_bytes() const;       // handed out
  uint64_t peak_bytes() const;       // the most that was handed out so far
  uint64_t free_bytes() const;       // address space and budget, whichever is less
  uint64_t committed_bytes() const;  // has pages: handed out or kept

 private:
  Heap(MemoryObject object, boost::interprocess::mapped_region region,
       boost::interprocess::mapped_region closed);
  Result<uint64_t> AllocateLocked(uint64_t bytes, uint64_t alignment);
  Fault CommitLocked(uint64_t offset, uint64_t bytes);
  void DecommitIdleLocked();
  static void DecommitIdleEverywhere();
  Fault ExhaustedLocked(uint64_t bytes, Fault cause) const;
  uint64_t UsedLocked() const { return ranges_.used() - kGranule; }  // the header is not the user's

  MemoryObject object_;
  boost::interprocess::mapped_region region_;
  boost::interprocess::mapped_region closed_;  // the program's view, if it is another one
  char* const base_;
  char* const program_base_;
  const uint64_t size_;
  uint64_t uid_ = 0;

  mutable std::mutex mutex_;
  RangeAllocator ranges_;  // guarded by mutex_
  CommitMap commits_;      // guarded by mutex_
  uint64_t peak_ = 0;      // guarded by mutex_: the most that was handed out so far
};

}  // namespace hcclrun
