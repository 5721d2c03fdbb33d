// Notes about waits and calls that go on.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/log.h"
#include "check/details.h"
#include "check/report.h"
#include "check/transfer_sentences.h"
#include "comm/warning.h"
#include "shm/lifeline.h"
#include "shm/stall.h"

namespace hcclrun {
namespace {

std::string NoteOf(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kExecTimeout:
      return ExecTimeoutSentence(fault, true);
    case FaultKind::kTransferTimeout:
      return TransferTimeoutSentence(fault, true);
    case FaultKind::kWindowMissingRank:
      return WindowMissingSentence(fault, true);
    case FaultKind::kRanksMissing:
      return absl::StrCat("an operation still waits for members of its communicator: ",
                          SentenceOf(fault));
    default:
      return "";
  }
}

// "" of a wait whose cause is another stream of this process: what that one waits for is told.
std::string NoteOf(const Waiting& wait) {
  switch (wait.kind) {
    case WaitKind::kEvent:
      return wait.target ? "" : "an event that nobody has recorded; call aclrtRecordEvent";
    case WaitKind::kSharedEvent:
      return absl::StrCat("an event of ",
                          wait.target ? absl::StrCat("process ", wait.target, ", whose stream")
                                      : "another process, which",
                          " has not come to its record");
    case WaitKind::kNotify:
      return "a notify that nobody has recorded; call aclrtRecordNotify";
    case WaitKind::kValue:
      return absl::StrFormat("a value at %#x that nobody has written; call aclrtValueWrite",
                             wait.target);
    default:
      return "";
  }
}

void TellNote(const std::string& note, uint32_t speaker) {
  if (!note.empty())
    Tell(LogLevel::kWarning, absl::StrCat(note, " (HCCLRUN_STALL_NOTE=0: no such notes)"), speaker);
  Lifeline::TellStall();
}

constexpr StallTellers kTellers = {
    [](const Fault& fault) { TellNote(NoteOf(fault), fault.speaker); },
    [](const Waiting& wait, int64_t waited_ms) {
      const std::string note = NoteOf(wait);
      TellNote(note.empty() ? note
                            : absl::StrFormat("a stream has waited %.3g s for %s",
                                              static_cast<double>(waited_ms) / 1000, note),
               0);
    }};

const bool g_installed = [] {
  SetStallTellers(&kTellers);
  SetWarningTeller([](CallId call, const Fault& fault) {
    Tell(LogLevel::kWarning, absl::StrCat(CallName(call), ": ", SentenceOf(fault)), fault.speaker);
  });
  return true;
}();

}  // namespace
}  // namespace hcclrun
