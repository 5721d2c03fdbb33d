#pragma once
// One collective operation of one rank, as a task of its stream.

#include <memory>
#include <vector>

#include "collective/executor.h"
#include "comm/communicator.h"
#include "comm/control_block.h"
#include "device/task.h"

namespace hcclrun {

// Goes through the stages below; every stage but the last may have to wait for other ranks. A fault
// ends the task: a mismatch concerns this operation alone, a dead rank or a time-out the
// communicator.
class CollectiveTask : public Task {
 public:
  CollectiveTask(std::shared_ptr<Communicator> comm, const Descriptor& descriptor, const Buffer& in,
                 const Buffer& out);

  Progress Advance(Fault* fault) override;
  void WaitForProgress(int64_t limit_ns) override;
  bool Prepare() override;
  bool CheapToStart() const override { return true; }
  int64_t CompletedAtNs() const override { return completed_ns_; }
  const char* Name() const override { return CallName(static_cast<CallId>(descriptor_.call)); }

 private:
  enum class Stage {
    kPost,   // until the slot is free
    kMatch,  // until all ranks have posted
    kTurn,   // until the operations before it are complete
    kRun,    // the executor's phases
    kDone,
  };

  bool CanGoOn() const;
  bool TryPostNow();
  // One attempt at the current stage; false when it must wait.
  bool Step(Fault* fault);
  Fault PrepareRun();
  Fault Trouble();  // what makes waiting pointless, if anything
  void Finish();
  void NoteWaiting(bool begins) const;

  std::shared_ptr<Communicator> comm_;
  Descriptor descriptor_;
  Buffer in_, out_;
  Stage stage_ = Stage::kPost;
  Deadline deadline_ = Deadline::Never();
  bool started_ = false;  // Advance() has been called
  bool waiting_ = false;  // deadline_ is set
  int64_t waiting_since_ns_ = 0;
  int64_t completed_ns_ = 0;
  Operands operands_;
  OpRun run_;
};

}  // namespace hcclrun
