#pragma once
// Deadlocks of a WaitGraph.

#include "launcher/wait_graph.h"

namespace hcclrun {

// Adds the cycles, a few at most, the shortest of those that overlap.
void FindCycles(WaitGraph* graph);

}  // namespace hcclrun
