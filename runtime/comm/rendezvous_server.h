#pragma once
// The server side of the rendezvous: a thread of the process that made the root info. It
// serves one communicator.

#include <string>

#include "base/fault.h"
#include "base/fork_guard.h"
#include "comm/root_info.h"

namespace hcclrun {

// Starts the thread and returns. It ends when the communicator is made or refused, or when the
// first rank's connect timeout passes; it does not end before a first rank came, as long as the
// process lives.
Fault ServeRendezvous(UniqueFd listener, const RootInfo& info);

// Ends a rendezvous that this process serves and that has not all its ranks yet, because one of
// them cannot come: the others are refused for `why`.
void CancelRendezvous(const RootInfo& info, const std::string& why);

}  // namespace hcclrun
