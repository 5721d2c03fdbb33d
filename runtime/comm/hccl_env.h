#pragma once
// What the environment variables of HCCL mean here (semantics E), parsed once per process
// at the first HCCL initialisation; a later setenv has no effect. Their names and rules
// are in base/hccl_variables.

#include <cstdint>
#include <string>

#include "base/fault.h"
#include "comm/communicator.h"

namespace hcclrun {

struct HcclEnv {
  uint64_t buffer_bytes = uint64_t{200} << 20;  // HCCL_BUFFSIZE (MB)
  // HCCL_CONNECT_TIMEOUT (s), overridden by HCCLRUN_CONNECT_TIMEOUT
  int64_t connect_timeout_ms = 120'000;
  // HCCL_EXEC_TIMEOUT (s, 0 = never: -1 here), overridden by HCCLRUN_EXEC_TIMEOUT
  int64_t exec_timeout_ms = 1'836'000;
  // HCCLRUN_EXEC_TIMEOUT wins over a communicator's configuration, too
  bool exec_timeout_forced = false;
  Expansion expansion = Expansion::kAiCpu;  // HCCL_OP_EXPANSION_MODE
  std::string algorithm;                    // HCCL_ALGO
  bool inter_hccs_disable = false;          // HCCL_INTER_HCCS_DISABLE (A.10 item 5)
  bool deterministic_set = false;           // HCCL_DETERMINISTIC: HcclSetConfig is ignored then
  int32_t deterministic = 0;                // 0 false, 1 true, 2 strict; results always are
  std::string logic_superpod;               // HCCL_LOGIC_SUPERPOD_ID
  Fault fault;                              // kEnvironment when a value is illegal

  static const HcclEnv& Get();
};

}  // namespace hcclrun
