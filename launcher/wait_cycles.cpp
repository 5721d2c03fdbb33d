#include "launcher/wait_cycles.h"

#include <algorithm>
#include <deque>
#include <set>

namespace hcclrun {
namespace {

constexpr size_t kMaxCycles = 8;

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
  size_t transfers = 0, turns = 0, unrecorded = 0, collectives = 0, synchronize = 0, members = 0,
         registers = 0;
  std::set<uint64_t> communicators;
  for (size_t e : cycle) {
    const WaitEdge& edge = graph.edges[e];
    transfers += edge.kind == WaitEdge::kTransfer;
    turns += edge.kind == WaitEdge::kTurn;
    unrecorded += edge.kind == WaitEdge::kUnrecorded;
    collectives += edge.kind == WaitEdge::kCollective;
    synchronize += edge.kind == WaitEdge::kSynchronize;
    members += edge.kind == WaitEdge::kMembers;
    registers += edge.kind == WaitEdge::kRegister;
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
  if (members) {
    return "a communicator that some wait to have made while a member of it waits for them: all "
           "its "
           "members must make it, at the same place among their other calls";
  }
  if (transfers == cycle.size()) {
    return "crossed sends and receives: a send waits in its stream for its receive; let one rank "
           "of "
           "each pair receive first, or use HcclBatchSendRecv";
  }
  if (transfers && collectives) {
    return "operations and transfers queued in opposite order: call them in the same order on all "
           "ranks, or in streams of their own";
  }
  if (collectives && communicators.size() > 1) {
    return synchronize
               ? "two communicators used in opposite order, with a wait for the first before the "
                 "second: call their operations in the same order on all ranks, or call both "
                 "before "
                 "you wait"
               : "two communicators used in opposite order in one stream: call their operations in "
                 "the same order on all ranks, or in a stream for each";
  }
  if (synchronize) {
    return "a thread that waits for its stream before it calls what another rank needs: make the "
           "calls "
           "in the same order on all ranks, or synchronise later";
  }
  if (registers) {
    return "registrations made in different order: make them in the same order on all ranks";
  }
  return "";
}

}  // namespace

void FindCycles(WaitGraph* graph) {
  const std::vector<std::vector<size_t>> out = EdgesOut(*graph);
  std::set<size_t> covered;  // nodes of cycles found
  for (size_t n = 0; n < graph->nodes.size() && graph->cycles.size() < kMaxCycles; n++) {
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

}  // namespace hcclrun
