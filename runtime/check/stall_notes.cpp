// Notes about waits and calls that go on.

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "check/details.h"
#include "check/report.h"
#include "check/transfer_sentences.h"
#include "comm/stall.h"
#include "comm/warning.h"
#include "shm/lifeline.h"

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

const bool g_installed = [] {
  SetStallTeller([](const Fault& fault) {
    Tell(LogLevel::kWarning, absl::StrCat(NoteOf(fault), " (HCCLRUN_STALL_NOTE=0: no such notes)"),
         fault.speaker);
    Lifeline::TellStall();
  });
  SetWarningTeller([](CallId call, const Fault& fault) {
    Tell(LogLevel::kWarning, absl::StrCat(CallName(call), ": ", SentenceOf(fault)), fault.speaker);
  });
  return true;
}();

}  // namespace
}  // namespace hcclrun
