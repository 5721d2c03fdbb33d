#include "hccl/group.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/quiet_thread.h"
#include "base/thread_value.h"
#include "collective/types.h"
#include "device/context.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace hcclrun {
namespace {

struct KeptOperation {
  std::shared_ptr<Communicator> comm;
  OpRequest request;
  std::shared_ptr<Stream> stream;

  bool has_arrays() const { return request.v != nullptr; }
  uint64_t bytes() const { return request.count * ElementSize(request.dtype); }
};

struct KeptTransfers {
  std::shared_ptr<Communicator> comm;
  std::vector<TransferRequest> requests;
  std::shared_ptr<Stream> stream;  // of the first of them
};

struct Group {
  uint32_t depth = 0;
  std::vector<std::function<Fault()>> creations, destructions;
  std::vector<KeptTransfers> transfers;  // one per communicator
  std::vector<KeptOperation> operations;
};

Group& ThisGroup() { return ThreadValue<Group>::Get(); }

// Each in a thread of its own: creations wait for each other.
Fault RunTogether(std::vector<std::function<Fault()>>& setups) {
  if (setups.empty()) return Fault::None();
  std::vector<std::thread> threads(setups.size());
  std::vector<Fault> faults(setups.size());
  for (size_t i = 0; i < setups.size(); i++) {
    Fault f = StartQuietThread([&, i] { faults[i] = setups[i](); }, &threads[i]);
    if (f) faults[i] = std::move(f);
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  for (Fault& f : faults) {
    if (f) return std::move(f);
  }
  return Fault::None();
}

// All are done, whatever becomes of some; the first fault is the group's.
Fault RunGroup(Group group) {
  Fault first = RunTogether(group.creations);
  const auto note = [&first](Fault f) {
    if (f && !first) first = std::move(f);
  };
  // Transfers of a communicator are one batch: their order cannot block.
  for (KeptTransfers& t : group.transfers)
    note(t.comm->SubmitTransfers(CallId::HcclBatchSendRecv, t.requests, t.stream)
             .SaidBy(t.comm->speaker()));
  // The order is the same on all ranks, since sizes are.
  std::stable_sort(group.operations.begin(), group.operations.end(),
                   [](const KeptOperation& a, const KeptOperation& b) {
                     if (a.has_arrays() != b.has_arrays()) return b.has_arrays();
                     return !a.has_arrays() && a.bytes() > b.bytes();
                   });
  std::vector<std::shared_ptr<Stream>> streams;
  for (KeptOperation& o : group.operations) {
    note(o.comm->Submit(o.request, o.stream).SaidBy(o.comm->speaker()));
    if (std::find(streams.begin(), streams.end(), o.stream) == streams.end())
      streams.push_back(o.stream);
  }
  for (const std::shared_ptr<Stream>& stream : streams) note(stream->Synchronize(-1));
  // Last: what was called in the group before belongs to communicators that live.
  note(RunTogether(group.destructions));
  return first;
}

std::function<Fault()> InThisContext(std::function<Fault()> setup) {
  Result<std::shared_ptr<Context>> context = Context::Current();
  return [setup = std::move(setup), context = context.ok() ? *context : nullptr]() -> Fault {
    if (context) Context::SetCurrent(context);
    return setup();
  };
}

}  // namespace

bool InGroup() { return ThisGroup().depth > 0; }

void KeepCreation(std::function<Fault()> setup) {
  ThisGroup().creations.push_back(InThisContext(std::move(setup)));
}

void KeepDestruction(std::function<Fault()> setup) {
  ThisGroup().destructions.push_back(InThisContext(std::move(setup)));
}

void KeepOperation(std::shared_ptr<Communicator> comm, const OpRequest& request,
                   std::shared_ptr<Stream> stream) {
  ThisGroup().operations.push_back({std::move(comm), request, std::move(stream)});
}

void KeepTransfers(std::shared_ptr<Communicator> comm, const std::vector<TransferRequest>& requests,
                   std::shared_ptr<Stream> stream) {
  for (KeptTransfers& t : ThisGroup().transfers) {
    if (t.comm != comm) continue;
    t.requests.insert(t.requests.end(), requests.begin(), requests.end());
    return;
  }
  ThisGroup().transfers.push_back({std::move(comm), requests, std::move(stream)});
}

}  // namespace hcclrun

extern "C" {

HcclResult HcclGroupStart(void) {
  return Guarded(CallId::HcclGroupStart, []() -> Fault {
    ThisGroup().depth++;
    return Fault::None();
  });
}

HcclResult HcclGroupEnd(void) {
  return Guarded(CallId::HcclGroupEnd, []() -> Fault {
    if (ThisGroup().depth == 0)
      return Fault(FaultKind::kNotSupported, "HcclGroupEnd without HcclGroupStart in this thread");
    if (--ThisGroup().depth > 0) return Fault::None();
    return RunGroup(std::exchange(ThisGroup(), {}));
  });
}

// Not one of the calls that reports name: nothing can go wrong but the pointer.
HcclResult HcclGroupStatusGet(bool* isGroupEnabled) {
  if (!isGroupEnabled) return HCCL_E_PTR;
  *isGroupEnabled = InGroup();
  return HCCL_SUCCESS;
}

}  // extern "C"
