#pragma once
// A rank's memory for operations, together with a model of every rank's memory. Each operation is
// queued and applied to the model by the naive reference; in the end the whole arena must equal the
// model, byte for byte. So chains of operations, inputs that must not change and bytes around the
// outputs that nobody may touch are all checked at once.

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "support/rank_session.h"
#include "support/reference.h"

namespace hcclrun::testing {

// A place in the arena for each rank. Memory of aclrtMalloc may be used at another place on every
// rank, windows not.
using Offsets = std::vector<uint64_t>;

class Arena {
 public:
  // kWindow: registered on the session's communicator; kBuffered: aclrtMalloc. Starts with random
  // bytes, a multiple of 8 of them.
  Arena(Session& session, Path memory, uint64_t bytes, uint64_t seed);
  Path memory() const { return memory_; }
  uint64_t bytes() const { return bytes_; }
  char* At(uint64_t offset) const { return base_ + offset; }
  Offsets Everywhere(uint64_t offset) const { return Offsets(session_.size(), offset); }

  // Queues a copy of typed values, different on every rank, to the rank's place.
  void Put(DataType type, uint64_t seed, uint64_t count, const Offsets& at, aclrtStream stream);
  // Queues the operation. What an operation leaves undefined is overwritten behind it.
  void Run(const Call& call, const Offsets& in, const Offsets& out, HcclComm comm,
           aclrtStream stream);
  // After synchronisation: this rank's arena against the model.
  ::testing::AssertionResult Check();

 private:
  void Apply(const Call& call, const Offsets& in, const Offsets& out);

  Session& session_;
  Path memory_;
  uint64_t bytes_;
  std::unique_ptr<DeviceMemory> plain_;
  std::unique_ptr<WindowMemory> window_;
  char* base_;
  std::vector<Bytes> model_;  // by rank
  std::deque<Bytes> staged_;  // sources of queued copies
  std::vector<std::string> history_;
};

// The path that semantics A.10 prescribes for buffers that both lie in memory of that kind.
hcclrunPath ExpectedPath(const Call& call, Path memory);

// The C call of a Call.
HcclResult Enqueue(const Call& call, void* in, void* out, HcclComm comm, aclrtStream stream);

std::string Describe(const Call& call);

// Random numbers that are the same on every rank.
class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  uint64_t Next() { return Hash(seed_, counter_++); }
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

// An operation with its places.
struct Job {
  Call call;
  Offsets in, out;
};

// Lays a call out at random in the arena: without overlap, or, if `in_place`, as the operation
// allows it there (semantics C.3). Windows need the same place on every rank, which excludes the
// in-place forms of AllGather and ReduceScatter; these are laid out without overlap.
Job RandomLayout(Random& random, const Call& call, const Arena& arena, bool in_place);

// Any operation, type, reduction, root and a count whose buffers fit into a quarter of the arena.
Call RandomCall(Random& random, uint32_t ranks, uint64_t arena_bytes);

inline constexpr Op kOperations[] = {Op::kAllGather, Op::kReduceScatter, Op::kAllReduce,
                                     Op::kAllToAll,  Op::kBroadcast,     Op::kReduce,
                                     Op::kScatter};
inline constexpr DataType kDataTypes[] = {DataType::kInt8,   DataType::kInt16,  DataType::kInt32,
                                          DataType::kInt64,  DataType::kFp16,   DataType::kFp32,
                                          DataType::kBf16,   DataType::kUint8,  DataType::kUint16,
                                          DataType::kUint32, DataType::kUint64, DataType::kFp64};
inline constexpr ReduceOp kReductions[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax,
                                           ReduceOp::kMin};

// Whether the call can be made at all (semantics C.4), from a table of its own.
bool Supported(const Call& call);

}  // namespace hcclrun::testing
