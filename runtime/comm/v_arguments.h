#pragma once
// The arrays of a V operation: this rank's own, and their way to its peers.
//
// Argument ring: every rank has one in its own heap, of kRingSlots entries; operation k uses entry
// k % kRingSlots. The owner writes an entry when the slot of its operation is free and before it
// posts (matching.cpp), peers read it after they saw the post (acquire) and before they leave the
// slot: the owner cannot come back to the entry earlier, since the slot is recycled only after all
// ranks have left. An entry has arrays of one number per rank: send counts, send displacements,
// recv counts, recv displacements, in elements, and of the matrix of AlltoAllVC two sums of each
// row, which tell where and by how much another matrix differs (v_matching.cpp); an operation that
// has only some of them leaves the others alone. What a peer reads there is a number like any other
// of another process: it is copied and checked against that process' heap before it becomes an
// address. When the owner dies its entries stay mapped.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fault.h"
#include "collective/v_layout.h"
#include "comm/control_block.h"
#include "device/heap.h"

namespace hcclrun {

class Communicator;

enum VArray : uint32_t {
  kSendCounts,
  kSendDispls,
  kRecvCounts,
  kRecvDispls,
  kRowSums,          // of the elements, modulo 2^64
  kRowWeightedSums,  // of the elements by WeightOf() their column
  kVArrays
};

// Random numbers, so that no two different combinations of a few elements have the same sum.
uint64_t WeightOf(uint32_t column);

// A V call's own arguments, copied when it was called.
struct VArguments {
  Op op;
  uint32_t ranks = 0;
  std::vector<uint64_t> numbers;  // [kVArrays][ranks]; AlltoAllVC: what its matrix says of the rank
  std::vector<uint64_t> matrix;   // AlltoAllVC, row by row
  uint64_t matrix_hash = 0;
  VLayout layout;  // of this rank alone; `largest` is that of its own blocks

  const uint64_t* array(VArray which) const { return numbers.data() + uint64_t{which} * ranks; }
};

// From a caller's arrays; those that the operation does not have are null.
std::shared_ptr<VArguments> MakeVArguments(Op op, uint32_t rank, uint32_t ranks, uint32_t elem,
                                           const VArrays& arrays);
// AlltoAllVC: data are packed, so the matrix tells the displacements, too.
std::shared_ptr<VArguments> MakeVArguments(uint32_t rank, uint32_t ranks, uint32_t elem,
                                           const uint64_t* matrix);

class ArgumentRing {
 public:
  // In the communicator's own heap.
  static Result<std::unique_ptr<ArgumentRing>> Create(Heap& heap, uint32_t ranks);
  ~ArgumentRing();
  ArgumentRing(const ArgumentRing&) = delete;

  static uint64_t EntryBytes(uint32_t ranks) {
    return uint64_t{kVArrays} * ranks * sizeof(uint64_t);
  }
  // Of the entry of an operation, in the heap.
  uint64_t OffsetOf(uint64_t sequence) const {
    return offset_ + sequence % kRingSlots * EntryBytes(ranks_);
  }
  void Write(uint64_t sequence, const VArguments& arguments);

 private:
  ArgumentRing(Heap& heap, uint32_t ranks, uint64_t offset)
      : heap_(heap), ranks_(ranks), offset_(offset) {}
  Heap& heap_;
  const uint32_t ranks_;
  const uint64_t offset_;
};

// A posted entry of any rank. Every number is read anew, so it must be read once and then checked.
class PeerArguments {
 public:
  // `posted` is that rank's descriptor, read after the post; false if the entry does not lie in
  // its heap.
  PeerArguments(const Communicator& comm, uint32_t rank, const Descriptor& posted);
  explicit operator bool() const { return numbers_ != nullptr; }
  uint64_t At(VArray which, uint32_t index) const {
    if (!numbers_) return 0;  // its descriptor was rewritten since it was looked at
    return __atomic_load_n(numbers_ + uint64_t{which} * ranks_ + index, __ATOMIC_RELAXED);
  }

 private:
  const uint64_t* numbers_ = nullptr;
  uint32_t ranks_;
};

}  // namespace hcclrun
