#pragma once
// The nodes and edges of a WaitGraph: what every waiting thread and stream needs, by the kind of
// its wait.

#include "launcher/wait_graph.h"

namespace hcclrun {

// Without cycles and stragglers.
WaitGraph FindEdges(const JobHistory& history);

}  // namespace hcclrun
