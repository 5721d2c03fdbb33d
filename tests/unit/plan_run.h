#pragma once
// A plan executed piece by piece in one process, in random order within a phase, against a naive
// reference; and the promises a plan makes to its executors: ownership, independence of a phase's
// pieces, every output byte once.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "collective/kernels.h"
#include "collective/plan.h"
#include "support/reference.h"

namespace hcclrun {

using testing::Bytes;
using testing::Call;

// The memory of one rank. Input and output lie in one arena, apart or within each other.
struct Rank {
  Bytes arena, stage[2];
  uint64_t in = 0, out = 0;
  ExtentBytes extent{};
  std::vector<uint8_t> written;   // per output byte: how often
  std::vector<uint8_t> expected;  // the same; 0 in the gaps of a V operation

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

struct PlanCase {
  Op op;
  Path path;
  uint32_t ranks;
};

template <class Ops>
std::vector<PlanCase> PlanCases(const Ops& ops) {
  std::vector<PlanCase> cases;
  for (Op op : ops) {
    for (Path path : {Path::kWindow, Path::kBuffered}) {
      for (uint32_t ranks : {1, 2, 3, 4, 5, 7, 8, 16, 64, 384}) cases.push_back({op, path, ranks});
    }
  }
  return cases;
}

inline std::string NameOfCase(const ::testing::TestParamInfo<PlanCase>& info) {
  return std::string(Name(info.param.op)) + "_" + std::string(Name(info.param.path)) + "_" +
         std::to_string(info.param.ranks);
}

inline constexpr DataType kPlanTypes[] = {DataType::kInt8, DataType::kInt16, DataType::kInt32,
                                          DataType::kFp16, DataType::kFp32,  DataType::kInt64,
                                          DataType::kBf16};

struct Interval {
  const uint8_t* begin;
  const uint8_t* end;
  uint64_t piece;
  bool write;
};

class PlanRun {
 public:
  // `call` has the arrays of a V operation, which the shape's layout gives for all ranks.
  PlanRun(const OpShape& shape, DataType type, ReduceOp reduce, uint64_t seed, Call call = {})
      : shape_(shape),
        type_(type),
        reduce_(reduce),
        call_(std::move(call)),
        random_(seed),
        ranks_(shape.ranks) {
    EXPECT_TRUE(ValidShape(shape));
    call_.op = shape.op;
    call_.type = type;
    call_.reduce = reduce;
    call_.ranks = shape.ranks;
    call_.root = shape.root;
    call_.count = shape.count;
  }

  // Places rank r's buffers: 0 apart, 1 equal or the own block, 2 another block; whatever the plan
  // is not safe for is placed apart.
  void Place(uint32_t r, int layout) {
    Rank& rank = ranks_[r];
    rank.extent = shape_.layout
                      ? VExtents(shape_.layout->Of(r))
                      : Extents(shape_.op, shape_.count, shape_.elem, shape_.ranks, r, shape_.root);
    const uint64_t block = shape_.count * shape_.elem;
    const uint32_t at = layout == 1 ? r : static_cast<uint32_t>(random_() % shape_.ranks);
    uint64_t in = 0, out = 0;
    if (shape_.op == Op::kAllGather) in = at * block;
    if (shape_.op == Op::kReduceScatter || shape_.op == Op::kScatter) out = at * block;
    if (shape_.op == Op::kAllGatherV) in = shape_.layout->Of(r).incoming[at].dst;
    if (shape_.op == Op::kReduceScatterV) out = shape_.layout->Of(r).outgoing[at].src;
    if (layout == 0 || !InPlaceSafe(shape_, ClassifyAliasing(shape_, r, in, out))) {
      in = 0;
      out = rank.extent.in_bytes + random_() % 3 * shape_.elem;
      EXPECT_EQ(ClassifyAliasing(shape_, r, in, out), Aliasing::kDisjoint);
    }
    rank.in = in;
    rank.out = out;
    rank.arena.assign(std::max(in + rank.extent.in_bytes, out + rank.extent.out_bytes), 0xee);
    rank.written.assign(rank.extent.out_bytes, 0);
    rank.expected.assign(rank.extent.out_bytes, shape_.layout ? 0 : 1);
    if (shape_.layout) {
      for (const VBlock& b : shape_.layout->Of(r).incoming)
        std::fill_n(rank.expected.begin() + static_cast<int64_t>(b.dst), b.bytes, uint8_t{1});
    }
    for (Bytes& stage : rank.stage)
      stage.assign(shape_.path == Path::kBuffered ? shape_.chunk_bytes : 0, 0xdd);
  }

  // All ranks: apart, in place, or as it comes, by `turn`.
  void PlaceAll(int turn) {
    for (uint32_t r = 0; r < shape_.ranks; ++r)
      Place(r, turn % 4 < 3 ? turn % 4 : static_cast<int>(random_() % 3));
  }

  void Run() {
    SCOPED_TRACE(::testing::Message()
                 << Name(shape_.op) << " " << Name(shape_.path) << " ranks " << shape_.ranks
                 << " root " << shape_.root << " count " << shape_.count << " " << Name(type_)
                 << " " << Name(reduce_) << " chunk " << shape_.chunk_bytes << " split "
                 << shape_.split);
    std::vector<Bytes> inputs, outputs;
    for (uint32_t r = 0; r < shape_.ranks; ++r) {
      Rank& rank = ranks_[r];
      testing::FillValues(type_, random_(), r, 0, rank.extent.in_bytes / shape_.elem,
                          rank.arena.data() + rank.in);
      inputs.emplace_back(
          rank.arena.begin() + static_cast<int64_t>(rank.in),
          rank.arena.begin() + static_cast<int64_t>(rank.in + rank.extent.in_bytes));
      outputs.emplace_back(
          rank.arena.begin() + static_cast<int64_t>(rank.out),
          rank.arena.begin() + static_cast<int64_t>(rank.out + rank.extent.out_bytes));
    }
    // What must be in the arenas afterwards: the inputs, overwritten by the outputs.
    testing::RunReference(call_, inputs, &outputs);
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
      ASSERT_EQ(ranks_[r].written, ranks_[r].expected) << "rank " << r;
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
  Call call_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::vector<Interval> intervals_;
};

inline ReduceOp SomeReduction(DataType type, std::mt19937_64& random) {
  for (;;) {
    const auto op = static_cast<ReduceOp>(random() % 4);
    if (ReductionSupported(type, op)) return op;
  }
}

}  // namespace hcclrun
