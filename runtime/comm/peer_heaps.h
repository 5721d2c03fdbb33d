#pragma once
// The heaps of other processes that this process has mapped. A heap is mapped once however many
// communicators share it, so its pages are faulted in once; it goes with the last communicator that
// uses it. Own heaps (ranks that are threads of one process) are not mapped again. Any thread.

#include <cstdint>
#include <memory>

#include "base/fault.h"
#include "shm/memory_object.h"

namespace hcclrun {

class MappedHeap {
 public:
  ~MappedHeap();
  char* base() const { return base_; }
  uint64_t bytes() const { return bytes_; }

 private:
  friend class PeerHeaps;
  boost::interprocess::mapped_region region_;  // empty for an own heap
  char* base_ = nullptr;
  uint64_t bytes_ = 0;
};

class PeerHeaps {
 public:
  // Announces a heap of this process, so that Map() finds it. Before the rendezvous;
  // may be repeated.
  static void RegisterOwn(uint64_t uid, char* base, uint64_t bytes);
  // The mapping of the heap `uid` of `bytes` bytes; `fd` is taken and closed.
  static Result<std::shared_ptr<MappedHeap>> Map(uint64_t uid, uint64_t bytes, UniqueFd fd);
};

}  // namespace hcclrun
