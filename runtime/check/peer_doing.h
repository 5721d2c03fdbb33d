#pragma once
// What another rank's process is doing now, for sentences about ranks that are waited for.

#include <cstdint>
#include <string>

namespace hcclrun {

// "stopped by a signal (SIGCONT lets it go on)", or, in a job of hcclrun, "now in
// HcclCommSymWinRegister after HcclAllReduce #41 of communicator world". Empty when there is
// nothing of interest to say.
std::string PeerDoing(int32_t pid);

}  // namespace hcclrun
