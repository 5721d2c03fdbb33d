// What changes communicators that exist, and the process' settings (semantics D.6-D.8).

#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/raw_value.h"
#include "base/settings.h"
#include "base/soc.h"
#include "comm/comm_table.h"
#include "comm/hccl_env.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"
#include "hccl/state_callbacks.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

static_assert(int(Expansion::kAiCpu) == HCCL_OP_EXPANSION_MODE_AI_CPU &&
              int(Expansion::kAiv) == HCCL_OP_EXPANSION_MODE_AIV &&
              int(Expansion::kHost) == HCCL_OP_EXPANSION_MODE_HOST &&
              int(Expansion::kHostTs) == HCCL_OP_EXPANSION_MODE_HOST_TS &&
              int(Expansion::kAivOnly) == HCCL_OP_EXPANSION_AIV_ONLY);

namespace {

// What HcclSetConfig said; results are always deterministic, so nothing depends on it.
std::atomic<int32_t> g_deterministic{0};

Fault Suspend(HcclComm comm, bool suspended) {
  if (!comm) return Null("comm");
  Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
  if (!c.ok()) return c.fault();
  if (!suspended) TellStateCallbacks(comm, HCCL_COMM_STATE_PHASE_RESUME_PRE);
  (*c)->suspended.store(suspended, std::memory_order_relaxed);  // orders nothing
  if (!suspended) TellStateCallbacks(comm, HCCL_COMM_STATE_PHASE_RESUME_POST);
  return Fault::None();
}

HcclCommStatus StatusOf(const Communicator& comm) {
  if (comm.OutOfUse()) return HCCL_COMM_STATUS_INVALID;
  return comm.suspended.load(std::memory_order_relaxed) ? HCCL_COMM_STATUS_SUSPENDING
                                                        : HCCL_COMM_STATUS_READY;
}

// Writes `bytes` bytes of an answer.
Fault GiveInfo(const void* answer, uint64_t bytes, uint32_t room, void* info) {
  if (room < bytes) return Fault(FaultKind::kBadValue, {room, bytes, UINT32_MAX}, "infoLen");
  memcpy(info, answer, bytes);
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
  return Guarded(CallId::HcclCommSuspend, comm, [&] { return Suspend(comm, true); });
}

HcclResult HcclCommResume(HcclComm comm) {
  return Guarded(CallId::HcclCommResume, comm, [&] { return Suspend(comm, false); });
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
                                    uint32_t nRanks) {
  return Guarded(CallId::HcclCommWorkingDevNicSet, comm, [&]() -> Fault {
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

HcclResult HcclCommGetStatus(const char* commId, HcclCommStatus* status) {
  return Guarded(
      CallId::HcclCommGetStatus,
      [&]() -> Fault {
        if (!commId) return Null("commId");
        if (!status) return Null("status");
        *status = HCCL_COMM_STATUS_INVALID;
        Result<Device*> device = Device::Current();
        if (!device.ok()) return device.fault();
        Result<std::shared_ptr<Communicator>> c =
            FindCommunicator(FindByName(commId, (*device)->id()));
        if (!c.ok()) return Fault(FaultKind::kNameTaken, {1}, commId);
        *status = StatusOf(**c);
        return Fault::None();
      },
      false);
}

HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void* info) {
  return Guarded(
      CallId::HcclConfigGetInfo, comm,
      [&]() -> Fault {
        if (!comm) return Null("comm");
        if (!info) return Null("info");
        Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
        if (!c.ok()) return c.fault();
        const CommConfig& config = (*c)->config();
        switch (const int32_t type = RawValue(cfgType)) {
          case HCCL_CONFIG_TYPE_OP_EXPANSION_MODE: {
            const auto mode = static_cast<HcclConfigTypeOpExpansionMode>(config.expansion);
            return GiveInfo(&mode, sizeof mode, infoLen, info);
          }
          case HCCL_CONFIG_TYPE_HCCL_ALGO:
            return GiveInfo(config.algorithm.c_str(), config.algorithm.size() + 1, infoLen, info);
          default:
            return Fault(FaultKind::kBadValue,
                         {uint64_t(int64_t{type}), HCCL_CONFIG_TYPE_OP_EXPANSION_MODE,
                          HCCL_CONFIG_TYPE_HCCL_ALGO},
                         "cfgType");
        }
      },
      false);
}

}  // extern "C"
