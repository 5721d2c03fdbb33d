// HCCL communicators: creation, queries, destruction (semantics D).

#include <cstring>
#include <vector>

#include "base/raw_value.h"
#include "base/speaker.h"
#include "comm/comm_table.h"
#include "comm/hccl_env.h"
#include "comm/root_info.h"
#include "hccl/config.h"
#include "hccl/group.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"
#include "hccl/state_callbacks.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

Fault Make(uint32_t ranks, const HcclRootInfo* blob, uint32_t rank, const HcclCommConfig* config,
           bool with_config, HcclComm* out) {
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  if (ranks == 0 || ranks > kMaxRanks)
    return Fault(FaultKind::kBadValue, {ranks, 1, kMaxRanks}, "nRanks");
  if (rank >= ranks) return Fault(FaultKind::kBadValue, {rank, 0, ranks - 1}, "rank");
  if (!out) return Null("comm");
  if (!blob) return Null("rootInfo");
  if (HcclEnv::Get().fault) return HcclEnv::Get().fault;
  if (with_config && !config) return Null("config");
  Result<CommConfig> read = ReadConfig(config);
  if (!read.ok()) return read.fault();
  Result<RootInfo> info = ParseRootInfo(blob);
  if (!info.ok()) return info.fault();
  if (Fault f = CheckNameFree(read->name.empty() ? info->name : read->name, (*device)->id()))
    return f;
  Result<std::shared_ptr<Communicator>> comm = Communicator::Create(*info, ranks, rank, *read);
  if (!comm.ok()) return comm.fault();
  *out = AddCommunicator(std::move(*comm));
  return Fault::None();
}

Fault MakeCommunicator(uint32_t ranks, const HcclRootInfo* blob, uint32_t rank,
                       const HcclCommConfig* config, bool with_config, HcclComm* out) {
  const SpeaksFor scope(rank < ranks ? Speaker{rank, ranks, ""} : Speaker());
  Fault fault = Make(ranks, blob, rank, config, with_config, out);
  if (fault) fault.SaidBy(scope.number());
  return fault;
}

// In a group: what the pointers point to may be gone when the group ends.
Fault KeepMaking(uint32_t ranks, const HcclRootInfo* blob, uint32_t rank,
                 const HcclCommConfig* config, bool with_config, HcclComm* out) {
  if (!out) return Null("comm");
  if (!blob) return Null("rootInfo");
  if (with_config && !config) return Null("config");
  const char* bytes = reinterpret_cast<const char*>(blob);
  KeepCreation([=, info = std::vector<char>(bytes, bytes + sizeof(RootInfo)),
                copy = config ? CopyConfig(*config) : std::vector<char>()] {
    return MakeCommunicator(
        ranks, reinterpret_cast<const HcclRootInfo*>(info.data()), rank,
        reinterpret_cast<const HcclCommConfig*>(copy.empty() ? nullptr : copy.data()), with_config,
        out);
  });
  return Fault::None();
}

Fault DestroyCommunicator(HcclComm comm) {
  Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
  if (!c.ok()) return c.fault();
  TellStateCallbacks(comm, HCCL_COMM_STATE_PHASE_DESTROY_PRE);
  if (Fault f = RemoveCommunicator(comm)) return f;
  // HcclCommInitAll has set the device for it (semantics G.5).
  if ((*c)->config().resets_device) Device::Reset((*c)->device()->id());
  TellStateCallbacks(comm, HCCL_COMM_STATE_PHASE_DESTROY_POST);
  return Fault::None();
}

}  // namespace

extern "C" {

HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  return Guarded(CallId::HcclGetRootInfo, [&]() -> Fault {
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    if (!rootInfo) return Null("rootInfo");
    if (HcclEnv::Get().fault) return HcclEnv::Get().fault;
    Result<RootInfo> info = CreateRootInfo((*device)->id());
    if (!info.ok()) return info.fault();
    memcpy(rootInfo, &*info, sizeof(RootInfo));
    return Fault::None();
  });
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                HcclComm* comm) {
  return Guarded(CallId::HcclCommInitRootInfo, [&] {
    return InGroup() ? KeepMaking(nRanks, rootInfo, rank, nullptr, false, comm)
                     : MakeCommunicator(nRanks, rootInfo, rank, nullptr, false, comm);
  });
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                      const HcclCommConfig* config, HcclComm* comm) {
  return Guarded(CallId::HcclCommInitRootInfoConfig, [&] {
    return InGroup() ? KeepMaking(nRanks, rootInfo, rank, config, true, comm)
                     : MakeCommunicator(nRanks, rootInfo, rank, config, true, comm);
  });
}

HcclResult HcclCommDestroy(HcclComm comm) {
  return Guarded(CallId::HcclCommDestroy, comm, [&]() -> Fault {
    if (!comm) return Fault::None();
    if (!InGroup()) return DestroyCommunicator(comm);
    KeepDestruction([comm] { return DestroyCommunicator(comm); });
    return Fault::None();
  });
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  return Guarded(
      CallId::HcclGetRankSize, comm,
      [&]() -> Fault {
        if (!comm) return Null("comm");
        if (!rankSize) return Null("rankSize");
        Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
        if (!c.ok()) return c.fault();
        *rankSize = (*c)->size();
        return Fault::None();
      },
      false);
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return Guarded(
      CallId::HcclGetRankId, comm,
      [&]() -> Fault {
        if (!comm) return Null("comm");
        if (!rank) return Null("rank");
        Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
        if (!c.ok()) return c.fault();
        *rank = (*c)->rank();
        return Fault::None();
      },
      false);
}

HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  return Guarded(
      CallId::HcclGetCommName, comm,
      [&]() -> Fault {
        if (!comm) return Null("comm");
        if (!commName) return Null("commName");
        Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
        if (!c.ok()) return c.fault();
        const std::string& name = (*c)->name();
        memcpy(commName, name.c_str(),
               name.size() + 1);  // at most COMM_NAME_MAX_LENGTH with the terminator
        return Fault::None();
      },
      false);
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  return Guarded(
      CallId::HcclGetCommAsyncError, comm,
      [&]() -> Fault {
        if (!comm) return Null("comm");
        if (!asyncError) return Null("asyncError");
        Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
        if (!c.ok()) return c.fault();
        // A time-out is not reported here (semantics D.6).
        Fault fault = (*c)->OutOfUse();
        *asyncError = fault.kind == FaultKind::kExecTimeout
                          ? HCCL_SUCCESS
                          : static_cast<HcclResult>(HcclCodeOf(fault));
        return Fault::None();
      },
      false);
}

uint32_t HcclGetCommConfigCapability(void) { return HCCL_COMM_CONFIG_RESERVED; }

const char* HcclGetErrorString(HcclResult code) {
  const int32_t value = RawValue(code);
  switch (value) {
    case 0:
      return "no error";
    case 1:
      return "parameter error";
    case 2:
      return "empty pointer";
    case 3:
      return "memory error";
    case 4:
      return "internal error";
    case 5:
      return "not support feature";
    case 6:
      return "not found specific resource";
    case 7:
      return "resource unavailable";
    case 8:
      return "call system interface error";
    case 9:
      return "timeout";
    case 10:
      return "open file fail";
    case 11:
      return "tcp connect fail";
    case 12:
      return "roce connect fail";
    case 13:
      return "tcp transfer fail";
    case 14:
      return "roce transfer fail";
    case 15:
      return "call runtime api fail";
    case 16:
      return "call driver api fail";
    case 17:
      return "call profiling api fail";
    case 18:
      return "call cce api fail";
    case 19:
      return "call network api fail";
    case 20:
      return "try again";
    case 21:
      return "error cqe";
    case 22:
      return "error communicator suspending";
    case 23:
      return "retry constraint";
    case 24:
      return "out of memory";
    default:
      return value < 0 || value >= HCCL_E_RESERVED ? "unknown error" : "unknown err";
  }
}

}  // extern "C"
