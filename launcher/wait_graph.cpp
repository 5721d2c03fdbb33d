#include "launcher/wait_graph.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "launcher/wait_cycles.h"
#include "launcher/wait_edges.h"
#include "launcher/wait_text.h"

namespace hcclrun {
namespace {

// Ranks other than its own that directly or indirectly wait for the node.
std::vector<int> WaitingFor(const WaitGraph& graph, const std::vector<std::vector<size_t>>& in,
                            size_t node) {
  std::vector<size_t> found = {node};  // nodes, the last of which are still to be looked at
  std::vector<bool> known(graph.nodes.size());
  known[node] = true;
  std::set<int> ranks;
  for (size_t at = 0; at < found.size(); at++) {
    for (size_t from : in[found[at]]) {
      if (known[from]) continue;
      known[from] = true;
      found.push_back(from);
      if (graph.nodes[from].rank != graph.nodes[node].rank) ranks.insert(graph.nodes[from].rank);
    }
  }
  return {ranks.begin(), ranks.end()};
}

// "rank 3, which is outside the library since 4.1 s"
std::string StragglerText(const JobHistory& history, const WaitGraph& graph, size_t n) {
  const WaitNode& node = graph.nodes[n];
  if (node.kind == WaitNode::kAbsent) return node.absent;
  const RankHistory& rank = history.rank(node.rank);
  const std::string name = absl::StrCat("rank ", node.rank);
  if (node.kind == WaitNode::kThread)
    return absl::StrCat(NodeText(graph, n), ", which ", DoingText(history, node.rank, node.id));
  if (rank.stopped || rank.ended || rank.library_gone)
    return absl::StrCat(name, ", which ", DoingText(history, node.rank, 0));
  const RecordedWaiter* w = rank.stream(node.id);
  const std::string wait = w ? StreamText(history, node.rank, *w) : "";
  return absl::StrCat(name, ", whose stream ", node.id, " ",
                      wait.empty() ? "is about to go on" : wait);
}

void FindStragglers(const JobHistory& history, WaitGraph* graph) {
  std::vector<std::vector<size_t>> in(graph->nodes.size());
  std::vector<bool> has_out(graph->nodes.size());
  for (const WaitEdge& edge : graph->edges) {
    in[edge.to].push_back(edge.from);
    has_out[edge.from] = true;
  }
  std::vector<Straggler>& all = graph->stragglers;
  for (size_t n = 0; n < graph->nodes.size(); n++) {
    if (in[n].empty() || has_out[n]) continue;
    const WaitNode& node = graph->nodes[n];
    Straggler s = {node.rank, StragglerText(history, *graph, n), WaitingFor(*graph, in, n)};
    // One line for a rank.
    const bool told = std::any_of(all.begin(), all.end(), [&](const Straggler& t) {
      return t.rank == s.rank && t.doing == s.doing;
    });
    if (!told) all.push_back(std::move(s));
  }
  std::stable_sort(all.begin(), all.end(), [](const Straggler& a, const Straggler& b) {
    return a.waiting.size() > b.waiting.size();
  });
}

}  // namespace

WaitGraph FindWaits(const JobHistory& history) {
  WaitGraph graph = FindEdges(history);
  FindCycles(&graph);
  FindStragglers(history, &graph);
  return graph;
}

std::string NodeText(const WaitGraph& graph, size_t node) {
  const WaitNode& n = graph.nodes[node];
  switch (n.kind) {
    case WaitNode::kThread:
      return absl::StrCat(n.named ? absl::StrCat("thread ", n.id, " of ") : "", "rank ", n.rank);
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

}  // namespace hcclrun
