#pragma once
// Sends and receives of one call, as a task of its stream: one item for HcclSend and HcclRecv, any
// number for HcclBatchSendRecv. The items of a task do not wait for each other. A task posts nothing
// before the stream has come to it: the other end may move the bytes as soon as both have posted.
//
// transfer_task.cpp has the task, transfer_steps.cpp what an end does at the channel.

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/call.h"
#include "comm/communicator.h"
#include "comm/control_block.h"
#include "device/task.h"

namespace hcclrun {

constexpr TransferEnd Other(TransferEnd end) {
  return end == kSenderEnd ? kReceiverEnd : kSenderEnd;
}
// In TransferSlot::ends.
constexpr uint32_t Bit(TransferEnd end) { return 1u << end; }
inline constexpr uint32_t kBothEnds = Bit(kSenderEnd) | Bit(kReceiverEnd);

// One end of one transfer. Stages go by the protocol in transfer_channel.h.
struct Transfer {
  enum class Stage {
    kPost,   // until the slot is free
    kMatch,  // until the other end is there
    kMove,   // until all parts are moved
    kDone,
  };
  TransferEnd end;
  uint32_t peer;
  uint64_t number;  // on the pair, k
  TransferCall call;
  Buffer buffer;
  const char* given = nullptr;  // the buffer's address as the program knows it
  Stage stage = Stage::kPost;
  OperationNote note;
  uint64_t parts = 0;
  char* remote = nullptr;  // the peer's buffer, null where only the peer can address it
};

using Transfers = absl::InlinedVector<Transfer, 1>;

class TransferTask : public Task {
 public:
  TransferTask(std::shared_ptr<Communicator> comm, CallId call, Transfers transfers);
  // As CollectiveTask's.
  TransferTask(TransferTask&& other) noexcept;
  ~TransferTask() override;

  Progress Advance(Fault* fault) override;
  // For Stream::RunAtOnce().
  static std::unique_ptr<Task> Keep(Task& task) {
    return std::make_unique<TransferTask>(std::move(static_cast<TransferTask&>(task)));
  }
  // As a collective: the peers learn that the transfer was skipped.
  bool RunsAfterFailure() const override { return true; }
  void OnStreamFailed() override;
  // For a transfer that is not posted yet: if the other end is there, and the transfer short, does all
  // there is to do for both. False: nothing has happened. *at_ns: when it was complete.
  static bool DoForBoth(const Communicator& comm, Transfer& t, int64_t* at_ns);
  // Posts it, and no more.
  static void Post(const Communicator& comm, Transfer& t);
  // For the task of transfers that are posted.
  void GoOn() { started_ = true; }
  void WaitForProgress(int64_t limit_ns) override;
  // Sends only read their buffers, so one may be announced while others to the same rank are before it,
  // but nothing else. A receive may not: the peer may have sent from several streams, or in one call,
  // and would write to it before what the stream did earlier to the same buffer.
  const void* Order() const override;
  bool Prepare(const void* order) override;
  bool CheapToStart() const override { return true; }
  int64_t CompletedAtNs() const override { return completed_ns_; }
  bool Uses(const MemoryInfo& memory) const override;
  std::string Which() const override;
  uint32_t speaker() const override { return comm_->speaker(); }
  const char* Name() const override { return CallName(call_); }

 private:
  Progress Go(Fault* fault);
  void PoisonReceives();  // HCCLRUN_STRICT, see device/poison.h
  static TransferSlot& SlotOf(const Communicator& comm, const Transfer& t);
  TransferSlot& SlotOf(const Transfer& t) const { return SlotOf(*comm_, t); }
  bool CanGoOn(const Transfer& t) const;
  bool AnyCanGoOn() const;
  bool AllDone() const;
  // One attempt at the current stage; false when it must wait. A fault that concerns the transfer
  // alone ends it.
  bool Step(Transfer& t, Fault* fault);
  bool TryPost(Transfer& t);
  bool TryPostAll();
  static Fault Match(const Communicator& comm, Transfer& t);
  static bool TakePart(TransferSlot& slot, const Transfer& t, uint64_t* part);
  bool Move(Transfer& t);
  static void Leave(const Communicator& comm, Transfer& t);
  void GiveUpAll();
  uint64_t Close(const Transfer& t) const;
  bool ConcernsOthers(uint32_t gone) const;
  // Makes a buffer that only this process can address one that the receiver can.
  Fault CopyOutPrivateSends();
  Fault Trouble();  // what makes waiting pointless, if anything
  static Fault FaultOf(FaultKind kind, const Communicator& comm, const Transfer& t);
  Fault FaultOf(FaultKind kind, const Transfer& t) const { return FaultOf(kind, *comm_, t); }
  void NoteWaiting(bool begins) const;
  void NoteStall() const;
  Fault LateFault() const;

  std::shared_ptr<Communicator> comm_;
  const CallId call_;
  Transfers transfers_;
  uint64_t bytes_ = 0;
  std::vector<uint64_t> copies_;  // of private sends, heap offsets
  bool has_private_sends_ = false;
  bool started_ = false;  // Advance() has been called, or GoOn()
  bool over_ = false;     // and has returned kDone
  bool settled_ = false;  // counted in transfers_done
  bool waiting_ = false;  // deadline_ is set: it has slept
  bool slept_ = false;    // since the last look at what makes waiting pointless
  Deadline deadline_ = Deadline::Never();
  int64_t waiting_since_ns_ = 0;
  int64_t completed_ns_ = 0;
  Fault fault_;  // the first
};

}  // namespace hcclrun
