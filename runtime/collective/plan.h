#pragma once
// Plans: which bytes are copied or reduced, by whom, from where to where.
//
// A plan is a pure function of the operation's shape. No list of pieces is materialised and nothing
// is exchanged: every process computes the same pieces from the same shape, each in constant time
// and without allocating.
//
// A plan is a sequence of phases with a barrier between them; a phase is a set of pieces. The
// pieces of one phase are independent: none reads what another writes, so they may run in any
// order, at once, in any process. Over all phases every byte of every output is written exactly
// once (stage buffers are reused from round to round).
//
// Terms: a *block* is what one rank contributes to or receives from an operation, count * elem
// bytes. A *round* of the buffered path moves as much as fits into half a stage buffer.

#include <cstdint>

#include "collective/types.h"
#include "collective/v_layout.h"

namespace hcclrun {

struct OpShape {
  Op op = Op::kBarrier;
  Path path = Path::kWindow;
  uint32_t ranks = 1;
  uint32_t root = 0;         // Broadcast, Reduce, Scatter
  uint64_t count = 0;        // in the unit of the operation (semantics C.2)
  uint32_t elem = 1;         // bytes per element
  uint64_t chunk_bytes = 0;  // buffered path: size of each of a rank's two stage buffers
  uint32_t split = 1;        // wanted pieces per rank and step; a plan makes at least that many
  // The blocks of a V operation, which has no `count`; null for all others. Not owned; lives as
  // long as the plan.
  const VLayout* layout = nullptr;
};

// The places a piece can name. Offsets are relative to the start of the place on the rank named
// with it.
enum class Space : uint8_t {
  kIn,      // the user's input
  kOut,     // the user's output
  kStageA,  // the rank's first HCCL buffer
  kStageB,  // the rank's second HCCL buffer
};

inline constexpr uint32_t kAllRanks = 0xffffffff;

struct Piece {
  enum Kind : uint8_t { kCopy, kReduce };
  Kind kind = kCopy;
  Space src_space = Space::kIn;
  Space dst_space = Space::kOut;
  uint32_t src_rank = 0;  // kAllRanks for kReduce: the sources are ranks 0..N-1 in ascending order,
                          // at the same offset
  uint32_t dst_rank = 0;  // kAllRanks: every rank, at the same offset
  uint64_t src_offset = 0;
  uint64_t dst_offset = 0;
  uint64_t bytes = 0;  // 0: nothing to do; always a whole number of elements
};

// Smallest stage buffer with which the buffered path works for `ranks` ranks.
constexpr uint64_t MinChunkBytes(uint32_t ranks) { return uint64_t{ranks} * 64; }

// Whether there is a plan for the shape: an operation with a plan (no point to point), ranks and
// split at least 1, root a rank, elem 1, 2, 4, 8 or 16, byte counts that fit into 63 bits and, on
// the buffered path, chunk_bytes >= MinChunkBytes(ranks). A V operation has a layout, whose sides
// are of ranks there are, with a block per rank of whole elements and at most `largest` bytes.
bool ValidShape(const OpShape& shape);

namespace plan {

// How the buffered path cuts blocks into rounds.
struct Rounds {
  uint64_t half;   // bytes from the first to the second half of a stage buffer
  uint64_t slice;  // bytes of a block that one round moves, and from one block's slice to the next
                   // in a stage buffer; the last round moves what is left
  uint64_t count;
  bool packed;  // blocks are staged as they lie in the input, in one transfer
};

enum class StepKind : uint8_t { kStageIn, kOwnCopy, kReduceShare, kDeliver };

// What each rank does with each round, `lag` phases after the round began.
struct Step {
  StepKind kind;
  uint64_t lag;
  uint64_t transfers;  // per rank
  uint64_t cuts;       // pieces per transfer
};

struct Task;

}  // namespace plan

// The pieces of a shape, which must be valid. Construction costs a few divisions, a piece
// a few more.
class Plan {
 public:
  explicit Plan(const OpShape& shape);

  // An operation that moves nothing (Barrier, count 0) has no phases.
  uint64_t phases() const { return phases_; }

  // Pieces which each rank owns in a phase, the same for every rank. Ownership says who would do
  // the piece if every rank did its own share; on the window path any process may do any piece. On
  // the buffered path a piece that touches kIn or kOut touches only its owner's, since other ranks
  // may have no mapping of the owner's memory; what belongs to other ranks is reached in their
  // stage buffers alone.
  uint64_t PiecesPerRank(uint64_t phase) const;

  // Piece `index` of [0, ranks * PiecesPerRank(phase)); its owner is rank
  // index / PiecesPerRank(phase).
  Piece At(uint64_t phase, uint64_t index) const;

 private:
  void PrepareWindow();
  void PrepareBuffered();
  Piece WindowPiece(uint64_t index) const;
  Piece BufferedPiece(uint64_t phase, uint64_t index) const;
  Piece StageIn(const plan::Task& task) const;
  Piece Deliver(const plan::Task& task) const;
  void PrepareVBuffered();
  Piece VWindowPiece(uint64_t index) const;
  Piece VBufferedPiece(plan::StepKind kind, const plan::Task& task) const;

  OpShape shape_;
  uint64_t block_ = 0;  // bytes; V operations: of the largest block
  uint64_t phases_ = 0;
  bool window_ = true;
  uint64_t transfers_ = 1, cuts_ = 1;  // window path: per rank, and pieces per transfer
  plan::Rounds rounds_{};              // buffered path
  uint32_t steps_ = 0;
  plan::Step step_[3]{};
};

// The same from the shape alone.
uint64_t PhaseCount(const OpShape& shape);
uint64_t PiecesPerRank(const OpShape& shape, uint64_t phase);
Piece PieceAt(const OpShape& shape, uint64_t phase, uint64_t index);

// How a rank's input and output lie to each other.
enum class Aliasing : uint8_t {
  kDisjoint,  // no common byte
  kSame,  // AllReduce, Reduce, Broadcast, AlltoAll, and any operation of one rank: equal addresses
  kOwnBlock,  // AllGather, AllGatherV: the input is the rank's own block of the output;
              // ReduceScatter, ReduceScatterV, Scatter: vice versa
  kBlock,     // the same with another rank's block, e.g. equal addresses on a rank other than 0; of
              // a V operation it begins where that block begins and touches no further one
  kOverlap,   // anything else
};

// Classifies the layout of one rank from the addresses (or offsets in one address space) of its
// buffers. Gaps between the blocks of a V operation are not part of a buffer.
Aliasing ClassifyAliasing(const OpShape& shape, uint32_t rank, uint64_t in, uint64_t out);

// Whether the plan of the shape's path gives the right result with this layout on some or all
// ranks:
//              kDisjoint kSame kOwnBlock kBlock kOverlap
//   window        yes     (1)     yes      no      no       (1) all but AlltoAll
//   buffered      yes     yes     yes      yes     no
// The window path reads inputs while it writes outputs, which is safe only where the bytes that a
// piece overwrites are read by that piece alone (the kernels load all sources of a vector before
// they store it). The buffered path has staged every byte before it can be overwritten. kOverlap
// has an undefined result on both paths, never a wild access.
bool InPlaceSafe(const OpShape& shape, Aliasing aliasing);

}  // namespace hcclrun
