// Plans executed piece by piece in one process, in random order within a phase, against a naive
// reference; and the promises a plan makes to its executors: ownership, independence of a phase's
// pieces, every output byte once.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "collective/kernels.h"
#include "collective/plan.h"
#include "collective/plan_parts.h"
#include "support/reference.h"

namespace hcclrun {
namespace {

using testing::Bytes;
using testing::Call;

constexpr Op kPlanned[] = {Op::kAllGather, Op::kReduceScatter, Op::kAllReduce, Op::kAllToAll,
                           Op::kBroadcast, Op::kReduce,        Op::kScatter};
constexpr DataType kTypes[] = {DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kFp16,
                               DataType::kFp32, DataType::kInt64, DataType::kBf16};

// The memory of one rank. Input and output lie in one arena, apart or within each other.
struct Rank {
  Bytes arena, stage[2];
  uint64_t in = 0, out = 0;
  ExtentBytes extent{};
  std::vector<uint8_t> written;  // per output byte: how often

  uint8_t* At(Space space, uint64_t offset, uint64_t bytes) {
    switch (space) {
      case Space::kIn:
        EXPECT_LE(offset + bytes, extent.in_bytes);
        return arena.data() + in + offset;
      case Space::kOut:
        EXPECT_LE(offset + bytes, extent.out_bytes);
        return arena.data() + out + offset;
      case Space::kStageA:
      case Space::kStageB: {
        Bytes& buffer = stage[space == Space::kStageB];
        EXPECT_LE(offset + bytes, buffer.size());
        return buffer.data() + offset;
      }
    }
    return nullptr;
  }
};

struct Interval {
  const uint8_t* begin;
  const uint8_t* end;
  uint64_t piece;
  bool write;
};

class PlanRun {
 public:
  PlanRun(const OpShape& shape, DataType type, ReduceOp reduce, uint64_t seed)
      : shape_(shape), type_(type), reduce_(reduce), random_(seed), ranks_(shape.ranks) {
    EXPECT_TRUE(ValidShape(shape));
  }

  // Places rank r's buffers: 0 apart, 1 equal or the own block, 2 another block; whatever the plan
  // is not safe for is placed apart.
  void Place(uint32_t r, int layout) {
    Rank& rank = ranks_[r];
    rank.extent = Extents(shape_.op, shape_.count, shape_.elem, shape_.ranks, r, shape_.root);
    const uint64_t block = shape_.count * shape_.elem;
    const uint64_t at = layout == 1 ? r : random_() % shape_.ranks;
    uint64_t in = 0, out = 0;
    if (shape_.op == Op::kAllGather) in = at * block;
    if (shape_.op == Op::kReduceScatter || shape_.op == Op::kScatter) out = at * block;
    if (layout == 0 || !InPlaceSafe(shape_, ClassifyAliasing(shape_, r, in, out))) {
      in = 0;
      out = rank.extent.in_bytes + random_() % 3 * shape_.elem;
      EXPECT_EQ(ClassifyAliasing(shape_, r, in, out), Aliasing::kDisjoint);
    }
    rank.in = in;
    rank.out = out;
    rank.arena.assign(std::max(in + rank.extent.in_bytes, out + rank.extent.out_bytes), 0xee);
    rank.written.assign(rank.extent.out_bytes, 0);
    for (Bytes& stage : rank.stage)
      stage.assign(shape_.path == Path::kBuffered ? shape_.chunk_bytes : 0, 0xdd);
  }

  void Run() {
    SCOPED_TRACE(::testing::Message()
                 << Name(shape_.op) << " " << Name(shape_.path) << " ranks " << shape_.ranks
                 << " root " << shape_.root << " count " << shape_.count << " " << Name(type_)
                 << " " << Name(reduce_) << " chunk " << shape_.chunk_bytes << " split "
                 << shape_.split);
    Call call;
    call.op = shape_.op;
    call.type = type_;
    call.reduce = reduce_;
    call.ranks = shape_.ranks;
    call.root = shape_.root;
    call.count = shape_.count;
    std::vector<Bytes> inputs, outputs;
    for (uint32_t r = 0; r < shape_.ranks; ++r) {
      Rank& rank = ranks_[r];
      testing::FillValues(type_, random_(), r, 0, rank.extent.in_bytes / shape_.elem,
                          rank.arena.data() + rank.in);
      inputs.emplace_back(
          rank.arena.begin() + static_cast<int64_t>(rank.in),
          rank.arena.begin() + static_cast<int64_t>(rank.in + rank.extent.in_bytes));
      outputs.emplace_back(rank.extent.out_bytes);
    }
    // What must be in the arenas afterwards: the inputs, overwritten by the outputs.
    testing::RunReference(call, inputs, &outputs);
    std::vector<Bytes> expected;
    for (uint32_t r = 0; r < shape_.ranks; ++r) {
      expected.push_back(ranks_[r].arena);
      std::copy(outputs[r].begin(), outputs[r].end(),
                expected[r].begin() + static_cast<int64_t>(ranks_[r].out));
    }

    const uint64_t phases = PhaseCount(shape_);
    for (uint64_t phase = 0; phase < phases && !::testing::Test::HasFailure(); ++phase)
      RunPhase(phase);
    if (::testing::Test::HasFailure()) return;
    for (uint32_t r = 0; r < shape_.ranks; ++r) {
      for (uint8_t times : ranks_[r].written) ASSERT_EQ(times, 1) << "rank " << r;
      ASSERT_EQ(ranks_[r].arena, expected[r]) << "rank " << r;
    }
  }

 private:
  void RunPhase(uint64_t phase) {
    const uint64_t per_rank = PiecesPerRank(shape_, phase), pieces = shape_.ranks * per_rank;
    ASSERT_GE(per_rank, shape_.split);
    std::vector<uint64_t> order(pieces);
    for (uint64_t i = 0; i < pieces; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    intervals_.clear();
    for (uint64_t index : order) {
      const Piece piece = PieceAt(shape_, phase, index);
      if (piece.bytes == 0) continue;
      CheckOwnership(piece, static_cast<uint32_t>(index / per_rank));
      Execute(piece, index);
      if (::testing::Test::HasFailure()) return;
    }
    CheckIndependence();
  }

  void CheckOwnership(const Piece& piece, uint32_t owner) {
    ASSERT_EQ(piece.bytes % shape_.elem, 0u);
    ASSERT_EQ(piece.src_offset % shape_.elem, 0u);
    ASSERT_EQ(piece.dst_offset % shape_.elem, 0u);
    ASSERT_EQ(piece.kind == Piece::kReduce, piece.src_rank == kAllRanks);
    if (shape_.path != Path::kBuffered || shape_.ranks == 1) return;
    const auto user = [](Space space) { return space == Space::kIn || space == Space::kOut; };
    ASSERT_TRUE(!user(piece.src_space) || piece.src_rank == owner);
    // Peers' memory is read in their stage buffers and written nowhere.
    ASSERT_EQ(piece.dst_rank, owner);
  }

  void Execute(const Piece& piece, uint64_t index) {
    std::vector<const void*> src;
    std::vector<void*> dst;
    std::vector<char*> copies;
    for (uint32_t r = 0; r < shape_.ranks; ++r) {
      if (piece.src_rank == kAllRanks || piece.src_rank == r) {
        src.push_back(ranks_[r].At(piece.src_space, piece.src_offset, piece.bytes));
      }
    }
    for (uint32_t r = 0; r < shape_.ranks; ++r) {
      if (piece.dst_rank != kAllRanks && piece.dst_rank != r) continue;
      uint8_t* to = ranks_[r].At(piece.dst_space, piece.dst_offset, piece.bytes);
      if (piece.dst_space == Space::kOut) {
        for (uint64_t i = 0; i < piece.bytes; ++i) ++ranks_[r].written[piece.dst_offset + i];
      }
      if (piece.kind == Piece::kCopy && to == src[0]) continue;
      dst.push_back(to);
      copies.push_back(reinterpret_cast<char*>(to));
    }
    if (::testing::Test::HasFailure() || dst.empty()) return;
    for (const void* from : src) Note(from, piece.bytes, index, false);
    for (const void* to : dst) Note(to, piece.bytes, index, true);
    if (piece.kind == Piece::kReduce) {
      Reduce(type_, reduce_, dst.data(), static_cast<int>(dst.size()), src.data(),
             static_cast<int>(src.size()), piece.bytes / shape_.elem, random_() % 2);
    } else {
      CopyBytes(copies.data(), static_cast<int>(copies.size()), static_cast<const char*>(src[0]),
                piece.bytes, random_() % 2);
    }
  }

  void Note(const void* p, uint64_t bytes, uint64_t index, bool write) {
    const auto* begin = static_cast<const uint8_t*>(p);
    intervals_.push_back({begin, begin + bytes, index, write});
  }

  // No piece touches what another one writes.
  void CheckIndependence() {
    std::sort(intervals_.begin(), intervals_.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::vector<Interval> open;
    for (const Interval& next : intervals_) {
      std::erase_if(open, [&](const Interval& i) { return i.end <= next.begin; });
      for (const Interval& i : open) ASSERT_FALSE(i.piece != next.piece && (i.write || next.write));
      // Of many readers of the same bytes, two of different pieces find every writer.
      const Interval* covering = nullptr;
      bool covered = false;
      for (const Interval& i : open) {
        if (next.write || i.write || i.end < next.end) continue;
        covered |= covering != nullptr && covering->piece != i.piece;
        covering = &i;
      }
      if (!covered) open.push_back(next);
    }
  }

  const OpShape shape_;
  const DataType type_;
  const ReduceOp reduce_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::vector<Interval> intervals_;
};

ReduceOp SomeReduction(DataType type, std::mt19937_64& random) {
  for (;;) {
    const auto op = static_cast<ReduceOp>(random() % 4);
    if (ReductionSupported(type, op)) return op;
  }
}

struct PlanCase {
  Op op;
  Path path;
  uint32_t ranks;
};

class Plans : public ::testing::TestWithParam<PlanCase> {};

std::vector<PlanCase> PlanCases() {
  std::vector<PlanCase> cases;
  for (Op op : kPlanned) {
    for (Path path : {Path::kWindow, Path::kBuffered}) {
      for (uint32_t ranks : {1, 2, 3, 4, 5, 7, 8, 16, 64, 384}) cases.push_back({op, path, ranks});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Plans, ::testing::ValuesIn(PlanCases()), [](const auto& info) {
  return std::string(Name(info.param.op)) + "_" + std::string(Name(info.param.path)) + "_" +
         std::to_string(info.param.ranks);
});

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
    const DataType type = kTypes[random() % std::size(kTypes)];
    shape.elem = ElementSize(type);
    const uint64_t most = ranks <= 8 ? 400 : ranks <= 16 ? 150 : ranks == 64 ? 40 : 20;
    shape.count = i == 0 ? 1 : 1 + random() % most;
    shape.chunk_bytes = MinChunkBytes(ranks) + (i % 3 == 0 ? 0 : random() % (ranks * 150));
    if (i % 7 == 6) shape.chunk_bytes = 1 << 16;
    shape.split = i % 2 == 0 ? 1 : 1 + static_cast<uint32_t>(random() % 7);
    PlanRun run(shape, type, SomeReduction(type, random), random());
    for (uint32_t r = 0; r < ranks; ++r) {
      // All apart, all in place, or as it comes.
      run.Place(r, i % 4 == 0   ? 0
                   : i % 4 == 1 ? 1
                   : i % 4 == 2 ? 2
                                : static_cast<int>(random() % 3));
    }
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
