#include "check/report.h"

#include <deque>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/fork_guard.h"
#include "base/injection.h"
#include "base/log.h"
#include "base/strict_mode.h"
#include "base/thread_value.h"
#include "check/closed_memory.h"
#include "check/details.h"
#include "check/fault_table.h"
#include "shm/lifeline.h"
#include "shm/recorder.h"

namespace hcclrun {
namespace {

// Per thread, as aclGetRecentErrMsg is by default (semantics F.3).
struct ThreadMessages {
  std::deque<std::string> recent;  // newest last
  std::string taken;
  // So that a call repeated by a caller's check macro is not told again; by which speaker.
  std::string last_told;
  uint32_t last_speaker = 0;
};
constexpr size_t kKeptMessages = 16;
constexpr uint64_t kItemMissing = 1;  // first operand of kRankTable

// Where a thread's calls are noted.
struct CallNotes {
  RankActivity* activity = Lifeline::Activity();
  Waiter* thread = activity ? Recorder::Thread() : nullptr;
  bool injects = AnyInjection();
};

ThreadMessages& Messages() { return ThreadValue<ThreadMessages>::Get(); }

// The EI code (semantics F.2): that of the kind, but where one kind stands for several.
const char* EiCodeOf(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kRankTable:  // unreadable, an item missing, a value illegal
      if (fault.code_override == 6 || fault.n[0] == kItemMissing) return "EI0017";
      return fault.code_override == 4 ? "EI0004" : "EI0014";
    case FaultKind::kRanksMissing:  // in an operation, or while the communicator is made
      return fault.code_override == 9 ? "EI0006" : "EI0015";
    default:
      return RowOf(fault.kind).ei;
  }
}

// For the launcher's verdict, should this process end now: why it is no first cause, or what the
// ranks called differently. The first of either.
void LeaveBlame(const std::string& sentence, Cause cause) {
  RankActivity* activity = Lifeline::Activity();
  if (!activity) return;
  Blame& blame = cause == Cause::kAnotherRank ? activity->another : activity->differs;
  uint32_t none = 0;
  if (!blame.state.compare_exchange_strong(none, 1, std::memory_order_relaxed)) return;
  blame.sentence[sentence.copy(blame.sentence, kBlameBytes - 1)] = 0;
  blame.state.store(2, std::memory_order_release);
}

// The launcher ends the job although no rank failed (--timeout, Ctrl-C): that ranks find each other
// gone is its doing and no news.
bool JobIsStopped() {
  const JobPage* page = Lifeline::Page();
  return page && page->aborting.load(std::memory_order_acquire) == kNoRankFailed;
}

void TellInFull(CallId call, const Fault& fault, int32_t code, const char* ei_code) {
  const std::string code_text =
      absl::StrCat(" (", ei_code ? ei_code : "", ei_code ? ", " : "", "result ", code, ")");
  std::string sentence = absl::StrCat(CallName(call), ": ", SentenceOf(fault), code_text);
  const FaultRow& row = RowOf(fault.kind);
  if (row.cause != Cause::kThisRank) LeaveBlame(sentence, row.cause);
  ThreadMessages& messages = Messages();
  const bool told = row.told && !(row.cause == Cause::kAnotherRank && JobIsStopped());
  if (told && (sentence != messages.last_told || fault.speaker != messages.last_speaker)) {
    const std::string elsewhere = ToldElsewhere(fault);
    hcclrun::Tell(
        LogLevel::kError,
        elsewhere.empty() ? sentence : absl::StrCat(CallName(call), ": ", elsewhere, code_text),
        fault.speaker);
    messages.last_told = sentence;
    messages.last_speaker = fault.speaker;
  } else {
    Log(LogModule::kRuntime, LogLevel::kInfo, sentence);
  }
  messages.recent.push_back(std::move(sentence));
  if (messages.recent.size() > kKeptMessages) messages.recent.pop_front();
}

}  // namespace

int32_t AclCodeOf(const Fault& fault) {
  return fault.code_override ? fault.code_override : RowOf(fault.kind).acl;
}
int32_t HcclCodeOf(const Fault& fault) {
  return fault.code_override ? fault.code_override : RowOf(fault.kind).hccl;
}

ApiCall::ApiCall(CallId call, bool noted) : call_(call), noted_(noted) {
  if (StrictMode()) [[unlikely]]
    WatchClosedMemory(call);
  if (!noted_ || InForkedChild()) return;
  const CallNotes& place = ThreadValue<CallNotes>::Get();
  activity_ = place.activity;
  thread_ = place.thread;
  if (activity_) {
    activity_->call.store(static_cast<uint32_t>(call), std::memory_order_relaxed);
    activity_->inside.store(1, std::memory_order_relaxed);
    // One writer at a time, mostly: a call that is lost in the count does no harm.
    activity_->calls.store(activity_->calls.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
  }
  if (thread_) {
    thread_->call.store(static_cast<uint32_t>(call), std::memory_order_relaxed);
    Recorder::Enters(thread_);
    thread_->inside.store(1, std::memory_order_relaxed);
  }
  if (place.injects) [[unlikely]]
    InjectAt(call);
}

void ApiCall::NoteEnd() const {
  Recorder::Go(thread_);
  thread_->entered.store(Recorder::Now(*Recorder::Mine()), std::memory_order_relaxed);
}

int32_t ApiCall::Acl(const Fault& fault) {
  if (!fault) return 0;
  int32_t code = AclCodeOf(fault);
  Tell(fault, code, EiCodeOf(fault));
  return code;
}

int32_t ApiCall::Hccl(const Fault& fault) {
  if (!fault) return 0;
  int32_t code = HcclCodeOf(fault);
  Tell(fault, code, EiCodeOf(fault));
  return code;
}

// The code is what matters: where there is no memory for a sentence, none is told.
void ApiCall::Tell(const Fault& fault, int32_t code, const char* ei_code) {
  if (InForkedChild()) return;
  try {
    TellInFull(call_, fault, code, ei_code);
  } catch (const std::bad_alloc&) {
  }
}

const char* TakeRecentErrorMessage() {
  ThreadMessages& messages = Messages();
  if (messages.recent.empty()) return nullptr;
  messages.taken.clear();
  for (auto it = messages.recent.rbegin(); it != messages.recent.rend(); ++it) {
    absl::StrAppend(&messages.taken, *it, "\n");
  }
  messages.recent.clear();
  return messages.taken.c_str();
}

}  // namespace hcclrun
