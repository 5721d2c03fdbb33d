// The cooperative executor: threads that share the pieces of an operation produce, byte for byte,
// what one thread produces alone, whichever of them runs.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "collective/claims.h"
#include "collective/executor.h"

namespace hcclrun {
namespace {

struct Case {
  Op op;
  Path path;
  uint32_t ranks;
  uint64_t count;  // fp32
};

// All ranks' buffers of one operation.
class Buffers {
 public:
  explicit Buffers(const OpShape& shape) {
    for (uint32_t r = 0; r < shape.ranks; r++) {
      const ExtentBytes extents =
          Extents(shape.op, shape.count, shape.elem, shape.ranks, r, shape.root);
      operands_.in.push_back(Make(extents.in_bytes));
      for (uint64_t i = 0; i < extents.in_bytes / 4; i++) {
        const float value = 1.0F / static_cast<float>(1 + (i * 31 + r * 17) % 1009);
        std::memcpy(operands_.in.back() + i * 4, &value, 4);
      }
      operands_.out.push_back(Make(extents.out_bytes));
      out_bytes_.push_back(extents.out_bytes);
      operands_.stage_a.push_back(Make(shape.chunk_bytes));
      operands_.stage_b.push_back(Make(shape.chunk_bytes));
    }
  }
  const Operands* operands() const { return &operands_; }
  bool SameOutputs(const Buffers& other) const {
    for (size_t r = 0; r < out_bytes_.size(); r++) {
      if (std::memcmp(operands_.out[r], other.operands_.out[r], out_bytes_[r]) != 0) return false;
    }
    return true;
  }

 private:
  char* Make(uint64_t bytes) {
    memory_.push_back(std::make_unique<char[]>(bytes + 64));
    return memory_.back().get();
  }
  std::vector<std::unique_ptr<char[]>> memory_;
  Operands operands_;
  std::vector<uint64_t> out_bytes_;
};

OpRun MakeRun(const OpShape& shape, const Buffers& buffers, Claims* claims, uint32_t rank,
              uint32_t homes, bool crowded) {
  OpRun run;
  run.shape = shape;
  run.plan.emplace(shape);
  run.phases = run.plan->phases();
  run.dtype = DataType::kFp32;
  run.operands = buffers.operands();
  run.claims = claims;
  run.rank = rank;
  run.homes = homes;
  run.crowded = crowded;
  return run;
}

class CooperativeExecution : public testing::TestWithParam<Case> {};

TEST_P(CooperativeExecution, GivesTheBytesOfOneThread) {
  OpShape shape;
  shape.op = GetParam().op;
  shape.path = GetParam().path;
  shape.ranks = GetParam().ranks;
  shape.count = GetParam().count;
  shape.elem = 4;
  shape.chunk_bytes = 1 << 12;
  shape.split = 3;
  const Buffers alone(shape), together(shape);
  ExecuteAlone(MakeRun(shape, alone, nullptr, 0, 1, true));

  // The same claims twice: a slot serves one operation after the other.
  const auto claims = std::make_unique<Claims>();
  for (const bool crowded : {true, false}) {
    std::atomic<int> completions{0};
    OpenForAll(MakeRun(shape, together, claims.get(), 0, 2, crowded));
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < shape.ranks; rank++) {
      threads.emplace_back([&, rank] {
        OpRun run = MakeRun(shape, together, claims.get(), rank, 2, crowded);
        while (completions.load() == 0) {
          const Executor::State state = CooperativeExecutor().Advance(run, [&](bool last) {
            if (last) completions.fetch_add(1);
          });
          if (state == Executor::State::kMustWait) std::this_thread::yield();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(completions.load(), 1);
    EXPECT_TRUE(together.SameOutputs(alone));
    claims->Reset();
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllOperations, CooperativeExecution,
    testing::Values(Case{Op::kAllReduce, Path::kWindow, 5, 12345},
                    Case{Op::kAllGather, Path::kWindow, 4, 3001},
                    Case{Op::kReduceScatter, Path::kWindow, 3, 7777},
                    Case{Op::kAllToAll, Path::kWindow, 4, 2049},
                    Case{Op::kAllReduce, Path::kBuffered, 4, 12345},
                    Case{Op::kAllGather, Path::kBuffered, 3, 3001},
                    Case{Op::kReduceScatter, Path::kBuffered, 4, 7777},
                    Case{Op::kAllToAll, Path::kBuffered, 4, 2049},
                    Case{Op::kBroadcast, Path::kBuffered, 4, 9999},
                    Case{Op::kReduce, Path::kBuffered, 4, 9999},
                    Case{Op::kScatter, Path::kBuffered, 4, 1003}));

TEST(Claims, AStoppedThreadCannotTakeFromALaterPhase) {
  const auto claims = std::make_unique<Claims>();
  claims->Open(0, 1, 4);
  const uint64_t first = claims->open.load();
  uint64_t piece = 0;
  EXPECT_TRUE(claims->Take(first, 0, 1, 4, &piece));
  EXPECT_EQ(piece, 0u);
  claims->Open(1, 1, 4);
  EXPECT_FALSE(claims->Take(first, 0, 1, 4, &piece));
  EXPECT_FALSE(claims->Any(first, 1, 4));
  EXPECT_TRUE(claims->Any(claims->open.load(), 1, 4));
}

TEST(Claims, HomesShareAllPieces) {
  const auto claims = std::make_unique<Claims>();
  claims->Open(0, 3, 10);
  const uint64_t opened = claims->open.load();
  std::vector<int> taken(10);
  uint64_t piece = 0;
  for (uint32_t home = 0; home < 3; home++) {
    while (claims->Take(opened, home, 3, 10, &piece)) taken[piece]++;
  }
  EXPECT_EQ(taken, std::vector<int>(10, 1));
  EXPECT_FALSE(claims->Any(opened, 3, 10));
}

}  // namespace
}  // namespace hcclrun
