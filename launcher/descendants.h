#pragma once
// The processes that became children of the launcher: what it started, and (it is a child
// subreaper) what lost its parent below it.

#include <sys/types.h>

#include <vector>

namespace hcclrun {

// Children of this process that still run; zombies are not listed.
std::vector<pid_t> LivingChildren();

}  // namespace hcclrun
