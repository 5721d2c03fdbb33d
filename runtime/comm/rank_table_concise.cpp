// Versions "1.0" and "1.2" (semantics D.5): server_list[].device[], and with "1.2"
// super_pod_list[].

#include <arpa/inet.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "comm/json_fields.h"
#include "comm/rank_table_forms.h"

namespace hcclrun {
namespace {

using Json = nlohmann::json;
constexpr int64_t kLargestPort = 65535;
constexpr size_t kLongestServerId = 64, kLongestAddress = 1024;

// AF_INET, AF_INET6, or 0.
int FamilyOf(const std::string& address) {
  unsigned char bytes[16];
  for (int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, address.c_str(), bytes) == 1) return family;
  }
  return 0;
}

struct Device {
  std::string where;
  size_t server;
  int64_t device = 0, rank = 0, port = 0, super_id = -1;
  std::vector<std::string> addresses;
  std::string backup_address;
  int64_t backup_port = -1;
};

class Parser {
 public:
  Parser(const std::string& origin, bool superpods, bool inter_hccs_disable)
      : fields_(origin, JsonFields::kStrings),
        superpods_(superpods),
        inter_hccs_disable_(inter_hccs_disable) {}

  Result<RankTable> Parse(const Json& table) {
    Servers(table);
    if (superpods_ && fields_.Has(table, "super_pod_list")) Pods(table);
    for (const Device& d : devices_) CheckBackup(d);
    SuperIds();
    std::vector<RankEntry> entries;
    for (const Device& d : devices_) {
      RankEntry e;
      e.rank = d.rank;
      e.device = d.device;
      e.server = static_cast<uint32_t>(d.server);
      e.pod = pods_.empty() ? 0 : pods_[d.server];
      e.where = d.where;
      entries.push_back(std::move(e));
    }
    RankTable result = Arrange(entries, &fields_);
    if (fields_.fault()) return fields_.fault();
    if (NeedAddresses()) {
      for (const Device& d : devices_) {
        if (d.addresses.empty()) fields_.Missing(d.where, "device_ip");
      }
    }
    if (fields_.fault()) return fields_.fault();
    return result;
  }

 private:
  bool Ok() const { return !fields_.fault(); }

  void Servers(const Json& table) {
    const Json* servers = fields_.List(table, "", "server_list", true);
    const int64_t count = fields_.Number(table, "", "server_count", false, 1, INT32_MAX);
    if (!servers || !Ok()) return;
    if (count >= 0 && count != int64_t(servers->size())) {
      fields_.Illegal("server_count", absl::StrCat("it is ", count, ", but server_list has ",
                                                   servers->size(), " elements"));
    }
    for (size_t s = 0; s < servers->size() && Ok(); s++) {
      const Json& server = (*servers)[s];
      const std::string where = JsonFields::Path("", "server_list", s);
      const std::string id = fields_.Text(server, where, "server_id", true, kLongestServerId);
      if (Ok() && !server_ids_.emplace(id, s).second)
        fields_.Illegal(where + ".server_id",
                        absl::StrCat("\"", id, "\" is the id of an earlier server; ids are unique"));
      if (fields_.Has(server, "host_ip"))
        OneFamily(where + ".host_ip", fields_.Text(server, where, "host_ip", true, kLongestAddress),
                  &host_family_);
      const Json* devices = fields_.List(server, where, "device", true);
      for (size_t d = 0; devices && d < devices->size() && Ok(); d++)
        OneDevice((*devices)[d], JsonFields::Path(where, "device", d), s);
    }
  }

  void OneDevice(const Json& device, const std::string& where, size_t server) {
    Device d;
    d.where = where;
    d.server = server;
    d.device = fields_.Number(device, where, "device_id", true, 0, INT32_MAX);
    d.rank = fields_.Number(device, where, "rank_id", true, 0, INT32_MAX);
    if (fields_.Has(device, "device_ip")) {
      const std::string list = fields_.Text(device, where, "device_ip", true, kLongestAddress);
      for (absl::string_view part : absl::StrSplit(list, ',')) {
        const std::string address(part);
        OneFamily(where + ".device_ip", address, &device_family_);
        if (Ok() && !addresses_.insert(address).second)
          fields_.Illegal(where + ".device_ip",
                          absl::StrCat(address, " is the address of another device too; device "
                                                "addresses are unique"));
        d.addresses.push_back(address);
      }
    }
    d.port = fields_.Number(device, where, "device_port", false, 1, kLargestPort, 16666);
    fields_.Number(device, where, "host_port", false, 1, kLargestPort);
    fields_.Number(device, where, "device_vnic_port", false, 1, kLargestPort);
    d.backup_port = fields_.Number(device, where, "backup_device_port", false, 1, kLargestPort, 16667);
    if (fields_.Has(device, "backup_device_ip")) {
      int family = device_family_;
      d.backup_address = fields_.Text(device, where, "backup_device_ip", true, kLongestAddress);
      OneFamily(where + ".backup_device_ip", d.backup_address, &family);
    }
    if (superpods_)
      d.super_id = fields_.Number(device, where, "super_device_id", false, 0, UINT32_MAX);
    devices_.push_back(std::move(d));
  }

  // `family` is that of the addresses before, 0 for the first.
  void OneFamily(const std::string& field, const std::string& address, int* family) {
    if (!Ok()) return;
    const int own = FamilyOf(address);
    if (own == 0) {
      fields_.Illegal(field, absl::StrCat("\"", address, "\" is no IPv4 or IPv6 address"));
    } else if (*family != 0 && *family != own) {
      fields_.Illegal(field, absl::StrCat(address, " is of another family than the addresses before; "
                                                   "all are IPv4 or all are IPv6"));
    }
    *family = own;
  }

  // The backup is the other die of the chip: devices 2k and 2k + 1.
  void CheckBackup(const Device& d) {
    if (!Ok() || d.backup_address.empty()) return;
    for (const Device& other : devices_) {
      for (const std::string& address : other.addresses) {
        if (address != d.backup_address) continue;
        if (other.server != d.server || other.device != (d.device ^ 1)) {
          fields_.Illegal(d.where + ".backup_device_ip",
                          absl::StrCat(address, " is of device ", other.device,
                                       "; it must be the other die's, device ", d.device ^ 1));
        } else if (other.port == d.backup_port) {
          fields_.Illegal(d.where + ".backup_device_port",
                          absl::StrCat("it is ", d.backup_port, ", as the port of device ",
                                       other.device, " itself; it must be another one"));
        }
      }
    }
  }

  void Pods(const Json& table) {
    const Json* pods = fields_.List(table, "", "super_pod_list", true);
    if (!pods || !Ok()) return;
    constexpr uint32_t kNoPod = UINT32_MAX;
    std::vector<uint32_t> pod_of(server_ids_.size(), kNoPod);
    std::set<std::string> ids;
    for (size_t p = 0; p < pods->size() && Ok(); p++) {
      const std::string where = JsonFields::Path("", "super_pod_list", p);
      const std::string id = fields_.Text((*pods)[p], where, "super_pod_id", true, 128);
      if (Ok() && !ids.insert(id).second)
        fields_.Illegal(where + ".super_pod_id",
                        absl::StrCat("\"", id, "\" is the id of an earlier one; ids are unique"));
      const Json* servers = fields_.List((*pods)[p], where, "server_list", true);
      for (size_t s = 0; servers && s < servers->size() && Ok(); s++) {
        const std::string at = JsonFields::Path(where, "server_list", s);
        const std::string server =
            fields_.Text((*servers)[s], at, "server_id", true, kLongestServerId);
        if (!Ok()) break;
        auto known = server_ids_.find(server);
        if (known == server_ids_.end()) {
          fields_.Illegal(at + ".server_id",
                          absl::StrCat("\"", server, "\" is not in server_list"));
        } else if (pod_of[known->second] != kNoPod) {
          fields_.Illegal(at + ".server_id",
                          absl::StrCat("\"", server, "\" is in a SuperPoD already"));
        } else {
          pod_of[known->second] = static_cast<uint32_t>(p);
        }
      }
    }
    std::set<uint32_t> left;  // SuperPoDs whose servers are over
    for (const auto& [id, s] : server_ids_) {
      if (Ok() && pod_of[s] == kNoPod)
        fields_.Illegal("super_pod_list", absl::StrCat("the server \"", id, "\" is in none of them"));
    }
    for (size_t s = 1; s < pod_of.size() && Ok(); s++) {
      if (pod_of[s] != pod_of[s - 1]) left.insert(pod_of[s - 1]);
      if (left.count(pod_of[s]))
        fields_.Illegal(JsonFields::Path("", "server_list", s),
                        "servers of another SuperPoD lie between this and earlier ones of its own; "
                        "servers of a SuperPoD follow each other");
    }
    if (Ok()) pods_ = std::move(pod_of);
  }

  void SuperIds() {
    std::set<std::pair<uint32_t, int64_t>> seen;
    for (const Device& d : devices_) {
      if (!Ok() || d.super_id < 0 || pods_.empty()) continue;
      if (!seen.insert({pods_[d.server], d.super_id}).second)
        fields_.Illegal(d.where + ".super_device_id",
                        absl::StrCat("it is ", d.super_id,
                                     ", as of an earlier device; it is unique in a SuperPoD"));
    }
  }

  // One server, or the servers of one SuperPoD that are joined by HCCS, need none.
  bool NeedAddresses() const {
    if (server_ids_.size() < 2) return false;
    return pods_.empty() || std::set<uint32_t>(pods_.begin(), pods_.end()).size() > 1 ||
           inter_hccs_disable_;
  }

  JsonFields fields_;
  const bool superpods_, inter_hccs_disable_;
  std::map<std::string, size_t> server_ids_;
  std::vector<Device> devices_;
  std::vector<uint32_t> pods_;  // by server; empty: server mode
  std::set<std::string> addresses_;
  int device_family_ = 0, host_family_ = 0;
};

}  // namespace

Result<RankTable> ParseConciseTable(const Json& table, const std::string& origin, bool superpods,
                                    bool inter_hccs_disable) {
  return Parser(origin, superpods, inter_hccs_disable).Parse(table);
}

}  // namespace hcclrun
