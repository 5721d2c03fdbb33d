#pragma once
// Group calls (semantics D.9): between HcclGroupStart and HcclGroupEnd of a thread its calls are
// checked and kept, and HcclGroupEnd does them together. A group is the thread's own.

#include <functional>
#include <memory>
#include <vector>

#include "base/fault.h"
#include "comm/communicator.h"
#include "device/stream.h"

namespace hcclrun {

// Whether the calling thread is in a group, so that calls are to be kept.
bool InGroup();

// Makes a communicator, before everything else of the group; or destroys one, after it. Runs in a
// thread of its own, in the caller's context.
void KeepCreation(std::function<Fault()> setup);
void KeepDestruction(std::function<Fault()> setup);
void KeepOperation(std::shared_ptr<Communicator> comm, const OpRequest& request,
                   std::shared_ptr<Stream> stream);
void KeepTransfers(std::shared_ptr<Communicator> comm, const std::vector<TransferRequest>& requests,
                   std::shared_ptr<Stream> stream);

}  // namespace hcclrun
