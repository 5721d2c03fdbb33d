// The classic executor: a rank's driver does the pieces that the rank owns, arrives at the phase's
// end and waits for the others. All work of a rank is done by that rank, as an NPU would; a rank
// that is not running holds up the rest.

#include <algorithm>
#include <cstring>

#include "base/step.h"
#include "base/thread_value.h"
#include "collective/executor.h"
#include "collective/first_touch.h"
#include "collective/kernels.h"

namespace hcclrun {

namespace {

// Pointer lists live in the driver's thread: pieces come in millions, ranks in hundreds.
struct PointerLists {
  std::vector<char*> destinations, sources, bounced;
};

}  // namespace

void ExecutePiece(const OpRun& run, const Piece& piece) {
  if (piece.bytes == 0) return;
  const bool to_user = piece.dst_space == Space::kOut;
  const bool streaming = run.streaming && to_user;
  auto& [destinations, sources, bounced] = ThreadValue<PointerLists>::Get();
  const auto collect = [&run](auto& pointers, uint32_t rank, Space space, uint64_t offset) {
    const bool all = rank == kAllRanks;
    for (uint32_t r = all ? 0 : rank, end = all ? run.shape.ranks : rank + 1; r < end; r++)
      pointers.push_back(run.operands->At(space, r) + offset);
  };
  destinations.clear();
  sources.clear();
  collect(destinations, piece.dst_rank, piece.dst_space, piece.dst_offset);
  collect(sources, piece.src_rank, piece.src_space, piece.src_offset);
  if (piece.kind == Piece::kCopy) {
    std::erase(destinations, sources[0]);
    if (destinations.empty()) return;
  }
  for (const char* to : destinations) TouchBeforeUse(to, piece.bytes);
  for (const char* from : sources) TouchBeforeUse(from, piece.bytes);
  const auto execute = [&, &to = destinations](const std::vector<char*>& from, uint64_t bytes) {
    if (piece.kind == Piece::kCopy)
      return CopyBytes(to.data(), static_cast<int>(to.size()), from[0], bytes, streaming);
    Reduce(run.dtype, run.reduce_op, reinterpret_cast<void* const*>(to.data()),
           static_cast<int>(to.size()), reinterpret_cast<const void* const*>(from.data()),
           static_cast<int>(from.size()), bytes / run.shape.elem, streaming, run.accumulator);
  };
  if (!run.bounce || !to_user) return execute(sources, piece.bytes);
  // All of a part is read before any of it is written, and parts follow each other: what bears a
  // piece bears its parts.
  const uint64_t part = run.bounce_bytes / sources.size() / 64 * 64;
  bounced.clear();
  for (size_t i = 0; i < sources.size(); i++) bounced.push_back(run.bounce + i * part);
  for (uint64_t left = piece.bytes; left > 0;) {
    const uint64_t bytes = std::min(part, left);
    for (size_t i = 0; i < sources.size(); i++) {
      std::memcpy(bounced[i], sources[i], bytes);
      sources[i] += bytes;
    }
    execute(bounced, bytes);
    for (char*& d : destinations) d += bytes;
    left -= bytes;
  }
}

namespace {

class Classic : public Executor {
 public:
  State Advance(OpRun& run, const std::function<void(bool)>& last_arrival) const override {
    bool worked = false;
    while (run.phase < run.phases) {
      if (!run.arrived) {
        HCCLRUN_STEP("run.phase");
        if (!run.barrier->Enter()) return worked ? State::kWorked : State::kMustWait;
        const uint64_t mine = run.plan->PiecesPerRank(run.phase);
        for (uint64_t i = 0; i < mine; i++)
          ExecutePiece(run, run.plan->At(run.phase, run.rank * mine + i));
        HCCLRUN_STEP("run.pieces_done");
        run.arrived = worked = true;
        const uint64_t arrivals = run.barrier->Arrive();
        HCCLRUN_STEP("run.arrived");
        if (arrivals == (run.phase + 1) * run.shape.ranks)
          last_arrival(run.phase + 1 == run.phases);
      }
      if (!run.PhaseOver()) return worked ? State::kWorked : State::kMustWait;
      run.phase++;
      run.arrived = false;
    }
    return State::kFinished;
  }

  bool CanAdvance(const OpRun& run) const override {
    if (run.phase >= run.phases) return true;
    return run.arrived ? run.PhaseOver() : !run.barrier->closed();
  }
};

}  // namespace

const Executor& ClassicExecutor() {
  static const Classic executor;
  return executor;
}

}  // namespace hcclrun
