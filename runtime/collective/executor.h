#pragma once
// Executes the plan of one operation on behalf of one rank. An executor sees base pointers and a
// counter in shared memory; it knows neither devices nor communicators.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collective/claims.h"
#include "collective/phase_barrier.h"
#include "collective/plan.h"

namespace hcclrun {

// Where the places of a plan are, by rank. Entries that no piece of this rank touches may be null
// (private buffers of other ranks on the buffered path).
struct Operands {
  std::vector<char*> in, out, stage_a, stage_b;
  char* At(Space space, uint32_t rank) const {
    switch (space) {
      case Space::kIn:
        return in[rank];
      case Space::kOut:
        return out[rank];
      case Space::kStageA:
        return stage_a[rank];
      case Space::kStageB:
        return stage_b[rank];
    }
    return nullptr;
  }
};

// One operation in the hands of one rank's driver, who looks at the abort word while it waits.
struct OpRun {
  OpShape shape;
  std::optional<Plan> plan;  // of the shape
  DataType dtype = DataType::kInt8;
  ReduceOp reduce_op = ReduceOp::kSum;
  Accumulator accumulator = Accumulator::kElementType;
  uint32_t rank = 0;
  const Operands* operands = nullptr;
  PhaseBarrier* barrier = nullptr;
  bool streaming = false;  // non-temporal stores to kOut; stages are read again at once
  // Null, or memory of this rank, at least 64 bytes for each rank, through which passes what it
  // reads for kOut.
  char* bounce = nullptr;
  uint64_t bounce_bytes = 0;

  // Cooperative execution. The operands of every rank must be there, and shape and homes the same
  // in all processes.
  Claims* claims = nullptr;  // in shared memory, used instead of `barrier`
  uint32_t homes = 1;        // in use, at most kMaxHomes: as many as threads can run at once
  bool crowded = false;      // ranks outnumber processors

  uint64_t phases = 0;   // plan->phases()
  uint64_t phase = 0;    // next to execute
  bool arrived = false;  // at the end of `phase`

  bool PhaseOver() const { return barrier->arrivals() >= (phase + 1) * shape.ranks; }
};

class Executor {
 public:
  enum class State { kWorked, kMustWait, kFinished };
  virtual ~Executor() = default;
  // Goes on as far as possible without waiting for another rank. `last_arrival` runs when this rank
  // is the one that completes a phase: it must wake the others; its argument tells whether that was
  // the last phase.
  virtual State Advance(OpRun& run, const std::function<void(bool)>& last_arrival) const = 0;
  // True when Advance() would get further now.
  virtual bool CanAdvance(const OpRun& run) const = 0;
};

// Each rank does its own pieces of every phase between the barriers.
const Executor& ClassicExecutor();

// Any thread of any rank does pieces of the phase that is open, until there are none; nothing
// happens before OpenForAll(). `last_arrival` runs in the thread that finished the last piece of a
// phase. State::kFinished only there: the others learn from what it publishes.
const Executor& CooperativeExecutor();
// Begins cooperative execution: by one thread, which its caller elects, of a run with phases.
void OpenForAll(const OpRun& run);
// Does all pieces of all phases in this thread. The caller publishes the completion.
void ExecuteAlone(const OpRun& run);

// Does one piece. Pieces whose source and destination are the same bytes do nothing.
void ExecutePiece(const OpRun& run, const Piece& piece);

}  // namespace hcclrun
