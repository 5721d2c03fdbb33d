#include "launcher/verdict.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "base/rank_list.h"
#include "launcher/signals.h"

namespace hcclrun {
namespace {

// More groups of ranks than this are summed up.
constexpr size_t kMaxGroups = 6;

bool IsCollective(CallId call) {
  switch (call) {
    case CallId::HcclAllReduce:
    case CallId::HcclBroadcast:
    case CallId::HcclReduceScatter:
    case CallId::HcclReduceScatterV:
    case CallId::HcclScatter:
    case CallId::HcclAllGather:
    case CallId::HcclAllGatherV:
    case CallId::HcclAlltoAllVC:
    case CallId::HcclAlltoAllV:
    case CallId::HcclAlltoAll:
    case CallId::HcclReduce:
    case CallId::HcclBarrier:
      return true;
    default:
      return false;
  }
}

std::string CallText(const RankNote& note) {
  absl::string_view name = CallName(static_cast<CallId>(note.call));
  if (note.sequence == 0) return std::string(name);
  // The number belongs to the last operation of a communicator, which other calls come after.
  if (IsCollective(static_cast<CallId>(note.call)) && note.numbered)
    return absl::StrCat(name, " #", note.sequence);
  return absl::StrCat(name, " after operation #", note.sequence);
}

bool Called(const RankNote& note) {
  return note.library_pid != 0 && note.call > 0 &&
         note.call < static_cast<uint32_t>(CallId::kCount);
}

std::string WaitingText(const RankNote& note, size_t ranks) {
  if (note.waiting == 0 || note.waiting >= ranks) return "";
  bool known = note.waiting_for >= 0 && static_cast<size_t>(note.waiting_for) < ranks;
  if (note.waiting == 1)
    return known ? absl::StrCat(" waiting for rank ", note.waiting_for) : " waiting for one rank";
  return absl::StrCat(" waiting for ", note.waiting, " ranks", known ? ", one of them rank " : "",
                      known ? std::to_string(note.waiting_for) : "");
}

// What a rank was doing, to stand behind "ranks 0-2 ".
std::string Doing(const RankNote& note, size_t ranks, bool plural) {
  const char* was = plural ? "were" : "was";
  if (!note.started) return "had not been started";
  if (note.ended) return "had ended";
  if (note.stopped) {
    return absl::StrCat(was, " stopped by a signal (SIGSTOP or the like; SIGCONT lets ",
                        plural ? "them" : "it", " go on)",
                        note.library_pid != 0 && Called(note) ? " in or after " : "",
                        note.library_pid != 0 && Called(note) ? CallText(note) : "");
  }
  if (note.library_pid == 0) return absl::StrCat("had not called the library yet");
  if (!Called(note)) return absl::StrCat(was, " outside the library");
  if (note.library_gone)
    return absl::StrCat("had ended ", plural ? "their" : "its", " use of the library after ",
                        CallText(note));
  if (note.inside) return absl::StrCat(was, " in ", CallText(note), WaitingText(note, ranks));
  return absl::StrCat(was, " outside the library after ", CallText(note));
}

std::string OthersText(const VerdictFacts& facts) {
  struct Group {
    const RankNote* first;
    std::vector<int> ranks;
  };
  std::vector<std::pair<std::string, Group>> groups;
  for (size_t r = 0; r < facts.ranks.size(); r++) {
    if (static_cast<int>(r) == facts.rank) continue;
    std::string key = Doing(facts.ranks[r], facts.ranks.size(), true);
    auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (it == groups.end()) it = groups.insert(groups.end(), {key, {&facts.ranks[r], {}}});
    it->second.ranks.push_back(static_cast<int>(r));
  }
  if (groups.empty()) return "";
  std::string text = " At that moment ";
  size_t shown = std::min(groups.size(), kMaxGroups), elsewhere = 0;
  for (size_t g = 0; g < groups.size(); g++) {
    const Group& group = groups[g].second;
    if (g >= shown) {
      elsewhere += group.ranks.size();
      continue;
    }
    if (g > 0) absl::StrAppend(&text, g + 1 == groups.size() ? " and " : ", ");
    absl::StrAppend(&text, Ranks(group.ranks), " ",
                    Doing(*group.first, facts.ranks.size(), group.ranks.size() > 1));
  }
  if (elsewhere)
    absl::StrAppend(&text, " and ", elsewhere, elsewhere == 1 ? " rank was" : " ranks were",
                    " elsewhere");
  return text + ".";
}

std::string SignalAdvice(int signal_number, bool core, bool as_asked, bool out_of_memory) {
  std::string text;
  switch (signal_number) {
    case SIGKILL:
      if (as_asked && !out_of_memory) return " That is what --kill asked for.";
      return out_of_memory ? " The kernel killed a process for lack of memory while the job ran "
                             "(oom_kill in /proc/vmstat): use "
                             "fewer ranks, smaller buffers, or bound device memory with --memory."
                           : " SIGKILL comes from outside the program: somebody's kill -9, a "
                             "resource manager, or a memory limit.";
    case SIGSEGV:
      text = " It accessed an address that is not mapped or not accessible.";
      break;
    case SIGBUS:
      text = " It accessed a mapped page that has no memory or file behind it.";
      break;
    case SIGABRT:
      text =
          " It called abort(): usually a failed assertion or an uncaught exception, reported just "
          "above.";
      break;
    case SIGILL:
      text =
          " It executed an instruction that this processor does not have: was it built for another "
          "machine?";
      break;
    case SIGPIPE:
      return " It wrote to a pipe or socket that nobody reads any more.";
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return " The signal came from outside; hcclrun had not sent it.";
    case SIGXCPU:
      return " It used up its limit of processor time (ulimit -t).";
    default:
      break;
  }
  if (core) {
    text += " A core dump was written.";
  } else if (!text.empty()) {
    text += " For a core dump to look into, run it again after 'ulimit -c unlimited'.";
  }
  return text;
}

std::string CodeAdvice(int code) {
  if (code == 127) return " A shell exits with 127 when it does not find a command.";
  if (code == 126) return " A shell exits with 126 when it may not execute a command.";
  if (code > 128 && code <= 128 + 64) {
    return absl::StrCat(" A shell exits with ", code, " when its command was killed by ",
                        SignalName(code - 128), ".");
  }
  return "";
}

std::string LastCallText(const RankNote& note) {
  if (note.library_pid == 0) return "; it had not called the library yet.";
  if (!Called(note)) return "; it had loaded the library and made no call.";
  return absl::StrCat("; its last API call was ", CallText(note),
                      note.inside ? ", which had not returned." : ", which had returned.");
}

std::string Who(const RankNote& note, int rank) {
  std::string text = absl::StrCat("rank ", rank, " (pid ", note.pid);
  if (note.library_pid != 0 && note.library_pid != note.pid) {
    absl::StrAppend(&text, ", its program in pid ", note.library_pid);
  }
  return text + ")";
}

std::string RankFailedText(const VerdictFacts& facts) {
  const RankNote& note = facts.ranks[facts.rank];
  std::string text = Who(note, facts.rank);
  if (WIFSIGNALED(facts.status)) {
    int number = WTERMSIG(facts.status);
    absl::StrAppend(
        &text, " was killed by signal ", number, " (", SignalName(number), ")", LastCallText(note),
        SignalAdvice(number, WCOREDUMP(facts.status), facts.as_asked, facts.out_of_memory));
  } else {
    int code = WEXITSTATUS(facts.status);
    absl::StrAppend(&text, " exited with code ", code, LastCallText(note), CodeAdvice(code));
    if (!note.blame.empty())
      absl::StrAppend(&text, " Before, a call of it had failed",
                      note.blames_another ? " because of another rank: " : ": ", note.blame, ".");
  }
  return text;
}

std::string VanishedText(const VerdictFacts& facts) {
  if (facts.vanished_rank < 0 || facts.vanished_rank == facts.rank) return "";
  const RankNote& note = facts.ranks[facts.vanished_rank];
  return absl::StrCat(" Before that, process ", note.library_pid, " of rank ", facts.vanished_rank,
                      " had ended without exit()", Called(note) ? " after " : "",
                      Called(note) ? CallText(note) : "", ", under the rank's own process ",
                      note.pid, ": look there first.");
}

std::string AfterwardsText(const VerdictFacts& facts) {
  std::string text;
  if (facts.failed_afterwards) {
    absl::StrAppend(&text, " ", facts.failed_afterwards,
                    facts.failed_afterwards == 1 ? " other rank" : " other ranks",
                    " failed afterwards.");
  }
  if (facts.ended_by_us) {
    absl::StrAppend(&text, " hcclrun ended ", facts.ended_by_us,
                    facts.ended_by_us == 1 ? " rank" : " ranks", " that still ran.");
  }
  return text;
}

std::string LogsText(const VerdictFacts& facts) {
  if (facts.log_directory.empty()) return "";
  if (facts.rank >= 0) {
    return absl::StrCat(" Its output is in ", facts.log_directory, "/rank.", facts.rank,
                        ".err and .out.");
  }
  return absl::StrCat(" The ranks' output is in ", facts.log_directory, "/rank.*.err and .out.");
}

}  // namespace

void RankNote::CopyActivity(const RankActivity& activity) {
  // The launcher knows the pid from the connection; the page only adds what the library did.
  call = activity.call.load(std::memory_order_relaxed);
  inside = activity.inside.load(std::memory_order_relaxed) != 0;
  sequence = activity.sequence.load(std::memory_order_relaxed);
  waiting = activity.waiting.load(std::memory_order_relaxed);
  waiting_for = activity.waiting_for.load(std::memory_order_relaxed);
  blames_another = activity.another.told();
  for (const Blame* said : {&activity.another, &activity.differs}) {
    if (blame.empty() && said->told())
      blame.assign(said->sentence, strnlen(said->sentence, kBlameBytes));
  }
}

// The activity has the number of the last operation that was handed over, which a call notes at its end;
// the recorder has it from when it is numbered.
void RankNote::CopyNumber(const RecorderView& recorded) {
  constexpr auto kInOrder = std::memory_order_acquire;  // recorder.h
  if (!inside || !IsCollective(static_cast<CallId>(call))) return;
  uint64_t entered = 0, thread = 0;  // by the thread that is inside; of several the last
  for (uint32_t i = 0; i < recorded.layout.threads; i++) {
    const Waiter& w = recorded.threads[i];
    const uint64_t owner = w.owner.load(kInOrder), at = w.entered.load(kInOrder);
    if (owner == 0 || w.inside.load(kInOrder) == 0 || w.call.load(kInOrder) != call || at < entered)
      continue;
    entered = at;
    thread = owner;
  }
  if (entered == 0) return;  // there was no place for it
  numbered = false;
  const uint64_t last = recorded.next->load(kInOrder), kept = recorded.layout.operations;
  for (uint64_t n = last; n != 0 && last - n < kept; n--) {
    const OperationRecord& r = recorded.operation(n);
    if (r.number.load(kInOrder) != n) continue;  // being written, or overwritten
    if (static_cast<uint64_t>(r.thread.load(kInOrder)) != thread) continue;
    if (r.called.load(kInOrder) < entered) return;
    if (r.kind.load(kInOrder) != OperationRecord::kCollective || r.call.load(kInOrder) != call)
      continue;
    sequence = r.sequence.load(kInOrder) + 1;
    numbered = true;
    return;
  }
}

int ExitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Verdict(const VerdictFacts& facts) {
  std::string text = "hcclrun: ";
  switch (facts.cause) {
    case VerdictFacts::Cause::kRankFailed:
      absl::StrAppend(&text, RankFailedText(facts), VanishedText(facts), OthersText(facts));
      break;
    case VerdictFacts::Cause::kTimeout:
      absl::StrAppend(&text, "the job did not end within ", facts.timeout_text, " s (--timeout).",
                      OthersText(facts), " Raise --timeout if the job only needs longer.");
      break;
    case VerdictFacts::Cause::kSignalled:
      absl::StrAppend(&text, "received ", SignalName(facts.signal),
                      " and passed it on to the ranks.", OthersText(facts));
      break;
    case VerdictFacts::Cause::kRankRefused:
      absl::StrAppend(&text, "rank ", facts.rank, " could not be started: ", facts.detail, ".",
                      OthersText(facts));
      break;
    case VerdictFacts::Cause::kMpi:
      absl::StrAppend(&text, facts.detail, ".", OthersText(facts));
      break;
  }
  absl::StrAppend(&text, AfterwardsText(facts), LogsText(facts), " Exit code ", facts.exit_code,
                  ".");
  return text;
}

}  // namespace hcclrun
