#include "check/details.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "base/rank_list.h"
#include "check/call_order.h"
#include "check/numbering.h"
#include "check/peer_doing.h"
#include "check/transfer_sentences.h"
#include "collective/types.h"
#include "comm/details.h"
#include "comm/matching.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

const OpDetail* OpOf(const Fault& f) { return dynamic_cast<const OpDetail*>(f.detail.get()); }
const WindowDetail* WindowOf(const Fault& f) {
  return dynamic_cast<const WindowDetail*>(f.detail.get());
}

bool IsTransfer(uint32_t call) {
  return call == uint32_t(CallId::HcclSend) || call == uint32_t(CallId::HcclRecv) ||
         call == uint32_t(CallId::HcclBatchSendRecv);
}

// Groups ranks by a text, in the order of their first rank: "ranks 0-2: X; rank 3: Y".
class Groups {
 public:
  void Add(uint32_t rank, const std::string& text) {
    for (auto& [known, ranks] : groups_) {
      if (known == text) {
        ranks.push_back(rank);
        return;
      }
    }
    groups_.push_back({text, {rank}});
  }
  std::string Text(const char* joint) const {
    std::string s;
    for (const auto& [text, ranks] : groups_) {
      absl::StrAppend(&s, s.empty() ? "" : "; ", Ranks(ranks), joint, text);
    }
    return s;
  }
  bool empty() const { return groups_.empty(); }

 private:
  std::vector<std::pair<std::string, std::vector<uint32_t>>> groups_;
};

// "sendCounts[3] = 7"
std::string Number(const ArrayDifference::End& e) {
  std::string s = absl::StrCat(e.array, "[", e.row, "]");
  if (e.column != kNoIndex) absl::StrAppend(&s, "[", e.column, "]");
  return absl::StrCat(s, " = ", e.value);
}

std::string Place(uint64_t window_offset) {
  return window_offset == kNoWindow ? "none" : absl::StrCat(window_offset);
}

}  // namespace

std::string CallText(const Descriptor& d) {
  const Op op = static_cast<Op>(d.op);
  if (op == Op::kBarrier) return CallName(CallId::HcclBarrier);
  std::string s = absl::StrCat(CallName(static_cast<CallId>(d.call)),
                               IsVOperation(op) ? "(largest count " : "(count ", d.count, ", ",
                               Name(static_cast<DataType>(d.dtype)));
  if (IsReduction(op)) absl::StrAppend(&s, ", ", Name(static_cast<ReduceOp>(d.reduce_op)));
  if (op == Op::kBroadcast || op == Op::kReduce || op == Op::kScatter)
    absl::StrAppend(&s, ", root ", d.root);
  return absl::StrCat(s, ")");
}

std::string Where(const RankPosition& p) {
  std::string what;
  if (p.call == 0) {
    what = "no call on this communicator yet";
  } else if (p.call == uint32_t(CallId::HcclCommSymWinRegister)) {
    what = absl::StrCat("last call HcclCommSymWinRegister #", p.windows);
  } else if (IsTransfer(p.call)) {
    what = absl::StrCat("last call ", CallName(static_cast<CallId>(p.call)), ", send or receive #",
                        p.transfers);
  } else {
    what = absl::StrCat("last call ", CallName(static_cast<CallId>(p.call)), " #", p.issued);
    if (p.posted < p.issued)
      absl::StrAppend(&what, ", stream at ", p.posted, " of ", p.issued, " operations");
  }
  switch (p.state) {
    case RankState::kAlive:
      return absl::StrCat("(", what, ")");
    case RankState::kDestroyed:
      return absl::StrCat("(has destroyed the communicator, ", what, ")");
    case RankState::kExited:
      return absl::StrCat("(has exited, ", what, ")");
    case RankState::kFailed:
      return absl::StrCat("(has exited with an error, ", what, ")");
  }
  return what;
}

// And what its process does now, if that says more.
static std::string WhereNow(const RankPosition& p) {
  const std::string doing = p.state == RankState::kAlive ? PeerDoing(p.pid) : "";
  return absl::StrCat(Where(p), doing.empty() ? "" : ", ", doing);
}

std::string WhoLeft(const Fault& f) {
  const OpDetail* d = OpOf(f);
  std::string who = absl::StrCat("rank ", f.n[0]);
  if (!d || d->calls.empty()) return absl::StrCat(who, " (pid ", f.n[1], ")");
  const std::string in_job = InJob(d->calls[0].position);
  if (!in_job.empty()) absl::StrAppend(&who, " of communicator ", d->communicator);
  return absl::StrCat(who, " (pid ", f.n[1], in_job, ")");
}

std::string OperationIn(const Fault& f) {
  const OpDetail* d = OpOf(f);
  // Where the rank has another number in the job, it has been named with its communicator.
  const bool named = !d || (!d->calls.empty() && !InJob(d->calls[0].position).empty());
  return absl::StrCat("operation #", f.n[2] + 1, named ? "" : " of communicator ",
                      named ? "" : d->communicator);
}

std::string RankExitedSentence(const Fault& f) {
  const OpDetail* d = OpOf(f);
  const bool destroyed =
      d && !d->calls.empty() && d->calls[0].position.state == RankState::kDestroyed;
  return absl::StrCat(
      WhoLeft(f), destroyed ? " has destroyed the communicator" : " has left", DoingWhat(f),
      ", but ", OperationIn(f), " needs it; ",
      destroyed ? "every rank must call the same operations before it destroys the communicator"
                : "keep every rank in its process until all operations are done");
}

std::string DoingWhat(const Fault& f) {
  const OpDetail* d = OpOf(f);
  if (!d || d->calls.empty()) return "";
  const RankPosition& p = d->calls[0].position;
  if (p.call == 0) return " before its first call on this communicator";
  if (p.call == uint32_t(CallId::HcclCommSymWinRegister))
    return absl::StrCat(" after HcclCommSymWinRegister #", p.windows);
  if (IsTransfer(p.call))
    return absl::StrCat(" after its call of ", CallName(static_cast<CallId>(p.call)),
                        ", send or receive #", p.transfers);
  return absl::StrCat(" after its call of ", CallName(static_cast<CallId>(p.call)), " #", p.issued);
}

// A rank that leaves a call out is noticed when its calls next differ from the others', which may
// be much later.
static std::string ShiftText(const OpDetail& d) {
  if (std::string later = ShiftInRecords(d); !later.empty()) return later;
  if (!d.shift) return "";
  const Shift& s = *d.shift;
  const bool left_out = s.ahead.size() <= s.behind.size();
  const std::vector<uint32_t>& few = left_out ? s.ahead : s.behind;
  const char* seem = few.size() == 1 && !s.either ? " seems" : " seem";
  const std::string before =
      absl::StrCat(" (before, #", s.first + 1, " was like the call of ", Ranks(s.behind), ", #",
                   s.first + 2, " like that of ", Ranks(s.ahead), ")");
  if (s.either) {
    return absl::StrCat("; the calls of ", Ranks(few), seem,
                        " to be shifted by one against the others'", before,
                        ": one call left out or one too many");
  }
  return absl::StrCat("; ", Ranks(few), seem, " to have ",
                      left_out ? "left a call out" : "made a call too many", before);
}

// ". It was called in stream 0 by ranks 0-2, in stream 3 by rank 3"; streams are numbered by each
// rank.
static std::string StreamsText(const OpDetail& d) {
  std::map<uint32_t, std::vector<uint32_t>> ranks;
  for (const OpDetail::Call& c : d.calls) {
    if (c.posted) ranks[c.descriptor.stream].push_back(c.position.rank);
  }
  constexpr size_t kMost = 4;
  if (ranks.empty() || ranks.size() > kMost) return "";
  std::string text;
  for (const auto& [stream, callers] : ranks)
    absl::StrAppend(&text, text.empty() ? ". It was called in stream " : ", in stream ", stream,
                    " by ", Ranks(callers));
  return text;
}

std::string MismatchSentence(const Fault& f) {
  const OpDetail* d = OpOf(f);
  if (!d) return "the ranks' calls do not match";
  std::vector<uint32_t> skipped;
  for (const OpDetail::Call& c : d->calls) {
    if (c.posted && c.descriptor.flags & kFlagSkipped) skipped.push_back(c.position.rank);
  }
  if (!skipped.empty()) {
    return absl::StrCat("operation #", d->sequence + 1, " of communicator ", d->communicator,
                        " was skipped by ", Ranks(skipped),
                        ", whose stream stops after a failure and had one before; it failed on all "
                        "ranks and moved no data. See the earlier message of that rank",
                        NumberingOf(d->communicator, d->calls));
  }
  Groups groups;
  const Descriptor* first = nullptr;
  std::string difference;
  bool is_v = false;
  for (const OpDetail::Call& c : d->calls) {
    if (c.posted) is_v |= IsVOperation(static_cast<Op>(c.descriptor.op));
    if (!c.posted) {
      groups.Add(c.position.rank, "(not there yet)");
      continue;
    }
    std::string text = "called " + CallText(c.descriptor);
    if (c.descriptor.flags & kFlagWindow) text += " in registered windows";
    groups.Add(c.position.rank, text);
    if (!first) first = &c.descriptor;
    if (difference.empty()) difference = FirstDifference(*first, c.descriptor);
  }
  if (difference.empty() && d->arrays) {
    const ArrayDifference::End &a = d->arrays->a, &b = d->arrays->b;
    const std::string call = CallName(static_cast<CallId>(first->call));
    const std::string what =
        d->arrays->has_values
            ? absl::StrCat("rank ", a.rank, " called ", call, " with ", Number(a), ", rank ",
                           b.rank, " with ", Number(b))
            : absl::StrCat("ranks ", std::min(a.rank, b.rank), " and ", std::max(a.rank, b.rank),
                           " called ", call, " with rows ", a.array, "[", a.row,
                           "] that differ in several elements");
    return absl::StrCat("operation #", d->sequence + 1, " of communicator ", d->communicator,
                        " differs between ranks in its arrays: ", what,
                        "; the operation failed on all ranks and moved no data, make these equal",
                        NumberingOf(d->communicator, d->calls));
  }
  return absl::StrCat(
      "operation #", d->sequence + 1, " of communicator ", d->communicator,
      " differs between ranks in ",
      !difference.empty() ? difference
      : is_v
          ? "its arrays, which a rank that has given up meanwhile does not show any more (see the "
            "message of another rank)"
          : "its arguments",
      ": ", groups.Text(" "), ShiftText(*d),
      "; the operation failed on all of them and moved no data, make all ranks call the same",
      StreamsText(*d), NumberingOf(d->communicator, d->calls));
}

std::string WindowOffsetsSentence(const Fault& f) {
  const OpDetail* d = OpOf(f);
  if (!d) return "the buffers lie at different window offsets";
  Groups groups;
  for (const OpDetail::Call& c : d->calls) {
    if (!c.posted) continue;
    groups.Add(c.position.rank, absl::StrCat("input at ", Place(c.descriptor.in_window),
                                             ", output at ", Place(c.descriptor.out_window)));
  }
  return absl::StrCat(
      "operation #", d->sequence + 1, " of communicator ", d->communicator,
      " has its buffers at different offsets of the symmetric windows (", groups.Text(": "),
      "); hardware computes its peers' addresses from its own offsets and would corrupt memory "
      "silently. Use the same window and the same offset on every rank",
      NumberingOf(d->communicator, d->calls));
}

// "; registration #2 waits for rank 3", when some ranks went to an operation and others to a
// registration, and wait for each other.
static std::string RegistrationThatWaits(const OpDetail& d) {
  uint64_t newest = 0;
  for (const OpDetail::Call& c : d.calls) {
    if (!c.posted && c.position.call == uint32_t(CallId::HcclCommSymWinRegister))
      newest = std::max<uint64_t>(newest, c.position.windows);
  }
  std::vector<uint32_t> away;
  for (const OpDetail::Call& c : d.calls) {
    if (c.position.windows < newest) away.push_back(c.position.rank);
  }
  if (away.empty()) return "";
  return absl::StrCat("; HcclCommSymWinRegister #", newest, " waits for ", Ranks(away));
}

// Of a call that all ranks have made and that goes on all the same.
template <class Call>
static std::string WhyNotThere(const std::vector<Call>& calls) {
  std::vector<uint32_t> stopped;
  for (const Call& c : calls) {
    if (ProcessStopped(c.position.pid)) stopped.push_back(c.position.rank);
  }
  if (stopped.empty()) return "one of them has given up before the others came, or is very slow";
  return absl::StrCat(Ranks(stopped), stopped.size() == 1 ? " is" : " are", " stopped by a signal");
}

// "rank 3", with where it is in the job.
template <class Call>
static std::string RankAmong(const std::vector<Call>& calls, uint32_t rank) {
  std::string who = absl::StrCat("rank ", rank);
  for (const Call& c : calls) {
    if (c.position.rank == rank) absl::StrAppend(&who, InJob(c.position));
  }
  return who;
}

std::string ToldElsewhere(const Fault& f) {
  const OpDetail* op = OpOf(f);
  const WindowDetail* window = WindowOf(f);
  if (!op && !window) return TransferToldElsewhere(f);
  if (window && f.n[2]) return "";  // came too late, alone
  const std::function<uint32_t()> claim = op       ? op->claim_telling
                                          : window ? window->claim_telling
                                                   : nullptr;
  const uint32_t teller = claim ? claim() : kNoRank;
  if (teller == kNoRank) return "";
  if (window) {
    return absl::StrCat("registration #", f.n[0] + 1, " of communicator ", window->communicator,
                        f.kind == FaultKind::kWindowMissingRank ? " waited too long for other ranks"
                                                                : " differs between ranks",
                        ". The message of ", RankAmong(window->calls, teller),
                        " has the whole of it");
  }
  std::string called;
  for (const OpDetail::Call& c : op->calls) {
    if (c.posted && c.position.rank == op->own_rank)
      called = absl::StrCat("; this rank called ", CallText(c.descriptor));
  }
  return absl::StrCat(
      "operation #", op->sequence + 1, " of communicator ", op->communicator,
      f.kind == FaultKind::kExecTimeout     ? " waited too long for other ranks"
      : f.kind == FaultKind::kWindowOffsets ? " has its buffers at different window offsets"
                                            : " differs between ranks",
      called, ". The message of ", RankAmong(op->calls, teller), " has the whole of it");
}

std::string ExecTimeoutSentence(const Fault& f, bool still) {
  const OpDetail* d = OpOf(f);
  if (!d) return "an operation waited too long for other ranks";
  Groups missing;
  std::vector<uint32_t> there;
  bool barrier = false;
  std::string operation =
      absl::StrCat("operation #", d->sequence + 1, " of communicator ", d->communicator);
  for (const OpDetail::Call& c : d->calls) {
    if (c.posted) {
      barrier |= static_cast<Op>(c.descriptor.op) == Op::kBarrier;
      if (there.empty()) absl::StrAppend(&operation, ", ", CallText(c.descriptor), ",");
      there.push_back(c.position.rank);
    } else {
      missing.Add(c.position.rank, WhereNow(c.position));
    }
  }
  // Nobody waits in an operation: what was given up is a transfer, which its own sentence is about.
  if (there.empty() && f.n[2] != 0) {
    return absl::StrCat("communicator ", d->communicator, " is out of use: rank ", f.n[2] - 1,
                        f.n[2] - 1 < d->calls.size() ? InJob(d->calls[f.n[2] - 1].position) : "",
                        " has given up a send or receive after HCCL_EXEC_TIMEOUT; see its message");
  }
  std::string waited = f.n[1] ? absl::StrCat(still ? " has waited " : " waited ", f.n[1] / 1000,
                                             ".", f.n[1] % 1000 / 100, " s")
                              : " timed out";
  if (missing.empty()) {
    return absl::StrCat(operation, waited,
                        " although all ranks have called it: ", WhyNotThere(d->calls),
                        NumberingOf(d->communicator, d->calls));
  }
  return absl::StrCat(operation, waited, "; ", there.empty() ? "no rank" : Ranks(there),
                      there.size() <= 1 ? " is" : " are", " there, missing: ", missing.Text(" "),
                      RegistrationThatWaits(*d),
                      still && barrier ? ". A barrier has no time-out and goes on waiting"
                      : still          ? ". It goes on waiting until HCCL_EXEC_TIMEOUT"
                              : ". Make every rank call the operation, or raise HCCL_EXEC_TIMEOUT",
                      NumberingOf(d->communicator, d->calls));
}

std::string WindowMismatchSentence(const Fault& f) {
  const WindowDetail* d = WindowOf(f);
  if (!d) return "the ranks' registrations do not match";
  Groups groups;
  for (const WindowDetail::Call& c : d->calls) {
    groups.Add(
        c.position.rank,
        absl::StrCat("mapped size ", c.entry.mapped_bytes, " at slot offset ", c.entry.slot_offset,
                     ", size ", c.entry.user_bytes,
                     c.entry.birth_round != f.n[0]
                         ? absl::StrCat(", registered first in round ", c.entry.birth_round + 1)
                         : ""));
  }
  return absl::StrCat(
      "registration #", f.n[0] + 1, " of communicator ", d->communicator,
      " differs between ranks: ", groups.Text(" has "),
      "; every rank must register and deregister mappings of equal size in the same order",
      NumberingOf(d->communicator, d->calls));
}

std::string WindowMissingSentence(const Fault& f, bool still) {
  const WindowDetail* d = WindowOf(f);
  if (!d) return "not all ranks registered";
  Groups missing;
  std::vector<uint32_t> there;
  for (const WindowDetail::Call& c : d->calls) {
    if (f.n[2] && c.position.rank == d->own_rank) continue;
    if (c.came) {
      there.push_back(c.position.rank);
    } else {
      missing.Add(c.position.rank, WhereNow(c.position));
    }
  }
  if (f.n[2] && missing.empty()) {
    return absl::StrCat(
        "registration #", f.n[0] + 1, " of communicator ", d->communicator,
        " comes too late: the other ranks have waited for it and given up. All ranks must register "
        "together; windows of this communicator are out of use now");
  }
  const std::string waited = absl::StrCat("registration #", f.n[0] + 1, " of communicator ",
                                          d->communicator, still ? " has waited " : " waited ",
                                          f.n[1] / 1000, ".", f.n[1] % 1000 / 100, " s");
  if (missing.empty()) {
    return absl::StrCat(waited, " although all ranks have called it: ", WhyNotThere(d->calls),
                        still ? "" : "; windows of this communicator are out of use now",
                        NumberingOf(d->communicator, d->calls));
  }
  return absl::StrCat(
      waited, "; ", there.empty() ? "no rank" : Ranks(there), there.size() > 1 ? " are" : " is",
      " in HcclCommSymWinRegister, missing: ", missing.Text(" "),
      still ? ". All ranks must register together; it goes on waiting until HCCL_CONNECT_TIMEOUT"
            : ". All ranks must register together; windows of this communicator are out of use now",
      NumberingOf(d->communicator, d->calls));
}

}  // namespace hcclrun
