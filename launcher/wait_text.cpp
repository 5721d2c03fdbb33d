#include "launcher/wait_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/call.h"
#include "base/rank_list.h"
#include "launcher/call_text.h"

namespace hcclrun {
namespace {

const char* CallOf(const RecordedWaiter& thread) {
  return CallName(static_cast<CallId>(thread.call));
}

// What is said of one waiter of one rank.
class Teller {
 public:
  Teller(const JobHistory& history, int rank, Times times)
      : history_(history), rank_(rank), me_(history.rank(rank)), times_(times) {}

  std::string Stream(const RecordedWaiter& w) const {
    switch (w.kind) {
      case WaitKind::kCollective:
        if (const RecordedCall* call = CallAt(w); call && (call->started_ns != 0 || call->over()))
          return absl::StrCat("is executing ", Operation(w));
        return absl::StrCat("is at ", Operation(w), " and waits for ", Missing(w),
                            Since(w.since_ns));
      case WaitKind::kTurn:
        return absl::StrCat("is at ", Operation(w), ", which comes after operation #", w.target + 1,
                            " of the communicator", Since(w.since_ns));
      case WaitKind::kRun:
        return absl::StrCat("is executing ", Operation(w), Since(w.since_ns));
      case WaitKind::kTransfer: {
        const bool sends = w.detail == 0;
        return absl::StrCat("is at ", sends ? "send" : "receive", " #", w.sequence + 1,
                            sends ? " to" : " from", " rank ", w.target, " of ",
                            CommunicatorText(me_, w.comm),
                            w.missing > 1 ? absl::StrCat(" and ", w.missing - 1, " more") : "",
                            " and waits for ", Missing(w), Since(w.since_ns));
      }
      case WaitKind::kEvent:
        return absl::StrCat(
            w.target == 0
                ? "waits for an event that nobody has recorded"
                : absl::StrCat("waits for an event that is recorded in stream ", w.target - 1),
            Since(w.since_ns));
      case WaitKind::kSharedEvent:
        return absl::StrCat("waits for a shared event",
                            w.target ? absl::StrCat(" of process ", w.target) : "",
                            Since(w.since_ns));
      case WaitKind::kNotify:
        return absl::StrCat("waits for a notify that nobody has recorded", Since(w.since_ns));
      case WaitKind::kValue:
        return absl::StrCat("waits for a value in memory (aclrtValueWait)", Since(w.since_ns));
      case WaitKind::kHostFunction:
        return absl::StrCat("runs a host function", Since(w.since_ns));
      default:
        return "";
    }
  }

  std::string Thread(const RecordedWaiter& w) const {
    switch (w.kind) {
      case WaitKind::kStream:
        return absl::StrCat("waits in ", CallOf(w), " for stream ", w.target);
      case WaitKind::kRegister:
        return absl::StrCat("is in ", CallOf(w), " #", w.sequence + 1, " of ",
                            CommunicatorText(me_, w.comm), " and waits for ", Missing(w),
                            Since(w.since_ns));
      case WaitKind::kMembers:
        return absl::StrCat("is in ", CallOf(w), " and waits for ", MissingMembers(w),
                            Since(w.since_ns));
      default:
        return "";
    }
  }

  std::string Since(int64_t ns) const {
    if (times_ == Times::kLeftOut || ns == 0) return "";
    return absl::StrCat(" since ", Seconds(history_.now_ns - ns));
  }

 private:
  const RecordedCall* CallAt(const RecordedWaiter& w) const {
    return me_.communicator(w.comm)
               ? history_.FindCall(rank_, w.comm, OperationRecord::kCollective, w.sequence)
               : nullptr;
  }

  std::string Operation(const RecordedWaiter& w) const {
    const RecordedCall* call = CallAt(w);
    return call
               ? TextWithFacts(history_, rank_, *call)
               : absl::StrCat("operation #", w.sequence + 1, " of ", CommunicatorText(me_, w.comm));
  }

  // By their numbers in the job, where these are known; the others by those of the communicator.
  std::string Missing(const RecordedWaiter& w) const {
    const RecordedCommunicator* c = me_.communicator(w.comm);
    if (w.missing == 0 || !c) return "other ranks";
    std::vector<int> ranks;
    std::vector<uint32_t> unknown;
    for (uint32_t r : w.ranks) {
      const JobHistory::Member member = history_.MemberOf(c->key, r);
      if (member.rank >= 0 && !history_.HasThreadsAsRanks(c->key)) {
        ranks.push_back(member.rank);
      } else {
        unknown.push_back(r);
      }
    }
    std::sort(ranks.begin(), ranks.end());
    std::string text = ranks.empty() ? "" : Ranks(ranks);
    if (!unknown.empty())
      absl::StrAppend(&text, text.empty() ? "" : " and ", Ranks(unknown), " of the communicator");
    if (w.missing > w.ranks.size())
      absl::StrAppend(&text, " and ", w.missing - w.ranks.size(), " more");
    return text;
  }

  std::string MissingMembers(const RecordedWaiter& w) const {
    const RecordedCommunicator* c = me_.communicator(w.comm);
    if (!c) return "the members of a communicator";
    std::vector<uint32_t> missing;
    std::vector<int> absent = c->expected;
    for (uint32_t m = 0; m < std::min<uint32_t>(c->size, kMaxJobRanks); m++) {
      const JobHistory::Member member = history_.MemberOf(c->key, m);
      if (member.rank < 0) {
        missing.push_back(m);
      } else {
        std::erase(absent, member.rank);
      }
    }
    if (missing.empty()) return absl::StrCat("the other members of communicator ", c->name);
    if (!absent.empty()) return absl::StrCat(Ranks(absent), " to make communicator ", c->name);
    return absl::StrCat(Ranks(missing), " of communicator ", c->name);
  }

  const JobHistory& history_;
  const int rank_;
  const RankHistory& me_;
  const Times times_;
};

// What a process was doing when it ended: the calls that had not returned.
std::string InsideText(const RankHistory& rank) {
  std::vector<std::string> calls;
  for (const RecordedWaiter& w : rank.threads) {
    if (w.inside) calls.push_back(CallOf(w));
  }
  for (const RecordedWaiter& w : rank.streams) {
    if (w.queued > w.completed && w.kind == WaitKind::kHostFunction)
      calls.push_back(absl::StrCat("a host function of stream ", w.id));
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  return calls.empty() ? "" : absl::StrCat(" in ", absl::StrJoin(calls, " and "));
}

// That of the thread; if there is none, of any.
const RecordedCall* LastCall(const RankHistory& rank, uint64_t thread) {
  for (auto it = rank.calls.rbegin(); it != rank.calls.rend(); ++it) {
    if (static_cast<uint64_t>(it->thread) == thread) return &*it;
  }
  return rank.calls.empty() ? nullptr : &rank.calls.back();
}

}  // namespace

bool StreamWaits(const RankHistory& rank, const RecordedWaiter& w) {
  return !rank.ended && !rank.library_gone && w.queued > w.completed &&
         w.kind != WaitKind::kNothing && w.kind != WaitKind::kHostFunction;
}

bool ThreadWaits(const RankHistory& rank, const RecordedWaiter& w) {
  return !rank.ended && !rank.library_gone && w.inside && w.kind != WaitKind::kNothing;
}

std::string StreamText(const JobHistory& history, int rank, const RecordedWaiter& w, Times times) {
  return w.queued > w.completed ? Teller(history, rank, times).Stream(w) : "";
}

std::string ThreadText(const JobHistory& history, int rank, const RecordedWaiter& w, Times times) {
  return w.inside ? Teller(history, rank, times).Thread(w) : "";
}

std::string DoingText(const JobHistory& history, int rank, uint64_t thread, Times times) {
  const RankHistory& me = history.rank(rank);
  if (!me.started) return "has not been started";
  const RecordedCall* last_call = LastCall(me, thread);
  const std::string last =
      last_call ? absl::StrCat(", after ", Text(history, rank, *last_call)) : "";
  if (me.ended || me.vanished) {
    return absl::StrCat("has ended", me.end.empty() ? "" : absl::StrCat(" (", me.end, ")"),
                        InsideText(me), last);
  }
  if (me.stopped) {
    return absl::StrCat("is stopped by a signal (state T of process ",
                        me.library_pid ? me.library_pid : me.pid, "; kill -CONT lets it go on)",
                        last);
  }
  if (me.library_pid == 0) return "has not called the library yet";
  if (me.library_gone) return absl::StrCat("has ended its use of the library", last);
  const RecordedWaiter* w = me.thread(thread);
  if (!w && !me.threads.empty()) w = &me.threads.front();
  if (!w) return absl::StrCat("is outside the library", last);
  const std::string since = Teller(history, rank, times).Since(w->entered_ns);
  if (!w->inside) return absl::StrCat("is outside the library", since, last);
  if (std::string wait = ThreadText(history, rank, *w, times); !wait.empty()) return wait;
  return absl::StrCat("is in ", CallOf(*w), since, last);
}

std::string RankText(const JobHistory& history, int rank, Times times) {
  const RankHistory& me = history.rank(rank);
  if (!me.started || me.ended || me.vanished || me.stopped || me.library_pid == 0 ||
      me.library_gone)
    return DoingText(history, rank, 0, times);
  std::vector<std::string> parts;
  for (const RecordedWaiter& w : me.threads) {
    if (w.inside) parts.push_back(DoingText(history, rank, w.id, times));
  }
  if (parts.empty()) {
    const uint64_t any = me.threads.empty() ? 0 : me.threads.front().id;
    parts.push_back(DoingText(history, rank, any, times));
  }
  for (const RecordedWaiter& w : me.streams) {
    if (w.queued <= w.completed) continue;
    const std::string wait = StreamText(history, rank, w, times);
    const uint64_t tasks = w.queued - w.completed;
    parts.push_back(absl::StrCat("stream ", w.id, " ", wait.empty() ? "runs" : wait,
                                 tasks > 1 ? absl::StrCat(" (", tasks - 1, " more queued)") : ""));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace hcclrun
