// The cooperative executor: pieces belong to the operation, not to ranks. Every thread that has
// come to the operation takes pieces until there are none, on behalf of all ranks (protocol in
// claims.h). With more ranks than processors a rank whose thread is not running costs nothing:
// whoever runs does its share.

#include <sched.h>

#include "base/step.h"
#include "collective/claims.h"
#include "collective/executor.h"

namespace hcclrun {
namespace {

// How long a thread whose home is empty looks on before it takes from others' homes, when every
// rank has a processor: they are about to do it themselves, with warm caches.
constexpr int kPausesBeforeStealing = 20;  // about a microsecond

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

uint64_t PiecesOf(const OpRun& run, uint64_t phase) {
  return run.shape.ranks * run.plan->PiecesPerRank(phase);
}

uint32_t OwnHome(const OpRun& run) {
  if (!run.crowded) return run.rank % run.homes;
  const int processor = sched_getcpu();
  return (processor < 0 ? run.rank : static_cast<uint32_t>(processor)) % run.homes;
}

class Cooperative : public Executor {
 public:
  State Advance(OpRun& run, const std::function<void(bool)>& last_arrival) const override {
    bool worked = false;
    for (;;) {
      const uint64_t opened = run.claims->open.load(std::memory_order_seq_cst);
      if (opened == 0) break;
      const uint64_t phase = (opened & 0xffffffff) - 1;
      if (phase >= run.phases) break;  // no thread that keeps to the protocol opened it
      const uint64_t pieces = PiecesOf(run, phase);
      const uint32_t home = OwnHome(run);
      uint64_t finished = Empty(run, opened, phase, home, pieces);
      if (!run.crowded && finished > 0) {
        for (int i = 0; i < kPausesBeforeStealing; i++) {
          if (run.claims->open.load(std::memory_order_relaxed) != opened) break;
          Pause();
        }
      }
      for (uint32_t i = 1; i < run.homes; i++)
        finished += Empty(run, opened, phase, (home + i) % run.homes, pieces);
      if (finished == 0) break;
      HCCLRUN_STEP("claim.uncounted");
      worked = true;
      if (run.claims->done.fetch_add(finished, std::memory_order_seq_cst) + finished != pieces)
        continue;
      if (phase + 1 == run.phases) {
        last_arrival(true);
        return State::kFinished;
      }
      HCCLRUN_STEP("claim.phase_over");
      run.claims->Open(phase + 1, run.homes, PiecesOf(run, phase + 1));
      HCCLRUN_STEP("claim.opened");
      last_arrival(false);
    }
    return worked ? State::kWorked : State::kMustWait;
  }

  bool CanAdvance(const OpRun& run) const override {
    const uint64_t opened = run.claims->open.load(std::memory_order_seq_cst);
    const uint64_t phase = (opened & 0xffffffff) - 1;
    return opened != 0 && phase < run.phases &&
           run.claims->Any(opened, run.homes, PiecesOf(run, phase));
  }

 private:
  // Executes what is left of a home; the number of pieces.
  static uint64_t Empty(const OpRun& run, uint64_t opened, uint64_t phase, uint32_t home,
                        uint64_t pieces) {
    uint64_t finished = 0;
    for (uint64_t piece; run.claims->Take(opened, home, run.homes, pieces, &piece); finished++) {
      HCCLRUN_STEP("claim.taken");
      ExecutePiece(run, run.plan->At(phase, piece));
    }
    return finished;
  }
};

}  // namespace

const Executor& CooperativeExecutor() {
  static const Cooperative executor;
  return executor;
}

void OpenForAll(const OpRun& run) { run.claims->Open(0, run.homes, PiecesOf(run, 0)); }

void ExecuteAlone(const OpRun& run) {
  for (uint64_t phase = 0; phase < run.phases; phase++) {
    const uint64_t pieces = PiecesOf(run, phase);
    for (uint64_t i = 0; i < pieces; i++) ExecutePiece(run, run.plan->At(phase, i));
  }
}

}  // namespace hcclrun
