// Communicators from rank tables (semantics D.4): the rank exists at once, and meets the others
// when an operation needs them.

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/settings.h"
#include "base/speaker.h"
#include "comm/comm_table.h"
#include "comm/hccl_env.h"
#include "comm/rank_table.h"
#include "comm/root_info.h"
#include "hccl/config.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

constexpr char kWorldName[] = "hccl_world_group";

Fault Make(const char* path, uint32_t rank, const HcclCommConfig* config, bool with_config,
           HcclComm* out) {
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  if (!path) return Null("clusterInfo");
  if (!out) return Null("comm");
  *out = nullptr;
  const HcclEnv& env = HcclEnv::Get();
  if (env.fault) return env.fault;
  if (with_config && !config) return Null("config");
  Result<CommConfig> read = ReadConfig(config);
  if (!read.ok()) return read.fault();
  Result<nlohmann::json> file = LoadRankTable(path, Settings::Get().rank_table_wait_ms);
  if (!file.ok()) return file.fault();
  const int32_t id = (*device)->id();
  if (HasRankTableCommunicator(id)) {
    return Fault(FaultKind::kRankTable,
                 absl::StrCat(path, ": a communicator of a rank table is alive on device ", id,
                              "; destroy it before another one is made"))
        .WithCode(HCCL_E_UNAVAIL);
  }
  if (read->name.empty()) read->name = kWorldName;
  if (Fault f = CheckNameFree(read->name, id)) return f;
  Result<RankTable> table = ParseRankTable(*file, path, env.inter_hccs_disable);
  if (!table.ok()) return table.fault();
  const uint32_t ranks = static_cast<uint32_t>(table->devices.size());
  if (rank >= ranks) return Fault(FaultKind::kBadValue, {rank, 0, ranks - 1}, "rank");
  const SpeaksFor scope({rank, ranks, read->name});
  if (table->devices[rank] != Device::PhysicalId(id)) {
    return Fault(FaultKind::kRankTable,
                 absl::StrCat(path, ": device_id of rank ", rank, ": it is ", table->devices[rank],
                              ", but this thread's current device is ", Device::PhysicalId(id),
                              "; set that device or change the table"))
        .WithCode(HCCL_E_UNAVAIL)
        .SaidBy(SpeakerOfThread());
  }
  read->from_rank_table = true;
  read->places = std::move(table->places);
  Result<std::shared_ptr<Communicator>> comm = Communicator::CreateUnmet(
      *device, DeriveRootInfo(absl::StrCat(KeyOfRankTable(*file), " ", read->name)), ranks, rank,
      *read, {});
  if (!comm.ok()) return std::move(comm.fault()).SaidBy(SpeakerOfThread());
  *out = AddCommunicator(std::move(*comm));
  return Fault::None();
}

Fault MakeFromTable(const char* path, uint32_t rank, const HcclCommConfig* config, bool with_config,
                    HcclComm* out) {
  const SpeaksFor scope({rank, kSomeRanks, ""});
  Fault fault = Make(path, rank, config, with_config, out);
  if (fault) fault.SaidBy(SpeakerOfThread());
  return fault;
}

}  // namespace

extern "C" {

HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
  return Guarded(CallId::HcclCommInitClusterInfo,
                 [&] { return MakeFromTable(clusterInfo, rank, nullptr, false, comm); });
}

HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank,
                                         HcclCommConfig* config, HcclComm* comm) {
  return Guarded(CallId::HcclCommInitClusterInfoConfig,
                 [&] { return MakeFromTable(clusterInfo, rank, config, true, comm); });
}

}  // extern "C"
