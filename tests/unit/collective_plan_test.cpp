// Plans of the operations with blocks of equal size, executed by unit/plan_run.h.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "collective/plan.h"
#include "collective/plan_parts.h"
#include "unit/plan_run.h"

namespace hcclrun {
namespace {

constexpr Op kPlanned[] = {Op::kAllGather, Op::kReduceScatter, Op::kAllReduce, Op::kAllToAll,
                           Op::kBroadcast, Op::kReduce,        Op::kScatter};
class Plans : public ::testing::TestWithParam<PlanCase> {};

INSTANTIATE_TEST_SUITE_P(Shapes, Plans, ::testing::ValuesIn(PlanCases(kPlanned)), NameOfCase);

TEST_P(Plans, GiveTheReferenceResultInAnyOrder) {
  const auto [op, path, ranks] = GetParam();
  std::mt19937_64 random(1000 * ranks + 10 * static_cast<uint32_t>(op) +
                         static_cast<uint32_t>(path));
  const int runs = ranks <= 16 ? 60 : ranks == 64 ? 6 : 2;
  for (int i = 0; i < runs; ++i) {
    OpShape shape;
    shape.op = op;
    shape.path = path;
    shape.ranks = ranks;
    shape.root = static_cast<uint32_t>(random() % ranks);
    const DataType type = kPlanTypes[random() % std::size(kPlanTypes)];
    shape.elem = ElementSize(type);
    const uint64_t most = ranks <= 8 ? 400 : ranks <= 16 ? 150 : ranks == 64 ? 40 : 20;
    shape.count = i == 0 ? 1 : 1 + random() % most;
    shape.chunk_bytes = MinChunkBytes(ranks) + (i % 3 == 0 ? 0 : random() % (ranks * 150));
    if (i % 7 == 6) shape.chunk_bytes = 1 << 16;
    shape.split = i % 2 == 0 ? 1 : 1 + static_cast<uint32_t>(random() % 7);
    PlanRun run(shape, type, SomeReduction(type, random), random());
    run.PlaceAll(i);
    run.Run();
    if (HasFailure()) return;
  }
}

TEST(BufferedPlans, HoldInputsLargerThanTheBuffersByFar) {
  for (Op op : kPlanned) {
    for (uint32_t ranks : {2, 3, 5, 8}) {
      OpShape shape;
      shape.op = op;
      shape.path = Path::kBuffered;
      shape.ranks = ranks;
      shape.root = ranks - 1;
      shape.elem = 2;
      shape.count = 5003;
      shape.chunk_bytes = MinChunkBytes(ranks);
      shape.split = 3;
      EXPECT_GT(PhaseCount(shape), 20u);
      for (int layout : {0, 1, 2}) {
        PlanRun run(shape, DataType::kFp16, ReduceOp::kSum, ranks);
        for (uint32_t r = 0; r < ranks; ++r) run.Place(r, layout);
        run.Run();
        if (HasFailure()) return;
      }
    }
  }
}

OpShape Shape(Op op, Path path, uint32_t ranks, uint64_t count) {
  OpShape shape;
  shape.op = op;
  shape.path = path;
  shape.ranks = ranks;
  shape.count = count;
  shape.elem = 4;
  shape.chunk_bytes = MinChunkBytes(ranks);
  return shape;
}

TEST(PlanShapes, BarrierAndCountZeroMoveNothing) {
  EXPECT_EQ(PhaseCount(Shape(Op::kBarrier, Path::kBuffered, 4, 0)), 0u);
  EXPECT_EQ(PhaseCount(Shape(Op::kBarrier, Path::kWindow, 4, 8)), 0u);
  EXPECT_EQ(PhaseCount(Shape(Op::kAllReduce, Path::kBuffered, 4, 0)), 0u);
}

TEST(PlanShapes, OneRankCopies) {
  for (Path path : {Path::kWindow, Path::kBuffered}) {
    const OpShape shape = Shape(Op::kAllReduce, path, 1, 100);
    ASSERT_EQ(PhaseCount(shape), 1u);
    ASSERT_EQ(PiecesPerRank(shape, 0), 1u);
    const Piece piece = PieceAt(shape, 0, 0);
    EXPECT_EQ(piece.kind, Piece::kCopy);
    EXPECT_EQ(piece.bytes, 400u);
  }
}

TEST(PlanShapes, SmallBufferedOperationsTakeOneRound) {
  EXPECT_EQ(PhaseCount(Shape(Op::kAllGather, Path::kBuffered, 8, 1)), 2u);
  EXPECT_EQ(PhaseCount(Shape(Op::kAllReduce, Path::kBuffered, 8, 1)), 3u);
  EXPECT_EQ(PhaseCount(Shape(Op::kAllToAll, Path::kBuffered, 8, 1)), 2u);
  // Blocks that fit together are staged in one piece.
  EXPECT_EQ(PiecesPerRank(Shape(Op::kAllToAll, Path::kBuffered, 8, 1), 0), 1u);
}

TEST(PlanShapes, InvalidOnesAreRecognised) {
  const OpShape good = Shape(Op::kScatter, Path::kBuffered, 4, 10);
  EXPECT_TRUE(ValidShape(good));
  const auto with = [&](auto change) {
    OpShape shape = good;
    change(shape);
    return ValidShape(shape);
  };
  EXPECT_FALSE(with([](OpShape& s) { s.op = Op::kAllToAllV; }));
  EXPECT_FALSE(with([](OpShape& s) { s.op = Op::kSend; }));
  EXPECT_FALSE(with([](OpShape& s) { s.ranks = 0; }));
  EXPECT_FALSE(with([](OpShape& s) { s.root = 4; }));
  EXPECT_FALSE(with([](OpShape& s) { s.elem = 3; }));
  EXPECT_FALSE(with([](OpShape& s) { s.elem = 32; }));
  EXPECT_FALSE(with([](OpShape& s) { s.split = 0; }));
  EXPECT_FALSE(with([](OpShape& s) { s.chunk_bytes = 255; }));
  EXPECT_TRUE(with([](OpShape& s) { s.chunk_bytes = 255, s.path = Path::kWindow; }));
  EXPECT_FALSE(with([](OpShape& s) { s.count = UINT64_MAX / 4; }));
  EXPECT_FALSE(with([](OpShape& s) { s.count = UINT64_MAX; }));
}

TEST(PlanShapes, SharesEndOnLinesAndCoverEverything) {
  for (uint64_t bytes :
       {uint64_t{1}, uint64_t{64}, uint64_t{100}, uint64_t{4097}, uint64_t{INT64_MAX}}) {
    for (uint64_t shares : {1, 2, 3, 7, 384, 1000}) {
      EXPECT_EQ(plan::ShareBegin(bytes, shares, 0), 0u);
      EXPECT_EQ(plan::ShareBegin(bytes, shares, shares), bytes);
      for (uint64_t i = 0; i < shares; ++i) {
        const uint64_t begin = plan::ShareBegin(bytes, shares, i),
                       end = plan::ShareBegin(bytes, shares, i + 1);
        ASSERT_LE(begin, end);
        ASSERT_TRUE(begin % 64 == 0 || begin == bytes);
        ASSERT_LE(end - begin, bytes / shares + 128);
      }
    }
  }
}

TEST(AliasingOf, NamesTheLayout) {
  const OpShape gather = Shape(Op::kAllGather, Path::kWindow, 4, 10);  // blocks of 40 bytes
  EXPECT_EQ(ClassifyAliasing(gather, 2, 1000, 2000), Aliasing::kDisjoint);
  EXPECT_EQ(ClassifyAliasing(gather, 2, 960, 1000), Aliasing::kDisjoint);
  EXPECT_EQ(ClassifyAliasing(gather, 2, 1160, 1000), Aliasing::kDisjoint);
  EXPECT_EQ(ClassifyAliasing(gather, 2, 1080, 1000), Aliasing::kOwnBlock);
  EXPECT_EQ(ClassifyAliasing(gather, 0, 1000, 1000), Aliasing::kOwnBlock);
  EXPECT_EQ(ClassifyAliasing(gather, 2, 1000, 1000), Aliasing::kBlock);
  EXPECT_EQ(ClassifyAliasing(gather, 2, 1084, 1000), Aliasing::kOverlap);
  EXPECT_EQ(ClassifyAliasing(gather, 2, 996, 1000), Aliasing::kOverlap);
  const OpShape scatter = Shape(Op::kReduceScatter, Path::kWindow, 4, 10);
  EXPECT_EQ(ClassifyAliasing(scatter, 3, 1000, 1120), Aliasing::kOwnBlock);
  EXPECT_EQ(ClassifyAliasing(scatter, 3, 1000, 1000), Aliasing::kBlock);
  EXPECT_EQ(ClassifyAliasing(scatter, 3, 1000, 1156), Aliasing::kOverlap);
  const OpShape reduce = Shape(Op::kAllReduce, Path::kWindow, 4, 10);
  EXPECT_EQ(ClassifyAliasing(reduce, 3, 1000, 1000), Aliasing::kSame);
  EXPECT_EQ(ClassifyAliasing(reduce, 3, 1000, 1004), Aliasing::kOverlap);
  // Only the root has an output, only the root an input.
  EXPECT_EQ(ClassifyAliasing(Shape(Op::kReduce, Path::kWindow, 4, 10), 3, 1000, 1004),
            Aliasing::kDisjoint);
  EXPECT_EQ(ClassifyAliasing(Shape(Op::kScatter, Path::kWindow, 4, 10), 3, 1000, 1004),
            Aliasing::kDisjoint);
}

TEST(AliasingOf, BufferedPathTakesWhatTheWindowPathCannot) {
  for (Op op : kPlanned) {
    const OpShape window = Shape(op, Path::kWindow, 4, 10),
                  buffered = Shape(op, Path::kBuffered, 4, 10);
    EXPECT_FALSE(InPlaceSafe(window, Aliasing::kBlock));
    EXPECT_TRUE(InPlaceSafe(buffered, Aliasing::kBlock));
    EXPECT_EQ(InPlaceSafe(window, Aliasing::kSame), op != Op::kAllToAll);
    EXPECT_TRUE(InPlaceSafe(buffered, Aliasing::kSame));
    EXPECT_FALSE(InPlaceSafe(buffered, Aliasing::kOverlap));
  }
}

}  // namespace
}  // namespace hcclrun
