#pragma once
// --explain: the paths of all operations, summed up. Pure.

#include <string>
#include <vector>

#include "launcher/job_history.h"

namespace hcclrun {

// A line for each kind of operation, with ranks, sizes, roots and repetitions summed up: its path
// here, why not the window, and what an A3's thresholds would say.
std::vector<std::string> ExplainLines(const JobHistory& history);

}  // namespace hcclrun
