#pragma once
// --a3-report: what of a run would break on an A3 although it works here, or end there without a
// word. Pure.

#include <string>
#include <vector>

#include "launcher/job_history.h"
#include "launcher/wait_graph.h"

namespace hcclrun {

// A line for each kind of trouble, with its first place and how often.
std::vector<std::string> HardwareTroubles(const JobHistory& history);

// Of a job that did not go on: its deadlocks, or who held the others up.
std::vector<std::string> HardwareHang(const WaitGraph& graph);

}  // namespace hcclrun
