// AllGatherV, ReduceScatterV, AlltoAllV and AlltoAllVC against the naive reference, byte for byte:
// blocks, gaps between them, and inputs. With HCCLRUN_DIRECT=1 in the environment they work
// straight on user memory, otherwise through the HCCL buffers.

#include "ranks/v_operations.h"

#include <cstdlib>
#include <deque>

#include "ranks/arena.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

constexpr uint64_t kMargin = 64;

bool Direct() { return std::getenv("HCCLRUN_DIRECT") != nullptr; }

// One operation with memory of its own on every rank, which knows what must be there afterwards.
class VJob {
 public:
  // In place as semantics C.3 has it: AllGatherV's input and ReduceScatterV's output are the own
  // block of the other buffer.
  VJob(const Session& session, const Call& call, uint64_t seed, bool in_place = false)
      : call_(call), rank_(session.rank()) {
    std::vector<Bytes> inputs, outputs;
    for (uint32_t r = 0; r < call.ranks; ++r) {
      const Place at = PlaceOf(r, in_place);
      Bytes memory = MakeValues(DataType::kUint64, seed + 1, r, at.bytes / 8);
      const uint64_t elem = ElementSize(call.type);
      FillValues(call.type, seed, r, 0, at.in_bytes / elem, &memory[at.in]);
      inputs.push_back(Slice(memory, at.in, at.in_bytes));
      outputs.push_back(Slice(memory, at.out, at.out_bytes));
      if (r == rank_) {
        expected_ = std::move(memory);
        place_ = at;
      }
    }
    memory_ = std::make_unique<DeviceMemory>(place_.bytes);
    UploadValues(memory_->data(), expected_);
    Call with_setting = call;
    with_setting.accumulator = AccumulatorSet();
    RunReference(with_setting, inputs, &outputs);
    std::copy(outputs[rank_].begin(), outputs[rank_].end(),
              expected_.begin() + static_cast<ptrdiff_t>(place_.out));
  }

  HcclResult Enqueue(HcclComm comm, aclrtStream stream) {
    // A side without data may be NULL.
    return EnqueueV(call_, rank_, place_.in_bytes ? memory_->data() + place_.in : nullptr,
                    place_.out_bytes ? memory_->data() + place_.out : nullptr, comm, stream);
  }

  ::testing::AssertionResult Check() const {
    const Bytes actual = Download(memory_->data(), place_.bytes);
    if (actual == expected_) return ::testing::AssertionSuccess();
    const auto first = std::mismatch(actual.begin(), actual.end(), expected_.begin());
    return ::testing::AssertionFailure()
           << Name(call_.op) << " of " << Name(call_.type) << " " << Name(call_.reduce)
           << ": the first wrong byte of rank " << rank_ << " is " << first.first - actual.begin()
           << "; input at " << place_.in << ", output at " << place_.out;
  }

 private:
  struct Place {
    uint64_t in, in_bytes, out, out_bytes, bytes;
  };

  Place PlaceOf(uint32_t rank, bool in_place) const {
    const ExtentBytes e = VExtentsOf(call_, rank);
    const uint64_t elem = ElementSize(call_.type);
    const VRow row = RowOf(call_, rank);
    const uint64_t end_of_in = kMargin + e.in_bytes;
    Place at{kMargin, e.in_bytes, (end_of_in + kMargin) / 8 * 8, e.out_bytes, 0};
    if (in_place && call_.op == Op::kAllGatherV && e.in_bytes) {
      at.out = kMargin;
      at.in = at.out + row.recv_displs[rank] * elem;
    }
    if (in_place && call_.op == Op::kReduceScatterV && e.out_bytes)
      at.out = at.in + row.send_displs[rank] * elem;
    at.bytes = std::max(at.in + at.in_bytes, at.out + at.out_bytes) + kMargin;
    at.bytes = (at.bytes + 7) / 8 * 8;
    return at;
  }

  static Bytes Slice(const Bytes& memory, uint64_t from, uint64_t bytes) {
    return Bytes(memory.begin() + static_cast<ptrdiff_t>(from),
                 memory.begin() + static_cast<ptrdiff_t>(from + bytes));
  }

  Call call_;
  uint32_t rank_;
  Place place_{};
  Bytes expected_;
  std::unique_ptr<DeviceMemory> memory_;
};

Call RandomVCall(Random& random, Op op, uint32_t ranks, uint64_t most) {
  Call call;
  call.op = op;
  call.ranks = ranks;
  do {
    call.type = kDataTypes[random.Below(std::size(kDataTypes))];
    call.reduce = kReductions[random.Below(std::size(kReductions))];
  } while (!SupportedV(call));
  RandomArrays(&call, most, random.OneIn(2) ? 0 : 1 + random.Below(50),
               [&random](uint64_t limit) { return random.Below(limit); });
  return call;
}

hcclrunPath ExpectedPathOf(const Call& call) {
  if (!Direct() || call.ranks == 1) return HCCLRUN_PATH_BUFFERED;
  const bool sum_of_int64 = call.op == Op::kReduceScatterV && call.type == DataType::kInt64;
  return sum_of_int64 ? HCCLRUN_PATH_BUFFERED : HCCLRUN_PATH_WINDOW;
}

bool Empty(const Call& call) {
  for (uint32_t r = 0; r < call.ranks; ++r) {
    if (VExtentsOf(call, r).out_bytes) return false;
  }
  return true;
}

RANK_TEST(VOperations, GiveTheReferenceResult) {
  Session session(ranks);
  Random random(Seed());
  for (int i = 0; i < Trials(25); ++i) {
    for (Op op : kVOperations) {
      const uint64_t most[] = {3, 100, 5000 / ranks.size()};
      const Call call = RandomVCall(random, op, ranks.size(), most[random.Below(3)]);
      VJob job(session, call, random.Next());
      ASSERT_EQ(job.Enqueue(session.comm(), session.stream()), HCCL_SUCCESS) << TakeMessages();
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      ASSERT_TRUE(job.Check());
      if (!Empty(call)) {
        ASSERT_EQ(session.LastPath(), ExpectedPathOf(call)) << Name(op);
      }
    }
  }
}

// Every type that C.4 lets data movement have, in every V operation that moves data.
RANK_TEST(VOperations, EveryTypeMoves) {
  Session session(ranks);
  Random random(Seed() + 9);
  for (Op op : kVOperations) {
    if (op == Op::kReduceScatterV) continue;
    for (DataType type : kDataTypes) {
      Call call = RandomVCall(random, op, ranks.size(), 60);
      call.type = type;
      VJob job(session, call, random.Next());
      ASSERT_EQ(job.Enqueue(session.comm(), session.stream()), HCCL_SUCCESS) << TakeMessages();
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      ASSERT_TRUE(job.Check()) << Name(op) << " of " << Name(type);
    }
  }
}

// More operations at once than the rings have entries, mixed with others.
RANK_TEST(VOperations, LongChainWithoutWaiting) {
  Session session(ranks);
  Random random(Seed() + 1);
  DeviceMemory value(4);
  UploadValues<int32_t>(value.data(), {1});
  std::deque<VJob> jobs;
  int32_t expected = 1;
  for (int i = 0; i < 200; ++i) {
    jobs.emplace_back(session, RandomVCall(random, kVOperations[random.Below(4)], ranks.size(), 40),
                      random.Next());
  }
  ranks.Meet();
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(jobs[static_cast<size_t>(i)].Enqueue(session.comm(), session.stream()), HCCL_SUCCESS);
    if (i % 10 != 0) continue;
    ASSERT_EQ(HcclAllReduce(value.data(), value.data(), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            session.comm(), session.stream()),
              HCCL_SUCCESS);
    expected = static_cast<int32_t>(static_cast<uint32_t>(expected) * ranks.size());
  }
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  for (const VJob& job : jobs) ASSERT_TRUE(job.Check());
  EXPECT_EQ(DownloadValues<int32_t>(value.data(), 1)[0], expected);
}

RANK_TEST(VOperations, OwnBlockInPlace) {
  Session session(ranks);
  Random random(Seed() + 2);
  for (int i = 0; i < Trials(20); ++i) {
    for (Op op : {Op::kAllGatherV, Op::kReduceScatterV}) {
      const Call call = RandomVCall(random, op, ranks.size(), 300);
      VJob job(session, call, random.Next(), true);
      ASSERT_EQ(job.Enqueue(session.comm(), session.stream()), HCCL_SUCCESS) << TakeMessages();
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      ASSERT_TRUE(job.Check());
    }
  }
}

// Blocks that take many rounds through the HCCL buffers, beside some that take one or none.
RANK_TEST(VOperations, BlocksLargerThanTheBuffers) {
  Session session(ranks, [](HcclCommConfig& config) { config.hcclBufferSize = 1; });
  Random random(Seed() + 3);
  const uint64_t large = (uint64_t{3} << 20) / ranks.size() + 77;
  for (Op op : kVOperations) {
    Call call = RandomVCall(random, op, ranks.size(), 1000);
    call.type = DataType::kInt16;
    call.reduce = ReduceOp::kSum;
    const uint32_t last = ranks.size() - 1;
    (op == Op::kAllGatherV ? call.recv_counts : call.send_counts)[0][last] = large;
    // The large block lies behind all others.
    const uint64_t end = uint64_t{2000} * ranks.size();
    if (op == Op::kAllGatherV) call.recv_displs[0][last] = end;
    if (op == Op::kReduceScatterV || op == Op::kAllToAllV) call.send_displs[0][last] = end;
    if (op == Op::kAllToAllV) {
      call.recv_counts[last][0] = large;
      call.recv_displs[last][0] = end;
    }
    VJob job(session, call, random.Next());
    ASSERT_EQ(job.Enqueue(session.comm(), session.stream()), HCCL_SUCCESS) << TakeMessages();
    ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
    ASSERT_TRUE(job.Check());
  }
}

// Semantics A.10 item 1: never, even where both buffers lie in a window.
RANK_TEST(VOperations, DoNotUseWindows) {
  if (Direct()) return;
  Session session(ranks);
  WindowMemory memory(session, kGranularity);
  const std::vector<uint64_t> counts(ranks.size(), 8);
  std::vector<uint64_t> displs;
  for (uint32_t r = 0; r < ranks.size(); ++r) displs.push_back(8 * r);
  ASSERT_EQ(HcclAllGather(memory.data(), memory.data() + 65536, 8, HCCL_DATA_TYPE_INT32,
                          session.comm(), session.stream()),
            HCCL_SUCCESS);
  // Another offset on every rank, which would be an error in windows.
  ASSERT_EQ(HcclAlltoAllV(memory.data() + 64 * ranks.rank(), counts.data(), displs.data(),
                          HCCL_DATA_TYPE_INT32, memory.data() + 65536, counts.data(), displs.data(),
                          HCCL_DATA_TYPE_INT32, session.comm(), session.stream()),
            HCCL_SUCCESS);
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(session.LastPath(), HCCLRUN_PATH_BUFFERED);
}

// Semantics C.1: a rank of AlltoAllV that has nothing to say takes part all the same.
RANK_TEST(VOperations, AlltoAllVWithoutDataTakesPart) {
  Session session(ranks);
  const std::vector<uint64_t> zeros(ranks.size(), 0), matrix(ranks.size() * ranks.size(), 0);
  const HcclDataType type = HCCL_DATA_TYPE_FP16;
  ASSERT_EQ(HcclAlltoAllV(nullptr, zeros.data(), zeros.data(), type, nullptr, zeros.data(),
                          zeros.data(), type, session.comm(), session.stream()),
            HCCL_SUCCESS);
  ASSERT_EQ(
      HcclAlltoAllVC(nullptr, matrix.data(), type, nullptr, type, session.comm(), session.stream()),
      HCCL_SUCCESS);
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  if (ranks.size() < 2) return;
  // Only rank 0 sends, only rank 1 receives.
  DeviceMemory memory(64);
  const std::vector<uint8_t> data(64, static_cast<uint8_t>(7 + ranks.rank()));
  UploadValues(memory.data(), data);
  std::vector<uint64_t> send(ranks.size(), 0), recv(ranks.size(), 0);
  if (ranks.rank() == 0) send[1] = 64;
  if (ranks.rank() == 1) recv[0] = 64;
  ASSERT_EQ(
      HcclAlltoAllV(ranks.rank() == 0 ? memory.data() : nullptr, send.data(), zeros.data(),
                    HCCL_DATA_TYPE_INT8, ranks.rank() == 1 ? memory.data() : nullptr, recv.data(),
                    zeros.data(), HCCL_DATA_TYPE_INT8, session.comm(), session.stream()),
      HCCL_SUCCESS)
      << TakeMessages();
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(
      Download(memory.data(), 64),
      std::vector<uint8_t>(64, static_cast<uint8_t>(ranks.rank() == 1 ? 7 : 7 + ranks.rank())));
}

// Buffers that overlap have an undefined result and do no harm.
RANK_TEST(VOperations, OverlapIsNoCrash) {
  Session session(ranks);
  Random random(Seed() + 4);
  for (int i = 0; i < 20; ++i) {
    for (Op op : kVOperations) {
      const Call call = RandomVCall(random, op, ranks.size(), 200);
      const uint64_t shift = 8 * (1 + random.Below(20));
      uint64_t bytes = shift;
      const ExtentBytes e = VExtentsOf(call, ranks.rank());
      DeviceMemory memory(bytes + std::max(e.in_bytes, e.out_bytes) + 64);
      ASSERT_EQ(EnqueueV(call, ranks.rank(), memory.data(), memory.data() + shift, session.comm(),
                         session.stream()),
                HCCL_SUCCESS)
          << TakeMessages();
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
    }
  }
}

}  // namespace
}  // namespace hcclrun::testing
