#include "launcher/wait_graph.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "base/rank_list.h"

namespace hcclrun {
namespace {

// A stream waits if it has tasks and has said what for. What has ended waits for nothing.
bool StreamWaits(const RankHistory& rank, const RecordedWaiter& w) {
  return !rank.ended && !rank.library_gone && w.queued > w.completed &&
         w.kind != WaitKind::kNothing && w.kind != WaitKind::kHostFunction;
}

bool ThreadWaits(const RankHistory& rank, const RecordedWaiter& w) {
  return !rank.ended && !rank.library_gone && w.inside && w.kind != WaitKind::kNothing;
}

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
  const RankHistory& Rank(int rank) const { return history_.ranks[static_cast<size_t>(rank)]; }

  size_t Node(WaitNode::Kind kind, int rank, uint64_t id, const std::string& absent = "") {
    auto [it, added] = index_.emplace(std::tuple(kind, rank, id, absent), graph_.nodes.size());
    if (added) {
      WaitNode node;
      node.kind = kind;
      node.rank = rank;
      node.id = id;
      node.absent = absent;
      graph_.nodes.push_back(std::move(node));
    }
    return it->second;
  }

  void Edge(size_t from, size_t to, WaitEdge::Kind kind, uint64_t key, std::string what,
            std::string needs) {
    graph_.edges.push_back({from, to, kind, key, std::move(what), std::move(needs)});
  }

  // The thread that should make the rank's next call on the communicator: the one that made the last
  // one, or the only one there is.
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

  std::string RankName(const JobHistory::Member& member, uint32_t rank) const {
    if (member.rank < 0) return absl::StrCat("rank ", rank);
    std::string text = absl::StrCat("rank ", member.rank);
    if (rank != static_cast<uint32_t>(member.rank))
      absl::StrAppend(&text, " (rank ", rank, " of the communicator)");
    return text;
  }

  // The edge from `from`, which needs collective `sequence` of the communicator posted by a member.
  void NeedsCollective(size_t from, WaitEdge::Kind kind, const RecordedCommunicator& c,
                       uint32_t rank, uint64_t sequence, const std::string& what) {
    const JobHistory::Member member = history_.MemberOf(c.key, rank);
    if (member.rank < 0) {
      return Edge(
          from,
          Node(WaitNode::kAbsent, -1, 0, absl::StrCat("rank ", rank, " of communicator ", c.name)),
          kind, c.key, what, "which no rank of this job has made");
    }
    const std::string name = RankName(member, rank);
    const RankHistory& peer = Rank(member.rank);
    if (member.communicator->called > sequence && !peer.ended) {
      const RecordedCall* call = history_.FindCall(member.rank, member.communicator->id,
                                                   OperationRecord::kCollective, sequence);
      const RecordedWaiter* stream = call ? peer.stream(call->stream) : nullptr;
      if (stream) {
        return Edge(from, Node(WaitNode::kStream, member.rank, stream->id), kind, c.key, what,
                    absl::StrCat("which ", name, " has queued in its stream ", stream->id));
      }
    }
    Edge(from, ThreadOf(member.rank, member.communicator->id), kind, c.key, what,
         absl::StrCat(name, " has ",
                      member.communicator->alive ? "not called it" : "destroyed the communicator"));
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
      const std::string what = Text(history, call);
      const bool sends = call.kind == OperationRecord::kSend;
      const JobHistory::Member member = history_.MemberOf(c->key, call.peer);
      if (member.rank < 0) {
        Edge(from,
             Node(WaitNode::kAbsent, -1, 0,
                  absl::StrCat("rank ", call.peer, " of communicator ", c->name)),
             WaitEdge::kTransfer, c->key, what, "which no rank of this job has made");
        continue;
      }
      const RankHistory& peer = Rank(member.rank);
      const RecordedCall* other = history_.FindCall(
          member.rank, member.communicator->id,
          sends ? OperationRecord::kReceive : OperationRecord::kSend, call.sequence, c->rank);
      if (other && (other->posted_ns != 0 || other->over())) continue;  // it moves
      const RecordedWaiter* stream = other ? peer.stream(other->stream) : nullptr;
      const std::string end = sends ? "receive" : "send", name = RankName(member, call.peer);
      if (stream && !peer.ended) {
        Edge(from, Node(WaitNode::kStream, member.rank, stream->id), WaitEdge::kTransfer, c->key,
             what,
             absl::StrCat("whose ", end, " ", name, " has queued in its stream ", stream->id));
      } else {
        Edge(from, ThreadOf(member.rank, member.communicator->id), WaitEdge::kTransfer, c->key,
             what, absl::StrCat(name, " has not called the ", end));
      }
    }
  }

  // Somebody of the own process has to record the event: any thread. So only all of them together
  // can be the reason that nobody does.
  void NeedsRecord(size_t from, int rank) {
    const RankHistory& history = Rank(rank);
    for (const RecordedWaiter& w : history.threads) {
      if (ThreadWaits(history, w)) continue;
      return Edge(from, Node(WaitNode::kThread, rank, w.id), WaitEdge::kUnrecorded, 0,
                  "an event that nobody has recorded", absl::StrCat("rank ", rank, " has to"));
    }
    for (const RecordedWaiter& w : history.threads) {
      Edge(from, Node(WaitNode::kThread, rank, w.id), WaitEdge::kUnrecorded, 0,
           "an event that nobody has recorded", absl::StrCat("rank ", rank, " has to"));
    }
  }

  void AddStream(int rank, const RecordedWaiter& w) {
    const RankHistory& history = Rank(rank);
    const size_t from = Node(WaitNode::kStream, rank, w.id);
    const RecordedCommunicator* c = history.communicator(w.comm);
    const RecordedCall* call =
        c ? history_.FindCall(rank, w.comm, OperationRecord::kCollective, w.sequence) : nullptr;
    const std::string what =
        call ? Text(history, *call)
        : c  ? absl::StrCat("operation #", w.sequence + 1, " of communicator ", c->name)
             : "an operation";
    switch (w.kind) {
      case WaitKind::kCollective:
        // It may have gone on since.
        if (!c || (call && (call->started_ns != 0 || call->over()))) return;
        for (uint32_t r : w.ranks)
          NeedsCollective(from, WaitEdge::kCollective, *c, r, w.sequence, what);
        return;
      case WaitKind::kTurn:
        if (!c || (call && (call->started_ns != 0 || call->over()))) return;
        if (w.target < w.sequence) {
          NeedsAll(from, *c, w.target, absl::StrCat(what, ", behind operation #", w.target + 1));
        }
        return;
      case WaitKind::kRun: {
        // Who has not done its share is not known, but a process that stands still has not.
        if (!c || (call && call->over())) return;
        for (uint32_t m = 0; m < std::min<uint32_t>(c->size, kMaxJobRanks); m++) {
          const JobHistory::Member member = history_.MemberOf(c->key, m);
          if (member.rank < 0 || !Rank(member.rank).stopped) continue;
          Edge(from, ThreadOf(member.rank, member.communicator->id), WaitEdge::kCollective, c->key,
               what, absl::StrCat(RankName(member, m), " has not done its share"));
        }
        return;
      }
      case WaitKind::kTransfer:
        return NeedsTransfers(from, rank, w);
      case WaitKind::kEvent:
        if (w.target == 0) return NeedsRecord(from, rank);
        Edge(from, Node(WaitNode::kStream, rank, w.target - 1), WaitEdge::kEvent, 0, "an event",
             absl::StrCat("which is recorded in stream ", w.target - 1, " of rank ", rank));
        return;
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
    const RankHistory& history = Rank(rank);
    const size_t from = Node(WaitNode::kThread, rank, w.id);
    const char* name = CallName(static_cast<CallId>(w.call));
    const RecordedCommunicator* c = history.communicator(w.comm);
    switch (w.kind) {
      case WaitKind::kStream:
        Edge(from, Node(WaitNode::kStream, rank, w.target), WaitEdge::kSynchronize, 0, name,
             absl::StrCat("stream ", w.target, " to be done"));
        return;
      case WaitKind::kRegister: {
        if (!c) return;
        const std::string what =
            absl::StrCat(name, " #", w.sequence + 1, " of communicator ", c->name);
        for (uint32_t r : w.ranks) {
          const JobHistory::Member member = history_.MemberOf(c->key, r);
          if (member.rank < 0) continue;
          Edge(from, ThreadOf(member.rank, member.communicator->id), WaitEdge::kRegister, c->key,
               what, absl::StrCat(RankName(member, r), " has not called it"));
        }
        return;
      }
      case WaitKind::kMembers:
        if (!c) return;
        for (uint32_t m = 0; m < std::min<uint32_t>(c->size, kMaxJobRanks); m++) {
          if (history_.MemberOf(c->key, m).rank >= 0) continue;
          const std::string what = absl::StrCat(name, " of communicator ", c->name);
          // Usually the communicator is everybody's.
          if (c->size == history_.ranks.size() && c->rank == static_cast<uint32_t>(rank)) {
            Edge(from, ThreadOf(static_cast<int>(m), 0), WaitEdge::kMembers, c->key, what,
                 absl::StrCat("rank ", m, " has not made it"));
          } else {
            Edge(from,
                 Node(WaitNode::kAbsent, -1, 0,
                      absl::StrCat("rank ", m, " of communicator ", c->name)),
                 WaitEdge::kMembers, c->key, what, "which no rank of this job has made");
          }
        }
        return;
      default:
        return;
    }
  }

  const JobHistory& history_;
  WaitGraph graph_;
  std::map<std::tuple<WaitNode::Kind, int, uint64_t, std::string>, size_t> index_;
};

std::vector<std::vector<size_t>> EdgesOut(const WaitGraph& graph) {
  std::vector<std::vector<size_t>> out(graph.nodes.size());
  for (size_t e = 0; e < graph.edges.size(); e++) out[graph.edges[e].from].push_back(e);
  return out;
}

// The shortest cycle through `start`, as edges; empty when there is none.
std::vector<size_t> CycleThrough(const WaitGraph& graph,
                                 const std::vector<std::vector<size_t>>& out, size_t start) {
  std::vector<size_t> came_by(graph.nodes.size(), SIZE_MAX);
  std::deque<size_t> queue = {start};
  while (!queue.empty()) {
    const size_t node = queue.front();
    queue.pop_front();
    for (size_t e : out[node]) {
      const size_t to = graph.edges[e].to;
      if (to == start) {
        std::vector<size_t> cycle = {e};
        for (size_t at = node; at != start; at = graph.edges[came_by[at]].from)
          cycle.push_back(came_by[at]);
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      if (came_by[to] != SIZE_MAX) continue;
      came_by[to] = e;
      queue.push_back(to);
    }
  }
  return {};
}

std::string HintOf(const WaitGraph& graph, const std::vector<size_t>& cycle) {
  size_t transfers = 0, turns = 0, unrecorded = 0, collectives = 0, synchronize = 0;
  std::set<uint64_t> communicators;
  for (size_t e : cycle) {
    const WaitEdge& edge = graph.edges[e];
    transfers += edge.kind == WaitEdge::kTransfer;
    turns += edge.kind == WaitEdge::kTurn;
    unrecorded += edge.kind == WaitEdge::kUnrecorded;
    collectives += edge.kind == WaitEdge::kCollective;
    synchronize += edge.kind == WaitEdge::kSynchronize;
    if (edge.key) communicators.insert(edge.key);
  }
  if (unrecorded) {
    return "an event that nobody records: record it before anything waits for the stream that "
           "waits "
           "for it";
  }
  if (turns) {
    return "one communicator on two streams whose order is not the order of the calls: its "
           "operations run in the order of their calls; use one stream, or order the streams with "
           "events in that order";
  }
  if (transfers == cycle.size()) {
    return "crossed sends and receives: a send waits in its stream for its receive; let one rank "
           "of "
           "each pair receive first, or use HcclBatchSendRecv";
  }
  if (collectives && communicators.size() > 1) {
    return transfers ? "operations and transfers queued in opposite order: call them in the same "
                       "order on all ranks, or in streams of their own"
                     : "two communicators used in opposite order in one stream: call their "
                       "operations in the same order on all ranks, or in a stream for each";
  }
  if (collectives && transfers) {
    return "operations and transfers queued in opposite order: call them in the same order on all "
           "ranks, or in streams of their own";
  }
  if (synchronize) {
    return "a thread waits for its stream before it calls what another rank needs: make the calls "
           "in the same order on all ranks, or synchronise later";
  }
  return "";
}

void FindCycles(WaitGraph* graph) {
  const std::vector<std::vector<size_t>> out = EdgesOut(*graph);
  std::set<size_t> covered;  // nodes of cycles found
  for (size_t n = 0; n < graph->nodes.size() && graph->cycles.size() < 8; n++) {
    if (covered.count(n)) continue;
    std::vector<size_t> cycle = CycleThrough(*graph, out, n);
    if (cycle.empty()) continue;
    bool overlaps = false;
    for (size_t e : cycle) overlaps |= covered.count(graph->edges[e].from) != 0;
    for (size_t e : cycle) covered.insert(graph->edges[e].from);
    if (overlaps) continue;  // the same trouble, seen from another rank
    std::string hint = HintOf(*graph, cycle);
    graph->cycles.push_back({std::move(cycle), std::move(hint)});
  }
}

void FindStragglers(const JobHistory& history, WaitGraph* graph) {
  std::vector<std::vector<size_t>> in(graph->nodes.size());
  std::vector<bool> has_out(graph->nodes.size());
  for (const WaitEdge& edge : graph->edges) {
    in[edge.to].push_back(edge.from);
    has_out[edge.from] = true;
  }
  for (size_t n = 0; n < graph->nodes.size(); n++) {
    const WaitNode& node = graph->nodes[n];
    if (in[n].empty() || has_out[n]) continue;
    std::set<size_t> before = {n};
    std::set<int> waiting;
    std::deque<size_t> queue = {n};
    while (!queue.empty()) {
      const size_t at = queue.front();
      queue.pop_front();
      for (size_t from : in[at]) {
        if (!before.insert(from).second) continue;
        queue.push_back(from);
        if (graph->nodes[from].rank != node.rank) waiting.insert(graph->nodes[from].rank);
      }
    }
    Straggler s;
    s.rank = node.rank;
    s.waiting.assign(waiting.begin(), waiting.end());
    if (node.kind == WaitNode::kAbsent) {
      s.doing = absl::StrCat(node.absent, ", which does not exist in this job");
    } else if (node.kind == WaitNode::kThread) {
      s.doing =
          absl::StrCat("rank ", node.rank, ", which ", DoingText(history, node.rank, node.id));
    } else {
      const RankHistory& rank = history.ranks[static_cast<size_t>(node.rank)];
      const RecordedWaiter* w = rank.stream(node.id);
      const std::string wait = w ? WaitText(history, node.rank, *w, true) : "";
      s.doing = rank.stopped || rank.ended
                    ? absl::StrCat("rank ", node.rank, ", which ", DoingText(history, node.rank, 0))
                    : absl::StrCat("rank ", node.rank, ", whose stream ", node.id, " ",
                                   wait.empty() ? "is about to go on" : wait);
    }
    // One line for a rank.
    auto same =
        std::find_if(graph->stragglers.begin(), graph->stragglers.end(),
                     [&](const Straggler& t) { return t.rank == s.rank && t.doing == s.doing; });
    if (same == graph->stragglers.end()) graph->stragglers.push_back(std::move(s));
  }
  std::stable_sort(
      graph->stragglers.begin(), graph->stragglers.end(),
      [](const Straggler& a, const Straggler& b) { return a.waiting.size() > b.waiting.size(); });
}

std::string MissingText(const JobHistory& history, const RankHistory& rank,
                        const RecordedWaiter& w) {
  if (w.missing == 0) return "other ranks";
  const RecordedCommunicator* c = rank.communicator(w.comm);
  std::vector<uint32_t> ranks;
  for (uint32_t r : w.ranks) {
    const JobHistory::Member member = c ? history.MemberOf(c->key, r) : JobHistory::Member();
    ranks.push_back(member.rank >= 0 ? static_cast<uint32_t>(member.rank) : r);
  }
  std::sort(ranks.begin(), ranks.end());
  std::string text = Ranks(ranks);
  if (w.missing > w.ranks.size())
    absl::StrAppend(&text, " and ", w.missing - w.ranks.size(), " more");
  return text;
}

}  // namespace

WaitGraph FindWaits(const JobHistory& history) {
  WaitGraph graph = Builder(history).Build();
  FindCycles(&graph);
  FindStragglers(history, &graph);
  return graph;
}

std::string NodeText(const WaitGraph& graph, size_t node) {
  const WaitNode& n = graph.nodes[node];
  switch (n.kind) {
    case WaitNode::kThread:
      return absl::StrCat("rank ", n.rank);
    case WaitNode::kStream:
      return absl::StrCat("stream ", n.id, " of rank ", n.rank);
    case WaitNode::kAbsent:
      break;
  }
  return n.absent;
}

std::string EdgeText(const WaitGraph& graph, const WaitEdge& edge) {
  const std::string from = NodeText(graph, edge.from);
  switch (edge.kind) {
    case WaitEdge::kSynchronize:
      return absl::StrCat(from, " waits in ", edge.what, " for ", edge.needs);
    case WaitEdge::kRegister:
    case WaitEdge::kMembers:
      return absl::StrCat(from, " is in ", edge.what, ", and ", edge.needs);
    case WaitEdge::kEvent:
    case WaitEdge::kUnrecorded:
      return absl::StrCat(from, " waits for ", edge.what, ", ", edge.needs);
    default:
      return absl::StrCat(from, " is at ", edge.what, ", ", edge.needs);
  }
}

std::string WaitText(const JobHistory& history, int rank, const RecordedWaiter& w, bool stream) {
  const RankHistory& me = history.ranks[static_cast<size_t>(rank)];
  if (stream ? w.queued <= w.completed : !w.inside) return "";
  const RecordedCommunicator* c = me.communicator(w.comm);
  const RecordedCall* call =
      c ? history.FindCall(rank, w.comm, OperationRecord::kCollective, w.sequence) : nullptr;
  const std::string operation =
      call ? TextWithFacts(me, *call)
           : absl::StrCat("operation #", w.sequence + 1, " of ", CommunicatorText(me, w.comm));
  const std::string since = absl::StrCat(" since ", Seconds(history.now_ns - w.since_ns));
  switch (w.kind) {
    case WaitKind::kNothing:
    case WaitKind::kCount:
      return "";
    case WaitKind::kCollective:
      if (call && (call->started_ns != 0 || call->over()))
        return absl::StrCat("is executing ", operation);
      return absl::StrCat("is at ", operation, " and waits for ", MissingText(history, me, w),
                          since);
    case WaitKind::kTurn:
      return absl::StrCat("is at ", operation, ", which comes after operation #", w.target + 1,
                          " of the communicator", since);
    case WaitKind::kRun:
      return absl::StrCat("is executing ", operation, since);
    case WaitKind::kTransfer: {
      const std::string send = w.detail == 0 ? "send" : "receive";
      return absl::StrCat("is at ", send, " #", w.sequence + 1, w.detail == 0 ? " to" : " from",
                          " rank ", w.target, " of ", CommunicatorText(me, w.comm),
                          w.missing > 1 ? absl::StrCat(" and ", w.missing - 1, " more") : "",
                          " and waits for ", MissingText(history, me, w), since);
    }
    case WaitKind::kEvent:
      return w.target == 0 ? absl::StrCat("waits for an event that nobody has recorded", since)
                           : absl::StrCat("waits for an event that is recorded in stream ",
                                          w.target - 1, since);
    case WaitKind::kSharedEvent:
      return absl::StrCat("waits for a shared event",
                          w.target ? absl::StrCat(" of process ", w.target) : "", since);
    case WaitKind::kNotify:
      return absl::StrCat("waits for a notify that nobody has recorded", since);
    case WaitKind::kValue:
      return absl::StrCat("waits for a value in memory (aclrtValueWait)", since);
    case WaitKind::kHostFunction:
      return absl::StrCat("runs a host function", since);
    case WaitKind::kStream:
      return absl::StrCat("waits in ", CallName(static_cast<CallId>(w.call)), " for stream ",
                          w.target);
    case WaitKind::kRegister:
      return absl::StrCat("is in ", CallName(static_cast<CallId>(w.call)), " #", w.sequence + 1,
                          " of ", CommunicatorText(me, w.comm), " and waits for ",
                          MissingText(history, me, w), since);
    case WaitKind::kMembers: {
      if (!c) return "waits for the members of a communicator";
      std::vector<uint32_t> missing;
      for (uint32_t m = 0; m < std::min<uint32_t>(c->size, kMaxJobRanks); m++) {
        if (history.MemberOf(c->key, m).rank < 0) missing.push_back(m);
      }
      return absl::StrCat("is in ", CallName(static_cast<CallId>(w.call)), " and waits for ",
                          missing.empty() ? "the other members" : Ranks(missing),
                          " of communicator ", c->name, since);
    }
  }
  return "";
}

std::string DoingText(const JobHistory& history, int rank, uint64_t thread) {
  const RankHistory& me = history.ranks[static_cast<size_t>(rank)];
  if (!me.started) return "has not been started";
  if (me.ended)
    return absl::StrCat("has ended", me.end.empty() ? "" : " (", me.end, me.end.empty() ? "" : ")");
  const std::string last =
      me.calls.empty() ? "" : absl::StrCat(", after ", Text(me, me.calls.back()));
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
  const std::string since =
      w->entered_ns ? absl::StrCat(" since ", Seconds(history.now_ns - w->entered_ns)) : "";
  if (!w->inside) return absl::StrCat("is outside the library", since, last);
  if (std::string wait = WaitText(history, rank, *w, false); !wait.empty()) return wait;
  return absl::StrCat("is in ", CallName(static_cast<CallId>(w->call)), since, last);
}

}  // namespace hcclrun
