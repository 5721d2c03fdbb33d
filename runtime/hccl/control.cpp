// What changes communicators that exist, and the process' settings (semantics D.6-D.8).

#include <atomic>

#include "absl/strings/str_cat.h"
#include "base/raw_value.h"
#include "base/settings.h"
#include "base/soc.h"
#include "comm/comm_table.h"
#include "comm/hccl_env.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

// What HcclSetConfig said; results are always deterministic, so nothing depends on it.
std::atomic<int32_t> g_deterministic{0};

Fault Suspend(HcclComm comm, bool suspended) {
  if (!comm) return Null("comm");
  Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
  if (!c.ok()) return c.fault();
  (*c)->suspended.store(suspended, std::memory_order_relaxed);  // orders nothing
  return Fault::None();
}

}  // namespace

extern "C" {

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  return Guarded(CallId::HcclSetConfig, [&]() -> Fault {
    if (HcclEnv::Get().fault) return HcclEnv::Get().fault;
    if (RawValue(config) != HCCL_DETERMINISTIC || HcclEnv::Get().deterministic_set)
      return Fault::None();
    const int32_t value = configValue.value;
    if (value < 0 || value > 2)
      return Fault(FaultKind::kBadValue, {uint64_t(int64_t{value}), 0, 1}, "configValue");
    if (value == 2 && !IsAtlasA2(Settings::Get().soc))
      return Fault(FaultKind::kNotSupported, "HCCL_DETERMINISTIC = 2 (strict)");
    g_deterministic.store(value, std::memory_order_relaxed);
    return Fault::None();
  });
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  return Guarded(CallId::HcclGetConfig, [&]() -> Fault {
    if (!configValue) return Null("configValue");
    if (HcclEnv::Get().fault) return HcclEnv::Get().fault;
    if (RawValue(config) == HCCL_DETERMINISTIC) {
      configValue->value = HcclEnv::Get().deterministic_set
                               ? HcclEnv::Get().deterministic
                               : g_deterministic.load(std::memory_order_relaxed);
    }
    return Fault::None();
  });
}

HcclResult HcclCommSuspend(HcclComm comm) {
  return Guarded(CallId::HcclCommSuspend, [&] { return Suspend(comm, true); });
}

HcclResult HcclCommResume(HcclComm comm) {
  return Guarded(CallId::HcclCommResume, [&] { return Suspend(comm, false); });
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
                                    uint32_t nRanks) {
  return Guarded(CallId::HcclCommWorkingDevNicSet, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!ranks) return Null("ranks");
    if (!useBackup) return Null("useBackup");
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    const uint32_t size = (*c)->size();
    if (nRanks > size) return Fault(FaultKind::kBadValue, {nRanks, 0, size}, "nRanks");
    for (uint32_t i = 0; i < nRanks; i++) {
      if (ranks[i] >= size) {
        return Fault(FaultKind::kBadValue, {ranks[i], 0, size - 1},
                     absl::StrCat("ranks[", i, "]"));
      }
    }
    return Fault::None();
  });
}

HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm) {
  return Guarded(CallId::HcclCommGetHandleWithName, [&]() -> Fault {
    if (!commName) return Null("commName");
    if (!comm) return Null("comm");
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    void* handle = FindByName(commName, (*device)->id());
    if (!handle) return Fault(FaultKind::kNameTaken, {1}, commName);
    *comm = handle;
    return Fault::None();
  });
}

}  // extern "C"
