#pragma once
// One collective operation of one rank, as a task of its stream.

#include <memory>
#include <optional>
#include <vector>

#include "collective/executor.h"
#include "comm/communicator.h"
#include "comm/control_block.h"
#include "comm/exchange.h"
#include "comm/execution_choice.h"
#include "comm/v_matching.h"
#include "device/task.h"

namespace hcclrun {

// What an executor works on, made when the operation is begun. Its lists keep their memory for the
// next operation.
struct CollectiveRun {
  OpRun run;
  Path told = Path::kWindow;  // the operation's path by the rules, whatever the plan (A.10)
  Operands operands;
  VLayout layout;                // of V operations: what the plan consults
  std::vector<Descriptor> all;  // private copies
};

// Goes through the stages below; every stage but the last may have to wait for other ranks.
// A fault ends the task: a mismatch concerns this operation alone, a dead rank or a
// time-out the communicator.
class CollectiveTask : public Task {
 public:
  // `v`: the arrays of a V operation, null for all others.
  CollectiveTask(std::shared_ptr<Communicator> comm, const Descriptor& descriptor, const Buffer& in,
                 const Buffer& out, std::shared_ptr<const VArguments> v = nullptr);

  // Goes on behind the post of an exchange that the caller has made.
  void GoOnFrom(const Exchange& exchange) {
    exchange_ = exchange;
    stage_ = Stage::kMatch;
    started_ = true;
  }

  // Goes on where `other` stands, which is empty then: the task of a stream in place of one that
  // was advanced without one.
  CollectiveTask(CollectiveTask&& other) noexcept;

  // Whoever is dropped before its end can never be made up for: the communicator goes out of use.
  ~CollectiveTask() override;

  Progress Advance(Fault* fault) override;
  // For Stream::RunAtOnce().
  static std::unique_ptr<Task> Keep(Task& task) {
    return std::make_unique<CollectiveTask>(std::move(static_cast<CollectiveTask&>(task)));
  }
  // In a stream that stops after a failure the operation still meets its peers, as skipped, so that
  // all ranks stay in step and nobody waits for it. One that has announced itself runs.
  bool RunsAfterFailure() const override { return true; }
  void OnStreamFailed() override { descriptor_.flags |= kFlagSkipped; }
  void WaitForProgress(int64_t limit_ns) override;
  const void* Order() const override { return exchanges_ ? nullptr : comm_.get(); }
  bool Prepare(const void* order) override;
  bool CheapToStart() const override { return true; }
  int64_t CompletedAtNs() const override { return completed_ns_; }
  PathTaken Took() const override {
    return comm_->last_path() == Path::kWindow ? PathTaken::kWindow : PathTaken::kBuffered;
  }
  bool Uses(const MemoryInfo& memory) const override;
  std::string Which() const override;
  uint32_t speaker() const override { return comm_->speaker(); }
  const char* Name() const override { return CallName(static_cast<CallId>(descriptor_.call)); }

 private:
  // Who finds that calls differ waits so long for the others' calls before it tells.
  static constexpr int64_t kGraceNs = 40'000'000;
  static constexpr uint64_t kClosed = UINT64_MAX;  // Slot::opener of an operation nobody will open
  enum class Stage {
    kPost,   // until the slot is free
    kMatch,  // until all ranks have posted
    kTurn,   // until the operations before it are complete
    kRun,    // the executor's phases; with others' help until the operation is complete
    kDone,
  };

  Progress Go(Fault* fault);
  // Both remember what they have seen.
  bool CanGoOn();
  bool OthersMayCome();
  bool TryPostNow(bool* last = nullptr);
  bool PostExchange(Fault* fault);
  bool EndExchange(Fault* fault);
  // One attempt at the current stage; false when it must wait.
  bool Step(Fault* fault);
  bool Completed() const;
  // When it is the operation's turn: elects who begins, and begins if it is this thread.
  Fault Begin();
  Fault BeginAlone();
  Fault BeginOwnShare();
  // For the thread's next operation.
  static void GiveBack(std::unique_ptr<CollectiveRun> run);
  bool BeginInStep(Fault (CollectiveTask::*begin)(), Fault* fault);
  bool BecomeOpener();
  bool GiveUp();
  bool EachRankExecutes() const;
  bool EachRankChosen() const;
  Fault OwnAddress(const Buffer& buffer, const char* parameter, char** address) const;
  // Makes the run of the own pieces, or with `for_all` of everybody's.
  Fault PrepareRun(CollectiveRun& prepared, bool for_all);
  Fault PrepareLayout(CollectiveRun& prepared);
  ExtentBytes ReachInto(const CollectiveRun& prepared, uint32_t rank) const;
  Fault Trouble();  // what makes waiting pointless, if anything
  void Finish();
  void FinishShared();
  // HCCLRUN_STRICT, see device/poison.h.
  void PoisonOutput();
  void PoisonInput();
  void NoteWaiting(bool begins) const;
  void NoteStall() const;
  Fault LateFault() const;  // who is missing, and how long this rank has waited
  Fault FaultOfAll(FaultKind kind) const;

  std::shared_ptr<Communicator> comm_;
  Descriptor descriptor_;
  const bool direct_;  // this rank's side may take the window path
  Buffer in_, out_;
  std::shared_ptr<const VArguments> v_;
  uint32_t outputs_ = 1;         // OutputCount's when it was called
  std::optional<VMatch> match_;  // with v_
  Stage stage_ = Stage::kPost;
  Deadline deadline_ = Deadline::Never();
  bool started_ = false;  // Advance() has been called
  bool settled_ = false;  // counted in operations_done
  bool poisoned_ = false;  // the output
  bool waiting_ = false;  // deadline_ is set: it has slept
  bool slept_ = false;    // since the last look at what may have gone wrong
  int64_t waiting_since_ns_ = 0;
  int64_t differs_since_ns_ = 0;  // when this rank found that the calls differ
  int64_t completed_ns_ = 0;
  Execution execution_ = Execution::kEachRank;  // from kRun on
  // This thread was the last to post and has not woken the others: it goes on at once, and what
  // they wait for is mostly what it does next.
  bool owes_notice_ = false;
  bool helps_ = false;                  // kAllThreads: run_ is there
  bool exchanges_ = false;              // goes from kMatch to kDone
  Exchange exchange_;                   // remembers whom it has met
  std::unique_ptr<CollectiveRun> run_;  // from kRun on, but for an operation that is done alone
};

}  // namespace hcclrun
