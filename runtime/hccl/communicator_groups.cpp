// Communicators made of several ranks of one process, or of ranks of another communicator
// (semantics D.6).

#include <atomic>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/not_allowed.h"
#include "base/quiet_thread.h"
#include "base/speaker.h"
#include "comm/comm_table.h"
#include "comm/hccl_env.h"
#include "comm/rendezvous_server.h"
#include "comm/root_info.h"
#include "comm/sub_communicator.h"
#include "hccl/config.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

constexpr uint64_t kNoSubCommunicator = 0xFFFFFFFF;

Fault CheckMembers(const Communicator& parent, const std::vector<uint32_t>& ranks, uint32_t rank) {
  std::set<uint32_t> seen;
  for (size_t i = 0; i < ranks.size(); i++) {
    if (ranks[i] >= parent.size()) {
      return Fault(FaultKind::kBadValue, {ranks[i], 0, parent.size() - 1},
                   absl::StrCat("rankIds[", i, "]"));
    }
    if (!seen.insert(ranks[i]).second)
      return NotAllowed(absl::StrCat("rankIds[", i, "] is ", ranks[i],
                                     " like an earlier entry; name each rank once"));
  }
  if (ranks[rank] != parent.rank()) {
    return Fault(FaultKind::kBadValue, {ranks[rank], parent.rank(), parent.rank()},
                 absl::StrCat("rankIds[subCommRankId = ", rank, "], the own rank in the parent,"));
  }
  return Fault::None();
}

Fault MakeSubCommunicator(HcclComm* comm, uint32_t rankNum, const uint32_t* rankIds, uint64_t id,
                          uint32_t rank, const HcclCommConfig* config, HcclComm* out) {
  if (!out) return Null("subComm");
  if (!rankIds && id == kNoSubCommunicator) {  // the caller is no member
    *out = nullptr;
    return Fault::None();
  }
  if (!rankIds) {
    return Fault(FaultKind::kNullArgument,
                 "rankIds (a rank that is no member passes subCommId 0xFFFFFFFF too)")
        .WithCode(HCCL_E_PARA);
  }
  if (id == kNoSubCommunicator)
    return NotAllowed("subCommId is 0xFFFFFFFF, which only ranks that are no members pass");
  if (rankNum == 0 || rankNum > kMaxRanks)
    return Fault(FaultKind::kBadValue, {rankNum, 1, kMaxRanks}, "rankNum");
  if (rank >= rankNum) return Fault(FaultKind::kBadValue, {rank, 0, rankNum - 1}, "subCommRankId");
  if (!config) return Null("config");
  if (!comm || !*comm) return Null("comm");
  Result<std::shared_ptr<Communicator>> parent = FindCommunicator(*comm);
  if (!parent.ok()) return parent.fault();
  if (HcclEnv::Get().fault) return HcclEnv::Get().fault;
  Result<CommConfig> read = ReadConfig(config);
  if (!read.ok()) return read.fault();
  const std::vector<uint32_t> ranks(rankIds, rankIds + rankNum);
  if (Fault f = CheckMembers(**parent, ranks, rank)) return f;
  const std::string name = read->name.empty() ? SubCommunicatorName(**parent, id) : read->name;
  if (Fault f = CheckNameFree(name, (*parent)->device()->id())) return f;
  Result<std::shared_ptr<Communicator>> sub =
      CreateSubCommunicator(*parent, ranks, id, rank, *read);
  if (!sub.ok()) return sub.fault();
  *out = AddCommunicator(std::move(*sub));
  return Fault::None();
}

// One rank of HcclCommInitAll, in a thread of its own. The ranks go on only when all have a device:
// otherwise some would wait for one that never comes.
Result<std::shared_ptr<Communicator>> MakeRank(const RootInfo& info, uint32_t ranks, uint32_t rank,
                                               int32_t device, std::latch* have_devices,
                                               std::atomic<bool>* one_has_none) {
  Fault no_device = Device::Set(device);
  if (no_device) one_has_none->store(true, std::memory_order_relaxed);
  have_devices->arrive_and_wait();  // orders the store before the load
  if (no_device) return no_device;
  if (one_has_none->load(std::memory_order_relaxed)) {
    Device::Reset(device);
    return Fault(FaultKind::kRendezvousRefused, "another rank of this call has no device");
  }
  const SpeaksFor scope({rank, ranks, ""});
  Result<CommConfig> config = ReadConfig(nullptr);
  if (!config.ok()) return config.fault();  // as do all others
  config->resets_device = true;
  Result<std::shared_ptr<Communicator>> comm = Communicator::Create(info, ranks, rank, *config);
  if (comm.ok()) return comm;
  // The others may wait for it.
  CancelRendezvous(info, absl::StrCat("rank ", rank, " of this call failed"));
  Device::Reset(device);
  return comm;
}

Fault MakeAll(uint32_t ndev, const int32_t* devices, HcclComm* comms) {
  Result<Device*> current = Device::Current();
  if (!current.ok()) return current.fault();
  if (ndev == 0 || ndev > kMaxRanks)
    return Fault(FaultKind::kBadValue, {ndev, 1, kMaxRanks}, "ndev");
  if (!devices) return Null("devices");
  if (!comms) return Null("comms");
  std::set<int32_t> seen;
  for (uint32_t i = 0; i < ndev; i++) {
    if (Fault f = Device::CheckId(devices[i])) return f;
    if (!seen.insert(devices[i]).second) {
      return NotAllowed(absl::StrCat("devices[", i, "] is ", devices[i],
                                     " like an earlier entry; name each device once"));
    }
  }
  if (HcclEnv::Get().fault) return HcclEnv::Get().fault;
  Result<RootInfo> info = CreateRootInfo((*current)->id());
  if (!info.ok()) return info.fault();
  std::vector<Result<std::shared_ptr<Communicator>>> made(
      ndev, Fault(FaultKind::kInternal, "no thread for the rank"));
  std::vector<std::thread> threads(ndev);
  std::latch have_devices(ndev);
  std::atomic<bool> one_has_none{false};
  Fault fault;
  for (uint32_t i = 0; i < ndev && !fault; i++) {
    fault = StartQuietThread(
        [&, i] {
          made[i] = MakeRank(*info, ndev, i, devices[i], &have_devices, &one_has_none);
        },
        &threads[i]);
    if (!fault) continue;
    one_has_none.store(true, std::memory_order_relaxed);
    have_devices.count_down(ndev - i);
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  // The cause before what follows from it.
  for (bool cause : {true, false}) {
    for (auto& comm : made) {
      if (comm.ok() || fault) continue;
      const FaultKind kind = comm.fault().kind;
      if (!cause || (kind != FaultKind::kRanksMissing && kind != FaultKind::kRendezvousRefused))
        fault = comm.fault();
    }
  }
  if (fault) {
    for (uint32_t i = 0; i < ndev; i++) {
      if (!made[i].ok()) continue;
      (*made[i])->Destroy();
      Device::Reset(devices[i]);
    }
    return std::move(fault).WithCode(HCCL_E_INTERNAL);
  }
  for (uint32_t i = 0; i < ndev; i++) comms[i] = AddCommunicator(std::move(*made[i]));
  return Fault::None();
}

}  // namespace

extern "C" {

HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds,
                                   uint64_t subCommId, uint32_t subCommRankId,
                                   HcclCommConfig* config, HcclComm* subComm) {
  return Guarded(CallId::HcclCreateSubCommConfig, comm ? *comm : nullptr, [&] {
    return MakeSubCommunicator(comm, rankNum, rankIds, subCommId, subCommRankId, config, subComm);
  });
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  return Guarded(CallId::HcclCommInitAll, [&] { return MakeAll(ndev, devices, comms); });
}

}  // extern "C"
