// Layouts and plans of the V operations, with random arrays that have zeros, gaps and no order.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "collective/plan.h"
#include "collective/v_layout.h"
#include "support/v_calls.h"
#include "unit/plan_run.h"

namespace hcclrun {
namespace {

using testing::kVOperations;
using testing::VRow;

VSide SideOf(const Call& call, uint32_t rank) {
  const VRow row = testing::RowOf(call, rank);
  return MakeVSide(call.op, rank, call.ranks, ElementSize(call.type),
                   {row.send_counts.data(), row.send_displs.data(), row.recv_counts.data(),
                    row.recv_displs.data()});
}

// All ranks' sides, with the sources that only the senders know.
VLayout LayoutOf(const Call& call) {
  VLayout layout;
  for (uint32_t r = 0; r < call.ranks; ++r) layout.sides.push_back(SideOf(call, r));
  for (uint32_t r = 0; r < call.ranks; ++r) {
    for (uint32_t peer = 0; peer < call.ranks; ++peer)
      layout.sides[r].incoming[peer].src = layout.sides[peer].outgoing[r].src;
    layout.largest = std::max(layout.largest, LargestBlock(layout.sides[r]));
  }
  return layout;
}

OpShape ShapeOf(const Call& call, Path path, const VLayout& layout) {
  OpShape shape;
  shape.op = call.op;
  shape.path = path;
  shape.ranks = call.ranks;
  shape.elem = ElementSize(call.type);
  shape.chunk_bytes = MinChunkBytes(call.ranks);
  shape.layout = &layout;
  return shape;
}

class VPlans : public ::testing::TestWithParam<PlanCase> {};

INSTANTIATE_TEST_SUITE_P(Shapes, VPlans, ::testing::ValuesIn(PlanCases(kVOperations)), NameOfCase);

TEST_P(VPlans, GiveTheReferenceResultInAnyOrderAndLeaveGapsAlone) {
  const auto [op, path, ranks] = GetParam();
  std::mt19937_64 random(1000 * ranks + 10 * static_cast<uint32_t>(op) +
                         static_cast<uint32_t>(path));
  const int runs = ranks <= 16 ? 60 : ranks == 64 ? 6 : 1;
  for (int i = 0; i < runs; ++i) {
    Call call;
    call.op = op;
    call.ranks = ranks;
    call.type = kPlanTypes[random() % std::size(kPlanTypes)];
    const uint64_t most = ranks <= 8 ? 400 : ranks <= 16 ? 100 : ranks == 64 ? 12 : 2;
    const uint64_t gap = i % 3 == 0 ? 0 : 5;
    testing::RandomArrays(&call,
                          i == 1       ? 0
                          : i % 5 == 4 ? 3
                                       : most,
                          gap, [&random](uint64_t limit) { return random() % limit; });
    const VLayout layout = LayoutOf(call);
    OpShape shape = ShapeOf(call, path, layout);
    shape.chunk_bytes += i % 3 == 0 ? 0 : random() % (ranks * 150);
    if (i % 7 == 6) shape.chunk_bytes = 1 << 16;
    shape.split = i % 2 == 0 ? 1 : 1 + static_cast<uint32_t>(random() % 7);
    PlanRun run(shape, call.type, SomeReduction(call.type, random), random(), call);
    run.PlaceAll(i);
    run.Run();
    if (HasFailure()) return;
  }
}

// One huge block among small ones, through small stage buffers.
TEST(VBufferedPlans, HoldBlocksLargerThanTheBuffersByFar) {
  for (Op op : kVOperations) {
    Call call;
    call.op = op;
    call.ranks = 5;
    call.type = DataType::kFp16;
    std::mt19937_64 random(5);
    testing::RandomArrays(&call, 30, 0, [&random](uint64_t limit) { return random() % limit; });
    (op == Op::kAllGatherV ? call.recv_counts : call.send_counts)[0][3] = 5003;
    if (op == Op::kAllToAllV) call.recv_counts[3][0] = 5003;
    for (auto* displs : {&call.send_displs, &call.recv_displs}) {
      for (auto& row : *displs) row = {7000, 6900, 6800, 300, 12100};
    }
    const VLayout layout = LayoutOf(call);
    const OpShape shape = ShapeOf(call, Path::kBuffered, layout);
    EXPECT_GT(PhaseCount(shape), 20u);
    PlanRun run(shape, call.type, ReduceOp::kSum, 1, call);
    for (uint32_t r = 0; r < call.ranks; ++r) run.Place(r, 0);
    run.Run();
    if (HasFailure()) return;
  }
}

// A rank that knows its own arrays alone sees the same phases and does the same pieces.
TEST(VPlanShapes, OneSideGivesTheOwnPiecesOfTheWhole) {
  std::mt19937_64 random(3);
  for (Op op : kVOperations) {
    Call call;
    call.op = op;
    call.ranks = 4;
    testing::RandomArrays(&call, 200, 3, [&random](uint64_t limit) { return random() % limit; });
    const VLayout whole = LayoutOf(call);
    const OpShape shape = ShapeOf(call, Path::kBuffered, whole);
    for (uint32_t r = 0; r < call.ranks; ++r) {
      VLayout mine;
      mine.first_rank = r;
      mine.largest = whole.largest;
      mine.sides = {SideOf(call, r)};
      OpShape own = shape;
      own.layout = &mine;
      ASSERT_TRUE(ValidShape(own));
      ASSERT_EQ(PhaseCount(own), PhaseCount(shape));
      for (uint64_t phase = 0; phase < PhaseCount(shape); ++phase) {
        const uint64_t n = PiecesPerRank(shape, phase);
        ASSERT_EQ(PiecesPerRank(own, phase), n);
        for (uint64_t i = r * n; i < (r + 1) * n; ++i) {
          const Piece a = PieceAt(own, phase, i), b = PieceAt(shape, phase, i);
          EXPECT_EQ(a.bytes, b.bytes);
          EXPECT_EQ(a.src_offset, b.src_offset);
          EXPECT_EQ(a.dst_offset, b.dst_offset);
          EXPECT_EQ(a.src_rank, b.src_rank);
        }
      }
    }
  }
}

TEST(VPlanShapes, AllCountsZeroMoveNothing) {
  for (Op op : kVOperations) {
    for (Path path : {Path::kWindow, Path::kBuffered}) {
      Call call;
      call.op = op;
      call.ranks = 3;
      testing::RandomArrays(&call, 0, 0, [](uint64_t) { return 0; });
      const VLayout layout = LayoutOf(call);
      EXPECT_EQ(PhaseCount(ShapeOf(call, path, layout)), 0u);
    }
  }
}

TEST(VPlanShapes, InvalidOnesAreRecognised) {
  Call call;
  call.op = Op::kAllToAllVC;
  call.ranks = 3;
  call.send_counts = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  const VLayout good = LayoutOf(call);
  EXPECT_TRUE(ValidShape(ShapeOf(call, Path::kBuffered, good)));
  const auto with = [&](auto change) {
    VLayout layout = good;
    OpShape shape = ShapeOf(call, Path::kBuffered, layout);
    change(shape, layout);
    return ValidShape(shape);
  };
  EXPECT_FALSE(with([](OpShape& s, VLayout&) { s.layout = nullptr; }));
  EXPECT_FALSE(with([](OpShape& s, VLayout&) { s.op = Op::kAllToAll; }));
  EXPECT_FALSE(with([](OpShape& s, VLayout&) { s.chunk_bytes = 100; }));
  EXPECT_FALSE(with([](OpShape&, VLayout& l) { l.first_rank = 1; }));
  EXPECT_FALSE(with([](OpShape&, VLayout& l) { l.largest = 35; }));
  EXPECT_FALSE(with([](OpShape&, VLayout& l) { l.largest = UINT64_MAX / 2; }));
  EXPECT_FALSE(with([](OpShape&, VLayout& l) { l.sides[1].incoming.pop_back(); }));
  EXPECT_FALSE(with([](OpShape&, VLayout& l) { l.sides[2].outgoing[0].bytes = 3; }));
}

TEST(VLayouts, ExtentsReachToTheLastBlockWithElements) {
  const uint64_t counts[] = {3, 0, 2}, displs[] = {10, UINT64_MAX, 4};
  VArrays arrays;
  arrays.recv_counts = counts;
  arrays.recv_displs = displs;
  const VSide gather = MakeVSide(Op::kAllGatherV, 2, 3, 4, arrays);
  EXPECT_EQ(VExtents(gather).in_bytes, 8u);
  EXPECT_EQ(VExtents(gather).out_bytes, 52u);
  EXPECT_EQ(LargestBlock(gather), 12u);
  EXPECT_EQ(VExtents(MakeVSide(Op::kAllGatherV, 1, 3, 4, arrays)).in_bytes, 0u);
}

TEST(VLayouts, NumbersThatDoNotFitAreNoSmallOnes) {
  const uint64_t counts[] = {1, UINT64_MAX / 2}, displs[] = {UINT64_MAX / 4 + 1, 0};
  VArrays arrays;
  arrays.send_counts = counts;
  arrays.send_displs = displs;
  const VSide side = MakeVSide(Op::kReduceScatterV, 0, 2, 4, arrays);
  EXPECT_EQ(VExtents(side).in_bytes, UINT64_MAX);
  EXPECT_EQ(LargestBlock(side), UINT64_MAX);
}

TEST(VAliasing, NamesTheLayout) {
  Call call;
  call.op = Op::kAllGatherV;
  call.ranks = 3;
  call.recv_counts = {{10, 20, 10}};
  call.recv_displs = {{100, 0, 50}};  // bytes: 400-440, 0-80, 200-240
  VLayout layout = LayoutOf(call);
  const auto classify = [&](uint32_t rank, uint64_t in, uint64_t out) {
    return ClassifyAliasing(ShapeOf(call, Path::kWindow, layout), rank, in, out);
  };
  EXPECT_EQ(classify(0, 1000, 2000), Aliasing::kDisjoint);
  EXPECT_EQ(classify(0, 2080, 2000), Aliasing::kDisjoint) << "in a gap of the output";
  EXPECT_EQ(classify(0, 2400, 2000), Aliasing::kOwnBlock);
  EXPECT_EQ(classify(0, 2200, 2000), Aliasing::kBlock);
  EXPECT_EQ(classify(0, 2000, 2000), Aliasing::kBlock);
  EXPECT_EQ(classify(1, 2000, 2000), Aliasing::kOwnBlock);
  EXPECT_EQ(classify(0, 2004, 2000), Aliasing::kOverlap);
  EXPECT_EQ(classify(1, 2160, 2000), Aliasing::kOverlap);

  call.op = Op::kReduceScatterV;
  call.send_counts = call.recv_counts;
  call.send_displs = call.recv_displs;
  layout = LayoutOf(call);
  EXPECT_EQ(classify(2, 1000, 1200), Aliasing::kOwnBlock);
  EXPECT_EQ(classify(2, 1000, 1400), Aliasing::kBlock);
  EXPECT_EQ(classify(2, 1000, 1100), Aliasing::kDisjoint);
  EXPECT_EQ(classify(2, 1000, 1070), Aliasing::kOverlap);

  call.op = Op::kAllToAllVC;
  call.send_counts = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  layout = LayoutOf(call);
  EXPECT_EQ(classify(0, 1000, 1000), Aliasing::kOverlap);
  EXPECT_EQ(classify(0, 1000, 1024), Aliasing::kDisjoint);
}

}  // namespace
}  // namespace hcclrun
