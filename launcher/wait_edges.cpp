#include "launcher/wait_edges.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "launcher/call_text.h"
#include "launcher/wait_text.h"

namespace hcclrun {
namespace {

class Builder {
 public:
  explicit Builder(const JobHistory& history) : history_(history) {}

  WaitGraph Build() {
    for (size_t r = 0; r < history_.ranks.size(); r++) {
      const RankHistory& rank = history_.ranks[r];
      for (const RecordedWaiter& w : rank.threads) {
        if (ThreadWaits(rank, w)) AddThread(static_cast<int>(r), w);
      }
      for (const RecordedWaiter& w : rank.streams) {
        if (StreamWaits(rank, w)) AddStream(static_cast<int>(r), w);
      }
    }
    return std::move(graph_);
  }

 private:
  const RankHistory& Rank(int rank) const { return history_.rank(rank); }

  bool HasThreadsAsRanks(const RankHistory& rank) const {
    return std::any_of(
        rank.communicators.begin(), rank.communicators.end(),
        [this](const RecordedCommunicator& c) { return history_.HasThreadsAsRanks(c.key); });
  }

  size_t Node(WaitNode::Kind kind, int rank, uint64_t id, const std::string& absent = "") {
    auto [it, added] = index_.emplace(std::tuple(kind, rank, id, absent), graph_.nodes.size());
    if (added) {
      const bool named = kind == WaitNode::kThread && id != 0 && HasThreadsAsRanks(Rank(rank));
      graph_.nodes.push_back({kind, rank, id, named, absent});
    }
    return it->second;
  }

  size_t Absent(const RecordedCommunicator& c, uint32_t member, const char* why) {
    return Node(WaitNode::kAbsent, -1, 0,
                absl::StrCat("rank ", member, " of communicator ", c.name, why));
  }

  void Edge(size_t from, size_t to, WaitEdge::Kind kind, uint64_t key, std::string what,
            std::string needs) {
    graph_.edges.push_back({from, to, kind, key, std::move(what), std::move(needs)});
  }

  // The thread that should make the rank's next call on the communicator: the one that made the
  // last one, or the only one there is.
  size_t ThreadOf(int rank, uint32_t comm) {
    const RankHistory& history = Rank(rank);
    for (auto it = history.calls.rbegin(); it != history.calls.rend(); ++it) {
      if (it->comm == comm && history.thread(static_cast<uint64_t>(it->thread)))
        return Node(WaitNode::kThread, rank, static_cast<uint64_t>(it->thread));
    }
    for (const RecordedWaiter& w : history.threads) {
      if (ThreadWaits(history, w)) return Node(WaitNode::kThread, rank, w.id);
    }
    return Node(WaitNode::kThread, rank, history.threads.empty() ? 0 : history.threads.front().id);
  }

  // The edge from `from` to what rank `member` of the communicator does instead of its call `call`,
  // which it has queued behind something, or not made. `queued` precedes its name, `has_not`
  // follows it.
  void NeedsCall(size_t from, WaitEdge::Kind kind, const RecordedCommunicator& c, uint32_t member,
                 const RecordedCall* call, const std::string& what, const std::string& queued,
                 const std::string& has_not) {
    const JobHistory::Member known = history_.MemberOf(c.key, member);
    const std::string name = MemberText(history_, c, member);
    if (known.rank < 0) {
      return Edge(from, Absent(c, member, ", which has left no note of it"), kind, c.key, what,
                  absl::StrCat("which needs ", name));
    }
    const RankHistory& peer = Rank(known.rank);
    const RecordedWaiter* stream = call && !peer.ended ? peer.stream(call->stream) : nullptr;
    if (stream) {
      return Edge(from, Node(WaitNode::kStream, known.rank, stream->id), kind, c.key, what,
                  absl::StrCat(queued, name, " has queued in its stream ", stream->id));
    }
    Edge(from, ThreadOf(known.rank, known.communicator->id), kind, c.key, what,
         absl::StrCat(name, " has ",
                      known.communicator->alive ? has_not : "destroyed the communicator"));
  }

  // Collective `sequence` of the communicator, posted by a member.
  void NeedsCollective(size_t from, WaitEdge::Kind kind, const RecordedCommunicator& c,
                       uint32_t member, uint64_t sequence, const std::string& what) {
    const JobHistory::Member known = history_.MemberOf(c.key, member);
    const RecordedCall* call = known.rank >= 0 && known.communicator->called > sequence
                                   ? history_.FindCall(known.rank, known.communicator->id,
                                                       OperationRecord::kCollective, sequence)
                                   : nullptr;
    // Histories are copied one after the other, and the list of those that were missed may be
    // older.
    if (call && (call->posted_ns != 0 || call->over()) && !call->fault) return;
    NeedsCall(from, kind, c, member, call, what, "which ",
              !call && known.rank >= 0 && known.communicator->called > sequence
                  ? "called it too long ago for a note of it"
                  : "not called it");
  }

  // All members that have not posted operation `sequence`.
  void NeedsAll(size_t from, const RecordedCommunicator& c, uint64_t sequence,
                const std::string& what) {
    for (uint32_t m = 0; m < std::min<uint32_t>(c.size, kMaxJobRanks); m++) {
      const JobHistory::Member member = history_.MemberOf(c.key, m);
      if (member.rank >= 0) {
        const RecordedCall* call = history_.FindCall(member.rank, member.communicator->id,
                                                     OperationRecord::kCollective, sequence);
        if (call && (call->posted_ns != 0 || call->over())) continue;
        // So long ago that it is not kept any more.
        if (!call && member.communicator->called > sequence) continue;
      }
      NeedsCollective(from, WaitEdge::kTurn, c, m, sequence, what);
    }
  }

  void NeedsTransfers(size_t from, int rank, const RecordedWaiter& w) {
    const RankHistory& history = Rank(rank);
    for (const RecordedCall& call : history.calls) {
      if (!call.transfer() || call.stream != w.id || call.posted_ns == 0 || call.over()) continue;
      const RecordedCommunicator* c = history.communicator(call.comm);
      if (!c) continue;
      const bool sends = call.kind == OperationRecord::kSend;
      const JobHistory::Member member = history_.MemberOf(c->key, call.peer);
      const RecordedCall* other =
          member.rank < 0
              ? nullptr
              : history_.FindCall(member.rank, member.communicator->id,
                                  sends ? OperationRecord::kReceive : OperationRecord::kSend,
                                  call.sequence, c->rank);
      if (other && (other->posted_ns != 0 || other->over())) continue;  // it moves
      const std::string end = sends ? "receive" : "send";
      NeedsCall(from, WaitEdge::kTransfer, *c, call.peer, other, Text(history_, rank, call),
                absl::StrCat("whose ", end, " "), absl::StrCat("not called the ", end));
    }
  }

  // Somebody of the own process has to record the event: any thread. So only all of them together
  // can be the reason that nobody does.
  void NeedsRecord(size_t from, int rank) {
    const RankHistory& history = Rank(rank);
    auto needs = [&](const RecordedWaiter& thread) {
      Edge(from, Node(WaitNode::kThread, rank, thread.id), WaitEdge::kUnrecorded, 0,
           "an event that nobody has recorded", absl::StrCat("rank ", rank, " has to"));
    };
    for (const RecordedWaiter& w : history.threads) {
      if (!ThreadWaits(history, w)) return needs(w);
    }
    for (const RecordedWaiter& w : history.threads) needs(w);
  }

  // Who has not done its share is not known, but a process that stands still has not.
  void NeedsShares(size_t from, const RecordedCommunicator& c, const std::string& what) {
    for (uint32_t m = 0; m < std::min<uint32_t>(c.size, kMaxJobRanks); m++) {
      const JobHistory::Member member = history_.MemberOf(c.key, m);
      if (member.rank < 0 || !Rank(member.rank).stopped) continue;
      Edge(from, ThreadOf(member.rank, member.communicator->id), WaitEdge::kCollective, c.key, what,
           absl::StrCat(MemberText(history_, c, m), " has not done its share"));
    }
  }

  void AddStream(int rank, const RecordedWaiter& w) {
    const RankHistory& history = Rank(rank);
    const size_t from = Node(WaitNode::kStream, rank, w.id);
    const RecordedCommunicator* c = history.communicator(w.comm);
    const RecordedCall* call =
        c ? history_.FindCall(rank, w.comm, OperationRecord::kCollective, w.sequence) : nullptr;
    const std::string what =
        call ? Text(history_, rank, *call)
        : c  ? absl::StrCat("operation #", w.sequence + 1, " of communicator ", c->name)
             : "an operation";
    const bool over = call && call->over(), begun = over || (call && call->started_ns != 0);
    switch (w.kind) {
      case WaitKind::kCollective:
        if (!c || begun) return;  // it has gone on since
        for (uint32_t r : w.ranks)
          NeedsCollective(from, WaitEdge::kCollective, *c, r, w.sequence, what);
        return;
      case WaitKind::kTurn:
        if (!c || begun || w.target >= w.sequence) return;
        return NeedsAll(from, *c, w.target,
                        absl::StrCat(what, ", behind operation #", w.target + 1));
      case WaitKind::kRun:
        if (c && !over) NeedsShares(from, *c, what);
        return;
      case WaitKind::kTransfer:
        return NeedsTransfers(from, rank, w);
      case WaitKind::kEvent:
        if (w.target == 0) return NeedsRecord(from, rank);
        return Edge(from, Node(WaitNode::kStream, rank, w.target - 1), WaitEdge::kEvent, 0,
                    "an event",
                    absl::StrCat("which is recorded in stream ", w.target - 1, " of rank ", rank));
      case WaitKind::kSharedEvent:
        for (size_t r = 0; r < history_.ranks.size(); r++) {
          if (w.target == 0 || history_.ranks[r].library_pid != static_cast<int32_t>(w.target))
            continue;
          Edge(from, ThreadOf(static_cast<int>(r), 0), WaitEdge::kEvent, 0, "a shared event",
               absl::StrCat("which rank ", r, " records"));
        }
        return;
      default:
        return;  // it is not known who could help
    }
  }

  void AddThread(int rank, const RecordedWaiter& w) {
    const size_t from = Node(WaitNode::kThread, rank, w.id);
    const char* name = CallName(static_cast<CallId>(w.call));
    const RecordedCommunicator* c = Rank(rank).communicator(w.comm);
    switch (w.kind) {
      case WaitKind::kStream:
        return Edge(from, Node(WaitNode::kStream, rank, w.target), WaitEdge::kSynchronize, 0, name,
                    absl::StrCat("stream ", w.target, " to be done"));
      case WaitKind::kRegister:
        for (uint32_t r : c ? w.ranks : std::vector<uint32_t>()) {
          NeedsCall(from, WaitEdge::kRegister, *c, r, nullptr,
                    absl::StrCat(name, " #", w.sequence + 1, " of communicator ", c->name), "",
                    "not called it");
        }
        return;
      case WaitKind::kMembers:
        if (c) NeedsMembers(from, rank, *c, absl::StrCat(name, " of communicator ", c->name));
        return;
      default:
        return;
    }
  }

  // Those that have not come to make the communicator.
  void NeedsMembers(size_t from, int rank, const RecordedCommunicator& c, const std::string& what) {
    auto needs = [&](int absentee) {
      Edge(from, ThreadOf(absentee, 0), WaitEdge::kMembers, c.key, what,
           absl::StrCat("rank ", absentee, " has not made it"));
    };
    std::vector<uint32_t> missing;
    std::vector<bool> has_come(history_.ranks.size());
    for (uint32_t m = 0; m < std::min<uint32_t>(c.size, kMaxJobRanks); m++) {
      const JobHistory::Member member = history_.MemberOf(c.key, m);
      if (member.rank < 0) {
        missing.push_back(m);
      } else {
        has_come[static_cast<size_t>(member.rank)] = true;
      }
    }
    for (int r : c.expected) {
      if (r < static_cast<int>(has_come.size()) && !has_come[static_cast<size_t>(r)]) needs(r);
    }
    if (!c.expected.empty()) return;
    // Usually the communicator is everybody's.
    const bool everybody = c.size == history_.ranks.size() && c.rank == static_cast<uint32_t>(rank);
    for (uint32_t m : missing) {
      if (everybody) {
        needs(static_cast<int>(m));
        continue;
      }
      Edge(from, Absent(c, m, ", as which nobody has made it so far"), WaitEdge::kMembers, c.key,
           what, absl::StrCat("nobody has made it as its rank ", m));
    }
  }

  const JobHistory& history_;
  WaitGraph graph_;
  std::map<std::tuple<WaitNode::Kind, int, uint64_t, std::string>, size_t> index_;
};

}  // namespace

WaitGraph FindEdges(const JobHistory& history) { return Builder(history).Build(); }

}  // namespace hcclrun
