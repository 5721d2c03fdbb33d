#pragma once
// The environment variables of HCCL that mean something here (semantics E), parsed once per process
// at the first HCCL initialisation; a later setenv has no effect.

#include <cstdint>

#include "base/fault.h"
#include "comm/communicator.h"

namespace hcclrun {

struct HcclEnv {
  uint64_t buffer_bytes = uint64_t{200} << 20;  // HCCL_BUFFSIZE (MB)
  int64_t connect_timeout_ms =
      120'000;  // HCCL_CONNECT_TIMEOUT (s), overridden by HCCLRUN_CONNECT_TIMEOUT
  int64_t exec_timeout_ms =
      1'836'000;  // HCCL_EXEC_TIMEOUT (s, 0 = never: -1 here), HCCLRUN_EXEC_TIMEOUT
  bool exec_timeout_forced =
      false;  // HCCLRUN_EXEC_TIMEOUT wins over a communicator's configuration too
  Expansion expansion = Expansion::kAiCpu;  // HCCL_OP_EXPANSION_MODE
  bool inter_hccs_disable =
      false;    // HCCL_INTER_HCCS_DISABLE; no effect on one server (A.10 item 5)
  Fault fault;  // kEnvironment when a value is illegal

  static const HcclEnv& Get();
};

}  // namespace hcclrun
