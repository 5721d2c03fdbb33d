// The zero-copy interface of framework plug-ins (semantics D.10).

#include "comm/zero_copy.h"

#include "base/settings.h"
#include "comm/comm_table.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

uint64_t AddressOf(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// Looks the communicator up; communicators of one rank need nothing done.
template <class Body>
Fault WithRanks(HcclComm comm, Body body) {
  Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
  if (!c.ok()) return c.fault();
  return (*c)->size() == 1 ? Fault::None() : body();
}

}  // namespace

extern "C" {

HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size, size_t, uint64_t) {
  return Guarded(CallId::HcclCommSetMemoryRange, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!baseVirPtr) return Null("baseVirPtr");
    if (!Settings::Get().atlas_a3) {
      return Fault(FaultKind::kNotSupported,
                   "zero-copy memory on another chip than Atlas A3 (HCCLRUN_SOC)");
    }
    return WithRanks(comm, [&] { return ZeroCopyRanges::Get().Set(AddressOf(baseVirPtr), size); });
  });
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) {
  return Guarded(CallId::HcclCommUnsetMemoryRange, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!baseVirPtr) return Null("baseVirPtr");
    return WithRanks(comm, [&] { return ZeroCopyRanges::Get().Unset(AddressOf(baseVirPtr)); });
  });
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size, size_t,
                                      aclrtDrvMemHandle handle, uint64_t) {
  return Guarded(CallId::HcclCommActivateCommMemory, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!virPtr) return Null("virPtr");
    if (!handle) return Null("handle");
    return WithRanks(comm, [&] { return ZeroCopyRanges::Get().Activate(AddressOf(virPtr), size); });
  });
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) {
  return Guarded(CallId::HcclCommDeactivateCommMemory, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!virPtr) return Null("virPtr");
    return WithRanks(comm, [&] { return ZeroCopyRanges::Get().Deactivate(AddressOf(virPtr)); });
  });
}

}  // extern "C"
