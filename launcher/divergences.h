#pragma once
// Local calls in which ranks differ although all should make them together. Pure.

#include <string>
#include <vector>

#include "launcher/job_history.h"

namespace hcclrun {

// Registering, deregistering and destroying, where the ranks of a communicator did so in different
// order or at different places among its operations. Empty when none did, or when too much has been
// forgotten to tell.
std::vector<std::string> Divergences(const JobHistory& history);

}  // namespace hcclrun
