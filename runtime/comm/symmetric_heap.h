#pragma once
// The symmetric windows of one communicator on one rank (semantics A).
//
// On hardware a registration maps every peer's physical memory into a reserved heap of ranks x
// stride. Here all heaps are mapped since the communicator was made, so a registration maps
// nothing: it validates as hardware does, gives the mapping a slot offset, and exchanges that
// offset, the mapped size and the place in the rank's heap with the others. Slot offsets and mapped
// sizes must agree; places may differ.

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fault.h"
#include "comm/control_block.h"
#include "comm/slot_allocator.h"
#include "device/physical_memory.h"

namespace hcclrun {

class Communicator;

// A registered mapping; shared by all windows on it.
struct SymmetricMapping {
  uint64_t identity;  // of the physical handle: the key (semantics A.6)
  // Keeps the memory while a window refers to it, even if the user unmaps and frees it first
  // (semantics A.7).
  std::shared_ptr<PhysicalMemory> memory;
  char* base;                          // user address of the mapping
  uint64_t bytes;                      // mapped size
  uint64_t slot_offset;                // in the stride
  uint64_t birth_round;                // round of its first registration
  std::vector<uint64_t> heap_offsets;  // of every rank's counterpart, in that rank's heap
  uint32_t references = 0;
};

class SymmetricHeap {
 public:
  explicit SymmetricHeap(Communicator* comm);

  // A.3 from step 9 on; earlier steps are the boundary's. Blocks until all ranks are there. The
  // window's number.
  Result<uint64_t> Register(void* address, uint64_t bytes);
  // A.7: local. False when the window is not (or no longer) one of this communicator.
  bool Deregister(uint64_t window);
  // A.8: earliest window whose mapping holds the whole range, and the offset from
  // the mapping's base.
  Result<uint64_t> Find(const void* address, uint64_t bytes, uint64_t* offset);
  // A.8: where `offset` of the window's mapping lies on rank `peer`, as an address of this process.
  Result<char*> PeerPointer(uint64_t window, uint64_t offset, uint32_t peer);
  // Slot offset + offset in the mapping of a range that lies in one registered mapping, `identity`
  // being that of the memory now mapped at the address (MemoryInfo); kNoWindow otherwise.
  uint64_t OffsetOf(const char* address, uint64_t bytes, uint64_t identity);
  // Whether any mapping is registered.
  bool Any();
  // Grows whenever the answer of OffsetOf() may have changed; to be used like
  // MemoryMapGeneration().
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // Forgets all windows (communicator destroyed, A.9).
  void Clear();

 private:
  struct Window {
    // Null for the opaque handle of a one-rank communicator.
    std::shared_ptr<SymmetricMapping> mapping;
    char* address;
    uint64_t bytes;
  };
  Fault Initialise();
  Fault Exchange(SymmetricMapping* mapping, uint64_t user_bytes, uint64_t heap_offset);
  Fault Compare(const std::vector<WindowEntry>& entries, uint64_t round);
  void NoteWaiting(uint64_t round) const;
  Fault RoundFault(FaultKind kind, uint64_t round, uint64_t waited_ms);
  void Changed() { generation_.fetch_add(1, std::memory_order_release); }  // under mutex_
  void ClosePeers(const SymmetricMapping& mapping, const char* ended_by);
  void Drop(const std::shared_ptr<SymmetricMapping>& mapping);
  uint64_t Add(Window window);

  Communicator* comm_;
  // One registration at a time (it blocks in the exchange); held without mutex_.
  std::mutex register_mutex_;
  bool initialised_ = false;
  // Result of a failed initialisation or of a round that timed out: every later call gets it.
  Fault broken_;
  uint64_t rounds_ = 0;

  std::mutex mutex_;
  SlotAllocator slots_;                                                // guarded by mutex_
  std::map<uint64_t, std::shared_ptr<SymmetricMapping>> by_identity_;  // guarded by mutex_
  std::map<char*, std::shared_ptr<SymmetricMapping>> by_base_;         // guarded by mutex_
  std::map<uint64_t, Window> windows_;                                 // guarded by mutex_
  uint64_t next_window_ = 1;                                           // guarded by mutex_
  std::atomic<uint64_t> generation_{1};
};

}  // namespace hcclrun
