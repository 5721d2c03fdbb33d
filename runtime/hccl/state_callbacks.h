#pragma once
// Callbacks of HcclCommRegCommStateCallback: process-wide, by name. They run in the calling thread,
// without a lock of ours, so that they may call HCCL. Any thread.

#include "hccl/hccl_comm.h"

namespace hcclrun {

void TellStateCallbacks(HcclComm comm, HcclCommStatePhase phase);

}  // namespace hcclrun
