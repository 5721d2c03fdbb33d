// The form without a version, "2.0", and what all forms have in common.

#include "comm/rank_table_forms.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "comm/control_block.h"
#include "comm/json_fields.h"

namespace hcclrun {

RankTable Arrange(const std::vector<RankEntry>& entries, JsonFields* fields) {
  RankTable table;
  if (fields->fault()) return table;
  if (entries.size() > kMaxRanks) {
    fields->Illegal("ranks",
                    absl::StrCat("there are ", entries.size(), "; at most ", kMaxRanks, " work here"),
                    JsonFields::kNotSupported);
    return table;
  }
  std::vector<const RankEntry*> by_rank(entries.size());
  std::map<std::pair<uint32_t, int64_t>, const RankEntry*> by_device;
  for (const RankEntry& e : entries) {
    if (e.rank >= int64_t(entries.size())) {
      fields->Illegal(e.where + ".rank_id",
                      absl::StrCat("it is ", e.rank, ", but there are ", entries.size(),
                                   " ranks; rank ids go from 0 without gaps"));
      return table;
    }
    if (by_rank[e.rank]) {
      fields->Illegal(e.where + ".rank_id", absl::StrCat("it is ", e.rank, ", as in ",
                                                         by_rank[e.rank]->where,
                                                         "; each rank id is given once"));
      return table;
    }
    by_rank[e.rank] = &e;
    if (!by_device.insert({{e.server, e.device}, &e}).second) {
      fields->Illegal(e.where + ".device_id",
                      absl::StrCat("it is ", e.device, ", as in ",
                                   by_device[{e.server, e.device}]->where,
                                   "; each device of a server is given once"));
      return table;
    }
  }
  std::set<uint32_t> left;  // servers whose ranks are over
  for (size_t r = 0; r < by_rank.size(); r++) {
    const RankEntry& e = *by_rank[r];
    if (r > 0 && e.server != by_rank[r - 1]->server) left.insert(by_rank[r - 1]->server);
    if (left.count(e.server)) {
      fields->Illegal(e.where + ".rank_id",
                      absl::StrCat("it is ", r, ", but ranks of another server lie between this "
                                   "and lower ranks of its server; a server's ranks follow each "
                                   "other"));
      return table;
    }
    table.devices.push_back(static_cast<int32_t>(e.device));
    table.places.server.push_back(e.server);
    table.places.pod.push_back(e.pod);
  }
  return table;
}

// group_list[].instance_list[].devices[]: one rank per device, numbered by the instance's rank_id
// or, where instances have none, in the order of the table.
Result<RankTable> ParseStandardTable(const nlohmann::json& table, const std::string& origin) {
  JsonFields fields(origin, JsonFields::kStrings);
  std::vector<RankEntry> entries;
  std::map<std::string, uint32_t> servers;
  const nlohmann::json* groups = fields.List(table, "", "group_list", true);
  if (!groups) return fields.fault();
  const int64_t count = fields.Number(table, "", "group_count", false, 1, INT32_MAX);
  if (count >= 0 && count != int64_t(groups->size())) {
    fields.Illegal("group_count", absl::StrCat("it is ", count, ", but group_list has ",
                                               groups->size(), " elements"));
  }
  if (fields.Has(table, "para_plane_nic_location")) {
    const std::string location = fields.Text(table, "", "para_plane_nic_location", true, 64);
    if (!fields.fault() && location != "device" && location != "host") {
      fields.Illegal("para_plane_nic_location",
                     absl::StrCat("it is \"", location, "\"; it must be \"device\" or \"host\""));
    }
  }
  const int64_t nics = fields.Number(table, "", "para_plane_nic_num", false, 1, INT32_MAX);
  const nlohmann::json* names = fields.List(table, "", "para_plane_nic_name", false);
  if (names && nics >= 0 && nics != int64_t(names->size())) {
    fields.Illegal("para_plane_nic_num", absl::StrCat("it is ", nics, ", but para_plane_nic_name has ",
                                                      names->size(), " elements"));
  }
  // Only the first group is the world; others are for frameworks.
  const std::string group = "group_list[0]";
  const nlohmann::json* instances = fields.List((*groups)[0], group, "instance_list", true);
  if (!instances) return fields.fault();
  const int64_t instance_count =
      fields.Number((*groups)[0], group, "instance_count", false, 1, INT32_MAX);
  if (instance_count >= 0 && instance_count != int64_t(instances->size())) {
    fields.Illegal(group + ".instance_count",
                   absl::StrCat("it is ", instance_count, ", but instance_list has ",
                                instances->size(), " elements"));
  }
  for (size_t i = 0; i < instances->size() && !fields.fault(); i++) {
    const nlohmann::json& instance = (*instances)[i];
    const std::string where = JsonFields::Path(group, "instance_list", i);
    const std::string server = fields.Text(instance, where, "server_id", true, 64);
    const int64_t first =
        fields.Number(instance, where, "rank_id", false, 0, INT32_MAX, int64_t(entries.size()));
    const nlohmann::json* devices = fields.List(instance, where, "devices", true);
    for (size_t d = 0; devices && d < devices->size() && !fields.fault(); d++) {
      RankEntry e;
      e.where = JsonFields::Path(where, "devices", d);
      e.device = fields.Number((*devices)[d], e.where, "device_id", true, 0, INT32_MAX);
      e.rank = first + int64_t(d);
      e.server = servers.try_emplace(server, uint32_t(servers.size())).first->second;
      fields.Text((*devices)[d], e.where, "device_ip", false, 1024);
      entries.push_back(std::move(e));
    }
  }
  RankTable result = Arrange(entries, &fields);
  if (fields.fault()) return fields.fault();
  return result;
}

namespace {

constexpr int64_t kLargestId = 64, kLargestPort = 65535;

void CheckAddress(const nlohmann::json& address, const std::string& where, JsonFields* fields) {
  const std::string type = fields->Text(address, where, "addr_type", true, 16);
  if (!fields->fault() && type != "EID" && type != "IPV4" && type != "IPV6") {
    fields->Illegal(where + ".addr_type",
                    absl::StrCat("it is \"", type, "\"; it must be EID, IPV4 or IPV6"));
  }
  fields->Text(address, where, "addr", true, 256);
  const nlohmann::json* ports = fields->List(address, where, "ports", false);
  if (ports && ports->size() > 16) {
    fields->Illegal(where + ".ports", absl::StrCat("it has ", ports->size(),
                                                   " elements; at most 16 are allowed"));
  }
}

// A rank's networks. The lowest is the server that it shares with its neighbours: its name.
std::string CheckLevels(const nlohmann::json& levels, const std::string& where,
                        JsonFields* fields) {
  std::string server;
  if (levels.size() > 8) {
    fields->Illegal(where, absl::StrCat("it has ", levels.size(), " elements; at most 8 are allowed"));
  }
  int64_t previous = -1;
  for (size_t i = 0; i < levels.size() && !fields->fault(); i++) {
    const std::string at = absl::StrCat(where, "[", i, "]");
    const int64_t layer = fields->Number(levels[i], at, "net_layer", true, 0, 7);
    if (!fields->fault() && (layer <= previous || (i == 0 && layer != 0))) {
      fields->Illegal(at + ".net_layer",
                      absl::StrCat("it is ", layer, "; layers start at 0 and ascend"));
    }
    previous = layer;
    const std::string instance = fields->Text(levels[i], at, "net_instance_id", true, 1024);
    if (i == 0) server = instance;
    const std::string type = fields->Text(levels[i], at, "net_type", true, 64);
    if (!fields->fault() && type != "TOPO_FILE_DESC" && (type != "CLOS" || layer == 0)) {
      fields->Illegal(at + ".net_type",
                      absl::StrCat("it is \"", type, "\"; it must be TOPO_FILE_DESC",
                                   layer == 0 ? " in layer 0" : " or CLOS"));
    }
    const nlohmann::json* addresses = fields->List(levels[i], at, "rank_addr_list", true);
    if (addresses && addresses->size() > 24) {
      fields->Illegal(at + ".rank_addr_list", absl::StrCat("it has ", addresses->size(),
                                                           " elements; at most 24 are allowed"));
    }
    for (size_t a = 0; addresses && a < addresses->size() && !fields->fault(); a++)
      CheckAddress((*addresses)[a], JsonFields::Path(at, "rank_addr_list", a), fields);
  }
  return server;
}

}  // namespace

Result<RankTable> ParseLayeredTable(const nlohmann::json& table, const std::string& origin) {
  JsonFields fields(origin, JsonFields::kNumbers);
  std::vector<RankEntry> entries;
  std::map<std::string, uint32_t> servers;
  const int64_t count = fields.Number(table, "", "rank_count", true, 1, 65536);
  const nlohmann::json* ranks = fields.List(table, "", "rank_list", true);
  if (ranks && !fields.fault() && count != int64_t(ranks->size())) {
    fields.Illegal("rank_count", absl::StrCat("it is ", count, ", but rank_list has ",
                                              ranks->size(), " elements"));
  }
  for (size_t i = 0; ranks && i < ranks->size() && !fields.fault(); i++) {
    const nlohmann::json& rank = (*ranks)[i];
    RankEntry e;
    e.where = JsonFields::Path("", "rank_list", i);
    e.rank = fields.Number(rank, e.where, "rank_id", true, 0, 65535);
    fields.Number(rank, e.where, "local_id", true, 0, kLargestId);
    e.device = fields.Number(rank, e.where, "device_id", true, 0, kLargestId);
    fields.Number(rank, e.where, "device_port", false, 1, kLargestPort);
    fields.Number(rank, e.where, "host_port", false, 1, kLargestPort);
    const nlohmann::json* levels = fields.List(rank, e.where, "level_list", true);
    if (!levels) break;
    const std::string server =
        CheckLevels(*levels, JsonFields::Path(e.where, "level_list"), &fields);
    e.server = servers.try_emplace(server, uint32_t(servers.size())).first->second;
    entries.push_back(std::move(e));
  }
  RankTable result = Arrange(entries, &fields);
  if (fields.fault()) return fields.fault();
  return result;
}

}  // namespace hcclrun
