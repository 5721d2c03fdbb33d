#pragma once
// Who waits for whom, as a graph, out of a JobHistory; pure.
//
// Nodes are the threads and streams of the ranks (the front of a stream, to be precise: what stands
// behind it waits with it). An edge leads from one that waits to one without whose progress it can
// not go on: from a collective to what the missing ranks do instead, from a send to what keeps its
// receiver busy, from an event's wait to the stream of its record, from a thread to the stream it
// synchronises. Since every one of them is needed, a cycle is a deadlock. A node to which edges
// lead and from which none does holds the others up: it runs, or is outside the library, or has
// ended. Those ahead are not to blame.

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/job_history.h"

namespace hcclrun {

struct WaitNode {
  enum Kind { kThread, kStream, kAbsent };
  Kind kind = kThread;
  int rank = -1;       // of the job; -1 for kAbsent
  uint64_t id = 0;     // of the thread (0: whichever it will be) or stream
  bool named = false;  // kThread: one of several that are ranks of a communicator
  std::string absent;  // kAbsent: "rank 3 of communicator tp, as which nobody has made it so far"
};

struct WaitEdge {
  enum Kind {
    kCollective,
    kTurn,
    kTransfer,
    kEvent,
    kUnrecorded,
    kSynchronize,
    kRegister,
    kMembers
  };
  size_t from = 0, to = 0;  // nodes
  Kind kind = kCollective;
  uint64_t key = 0;   // of the communicator, or 0
  std::string what;   // "HcclAllReduce #41 of communicator world"
  std::string needs;  // "it needs rank 3, which has not called it"
};

struct WaitCycle {
  std::vector<size_t> edges;  // each begins where the one before ends
  std::string hint;           // what kind of cycle this is and what helps; may be empty
};

struct Straggler {
  int rank = -1;             // -1: absent
  std::string doing;         // "rank 3, which is outside the library since 4.1 s, after ..."
  std::vector<int> waiting;  // ranks that directly or indirectly wait for it
};

struct WaitGraph {
  std::vector<WaitNode> nodes;
  std::vector<WaitEdge> edges;
  std::vector<WaitCycle> cycles;
  std::vector<Straggler> stragglers;  // those that most wait for first
};

WaitGraph FindWaits(const JobHistory& history);

// "stream 3 of rank 0", "rank 2", "thread 4711 of rank 0".
std::string NodeText(const WaitGraph& graph, size_t node);
// A whole sentence for one edge, without its end.
std::string EdgeText(const WaitGraph& graph, const WaitEdge& edge);

}  // namespace hcclrun
