#pragma once
// The heaps of other processes that this process has mapped. A heap is mapped once however many
// communicators share it, so its pages are faulted in once; it goes with the last communicator that
// uses it. Own heaps (ranks that are threads of one process) are not mapped again. Any thread.
//
// An operation goes through the same offsets of all ranks' heaps side by side. Were the heaps
// mapped at multiples of their size, as the kernel would, the pages under its pieces would all
// compete for the same few places of the translation caches, which costs a quarter of the bandwidth
// of eight ranks. So each is mapped a number of pages of its own off a round address.

#include <cstdint>
#include <memory>

#include "base/fault.h"
#include "shm/memory_object.h"
#include "shm/reservation.h"

namespace hcclrun {

class MappedHeap {
 public:
  ~MappedHeap();
  char* base() const { return base_; }
  char* program_base() const { return program_base_; }  // device/program_view.h
  uint64_t bytes() const { return bytes_; }

 private:
  friend class PeerHeaps;
  Reservation mapping_;  // empty for an own heap
  boost::interprocess::mapped_region closed_;  // the program's view, if it is another one
  char* base_ = nullptr;
  char* program_base_ = nullptr;
  uint64_t bytes_ = 0;
};

class PeerHeaps {
 public:
  // Announces a heap of this process, so that Map() finds it. Before the rendezvous;
  // may be repeated.
  static void RegisterOwn(uint64_t uid, char* base, char* program_base, uint64_t bytes);
  // The mapping of the heap `uid` of `bytes` bytes; `fd` is taken and closed.
  static Result<std::shared_ptr<MappedHeap>> Map(uint64_t uid, uint64_t bytes, UniqueFd fd);
};

}  // namespace hcclrun
