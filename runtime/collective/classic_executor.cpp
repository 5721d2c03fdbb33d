// The classic executor: a rank's driver does the pieces that the rank owns, arrives at the phase's
// end and waits for the others. All work of a rank is done by that rank, as an NPU would; a rank
// that is not running holds up the rest.

#include <array>

#include "base/thread_value.h"
#include "collective/executor.h"
#include "collective/kernels.h"

namespace hcclrun {

namespace {

// Pointer lists live in the driver's thread: pieces come in millions, ranks in hundreds.
struct PointerLists {
  std::vector<void*> destinations;
  std::vector<const void*> sources;
  std::vector<char*> copies;
};

}  // namespace

void ExecutePiece(const OpRun& run, const Piece& piece) {
  if (piece.bytes == 0) return;
  const uint32_t ranks = run.shape.ranks;
  const bool streaming = run.streaming && piece.dst_space == Space::kOut;
  auto& [destinations, sources, copies] = ThreadValue<PointerLists>::Get();
  destinations.clear();
  sources.clear();
  if (piece.dst_rank == kAllRanks) {
    for (uint32_t r = 0; r < ranks; r++)
      destinations.push_back(run.operands->At(piece.dst_space, r) + piece.dst_offset);
  } else {
    destinations.push_back(run.operands->At(piece.dst_space, piece.dst_rank) + piece.dst_offset);
  }
  if (piece.kind == Piece::kReduce) {
    for (uint32_t r = 0; r < ranks; r++)
      sources.push_back(run.operands->At(piece.src_space, r) + piece.src_offset);
    Reduce(run.dtype, run.reduce_op, destinations.data(), static_cast<int>(destinations.size()),
           sources.data(), static_cast<int>(sources.size()), piece.bytes / run.shape.elem,
           streaming, run.accumulator);
    return;
  }
  const char* source = run.operands->At(piece.src_space, piece.src_rank) + piece.src_offset;
  copies.clear();
  for (void* d : destinations) {
    if (d != source) copies.push_back(static_cast<char*>(d));
  }
  if (!copies.empty())
    CopyBytes(copies.data(), static_cast<int>(copies.size()), source, piece.bytes, streaming);
}

namespace {

class Classic : public Executor {
 public:
  State Advance(OpRun& run, const std::function<void(bool)>& last_arrival) const override {
    bool worked = false;
    while (run.phase < run.phases) {
      if (!run.arrived) {
        const uint64_t mine = run.plan->PiecesPerRank(run.phase);
        for (uint64_t i = 0; i < mine; i++)
          ExecutePiece(run, run.plan->At(run.phase, run.rank * mine + i));
        run.arrived = worked = true;
        uint64_t before = run.barrier->fetch_add(1, std::memory_order_seq_cst);
        if (before + 1 == (run.phase + 1) * run.shape.ranks)
          last_arrival(run.phase + 1 == run.phases);
      }
      if (!run.PhaseOver()) return worked ? State::kWorked : State::kMustWait;
      run.phase++;
      run.arrived = false;
    }
    return State::kFinished;
  }

  bool CanAdvance(const OpRun& run) const override {
    return run.phase >= run.phases || !run.arrived || run.PhaseOver();
  }
};

}  // namespace

const Executor& ClassicExecutor() {
  static const Classic executor;
  return executor;
}

}  // namespace hcclrun
