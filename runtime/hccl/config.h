#pragma once
#include <vector>

#include "base/fault.h"
#include "comm/communicator.h"
#include "hccl/hccl_types.h"

namespace hcclrun {

// The communicator configuration of a caller, over the environment, over the defaults (semantics
// D.3). Reads only as many bytes as the caller's header stamped into the struct, and a field only
// if the stamped version has it, so that every historical size and version is accepted. `config`
// may be null: environment and defaults.
Result<CommConfig> ReadConfig(const HcclCommConfig* config);

// The bytes of a caller's configuration that may be read, for later.
std::vector<char> CopyConfig(const HcclCommConfig& config);

}  // namespace hcclrun
