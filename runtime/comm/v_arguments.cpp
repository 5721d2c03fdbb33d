#include "comm/v_arguments.h"

#include <algorithm>
#include <cstring>

#include "comm/communicator.h"
#include "shm/private_copy.h"

namespace hcclrun {
namespace {

uint64_t HashOf(const std::vector<uint64_t>& numbers) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (uint64_t n : numbers) {
    hash = (hash ^ n) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

// Fills the layout from the numbers.
void Lay(VArguments* v, uint32_t rank, uint32_t elem) {
  v->layout.first_rank = rank;
  v->layout.sides = {MakeVSide(v->op, rank, v->ranks, elem,
                               {v->array(kSendCounts), v->array(kSendDispls), v->array(kRecvCounts),
                                v->array(kRecvDispls)})};
  v->layout.largest = LargestBlock(v->layout.sides[0]);
}

}  // namespace

uint64_t WeightOf(uint32_t column) {
  uint64_t x = (uint64_t{column} + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::shared_ptr<VArguments> MakeVArguments(Op op, uint32_t rank, uint32_t ranks, uint32_t elem,
                                           const VArrays& arrays) {
  auto v = std::make_shared<VArguments>();
  v->op = op;
  v->ranks = ranks;
  v->numbers.resize(uint64_t{kVArrays} * ranks);
  auto to = v->numbers.begin();
  for (const uint64_t* array :
       {arrays.send_counts, arrays.send_displs, arrays.recv_counts, arrays.recv_displs}) {
    if (array) std::copy_n(array, ranks, to);
    to += ranks;
  }
  Lay(v.get(), rank, elem);
  return v;
}

std::shared_ptr<VArguments> MakeVArguments(uint32_t rank, uint32_t ranks, uint32_t elem,
                                           const uint64_t* matrix) {
  auto v = std::make_shared<VArguments>();
  v->op = Op::kAllToAllVC;
  v->ranks = ranks;
  v->numbers.resize(uint64_t{kVArrays} * ranks);
  v->matrix.assign(matrix, matrix + uint64_t{ranks} * ranks);
  v->matrix_hash = HashOf(v->matrix);
  uint64_t* numbers = v->numbers.data();
  uint64_t sent = 0, received = 0;
  for (uint32_t peer = 0; peer < ranks; peer++) {
    const uint64_t out = v->matrix[uint64_t{rank} * ranks + peer],
                   in = v->matrix[uint64_t{peer} * ranks + rank];
    numbers[uint64_t{kSendCounts} * ranks + peer] = out;
    numbers[uint64_t{kSendDispls} * ranks + peer] = sent;
    numbers[uint64_t{kRecvCounts} * ranks + peer] = in;
    numbers[uint64_t{kRecvDispls} * ranks + peer] = received;
    sent = SaturatingSum(sent, out);
    received = SaturatingSum(received, in);
  }
  std::vector<uint64_t> weights(ranks);
  for (uint32_t column = 0; column < ranks; column++) weights[column] = WeightOf(column);
  for (uint32_t row = 0; row < ranks; row++) {
    uint64_t sum = 0, weighted = 0;
    for (uint32_t column = 0; column < ranks; column++) {
      const uint64_t count = v->matrix[uint64_t{row} * ranks + column];
      sum += count;
      weighted += count * weights[column];
    }
    numbers[uint64_t{kRowSums} * ranks + row] = sum;
    numbers[uint64_t{kRowWeightedSums} * ranks + row] = weighted;
  }
  Lay(v.get(), rank, elem);
  return v;
}

Result<std::unique_ptr<ArgumentRing>> ArgumentRing::Create(Heap& heap, uint32_t ranks) {
  const uint64_t bytes = kRingSlots * EntryBytes(ranks);
  Result<uint64_t> offset = heap.Allocate(bytes, kDevicePage);
  if (!offset.ok()) return offset.fault();
  return std::unique_ptr<ArgumentRing>(new ArgumentRing(heap, ranks, *offset));
}

ArgumentRing::~ArgumentRing() { heap_.Free(offset_); }

void ArgumentRing::Write(uint64_t sequence, const VArguments& arguments) {
  memcpy(heap_.base() + OffsetOf(sequence), arguments.numbers.data(), EntryBytes(ranks_));
}

PeerArguments::PeerArguments(const Communicator& comm, uint32_t rank, const Descriptor& posted)
    : ranks_(comm.size()) {
  const uint64_t bytes = ArgumentRing::EntryBytes(ranks_), heap = comm.heap_bytes(rank);
  const uint64_t offset = PrivateCopy(posted.args_offset);
  if (bytes > heap || offset > heap - bytes || offset % sizeof(uint64_t) != 0) return;
  numbers_ = reinterpret_cast<const uint64_t*>(comm.heap_base(rank) + offset);
}

}  // namespace hcclrun
