// Every rule of rank tables (semantics D.5), row by row: what is accepted, and for what is not, the
// result code, the field that is named and what was expected.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "comm/rank_table.h"

namespace hcclrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr int kParameter = 1, kNotSupported = 5, kNotFound = 6;

// Two servers of two devices, in one SuperPoD each with "1.2".
Json Concise(const char* version) {
  Json table = Json::parse(R"({
    "status": "completed", "server_count": "2", "server_list": [
      {"server_id": "a", "host_ip": "10.0.0.1", "device": [
        {"device_id": "0", "device_ip": "192.168.1.1", "rank_id": "0"},
        {"device_id": "1", "device_ip": "192.168.1.2", "rank_id": "1"}]},
      {"server_id": "b", "host_ip": "10.0.0.2", "device": [
        {"device_id": "0", "device_ip": "192.168.2.1", "rank_id": "2"},
        {"device_id": "1", "device_ip": "192.168.2.2", "rank_id": "3"}]}]})");
  table["version"] = version;
  if (std::string(version) == "1.2") {
    for (int s : {0, 1}) {
      for (int d : {0, 1}) {
        table["server_list"][s]["device"][d]["super_device_id"] = std::to_string(s * 2 + d);
      }
    }
    table["super_pod_list"] = Json::parse(R"([
      {"super_pod_id": "p", "server_list": [{"server_id": "a"}]},
      {"super_pod_id": "q", "server_list": [{"server_id": "b"}]}])");
  }
  return table;
}

Json Standard() {
  return Json::parse(R"({
    "status": "completed", "group_count": "1", "para_plane_nic_location": "device",
    "para_plane_nic_num": "2", "para_plane_nic_name": ["eth0", "eth1"],
    "group_list": [{"group_name": "hccl_world_group", "instance_count": "2", "device_count": "2",
      "instance_list": [
        {"pod_name": "one", "server_id": "a", "devices": [{"device_id": "4", "device_ip": "10.1.1.1"}]},
        {"pod_name": "two", "server_id": "a", "devices": [{"device_id": "5", "device_ip": "10.1.1.2"}]}]}]})");
}

Json Layered() {
  return Json::parse(R"({
    "version": "2.0", "status": "completed", "rank_count": 2, "rank_list": [
      {"rank_id": 1, "local_id": 1, "device_id": 1, "device_port": 16666, "level_list": [
        {"net_layer": 0, "net_instance_id": "n", "net_type": "TOPO_FILE_DESC", "net_attr": "",
         "rank_addr_list": [{"addr_type": "EID", "addr": "00", "ports": ["1/1"], "plane_id": "0"}]}]},
      {"rank_id": 0, "local_id": 0, "device_id": 0, "level_list": [
        {"net_layer": 0, "net_instance_id": "n", "net_type": "TOPO_FILE_DESC",
         "rank_addr_list": [{"addr_type": "IPV4", "addr": "10.0.0.1", "ports": ["1/1"]}]},
        {"net_layer": 1, "net_instance_id": "m", "net_type": "CLOS",
         "rank_addr_list": [{"addr_type": "IPV6", "addr": "::1"}]}]}]})");
}

void ExpectGood(const Json& table) {
  Result<RankTable> result = ParseRankTable(table, "t.json", false);
  EXPECT_TRUE(result.ok()) << result.fault().text;
}

void ExpectBad(const Json& table, int code, const std::string& field, const std::string& text) {
  Result<RankTable> result = ParseRankTable(table, "t.json", false);
  ASSERT_FALSE(result.ok()) << field;
  const Fault& f = result.fault();
  EXPECT_EQ(f.kind, FaultKind::kRankTable);
  EXPECT_EQ(f.code_override, code) << f.text;
  EXPECT_THAT(f.text, StartsWith("t.json: " + field + ": "));
  EXPECT_THAT(f.text, HasSubstr(text));
  EXPECT_EQ(f.n[0], code == kNotFound ? 1u : 0u) << "EI0017 for what is missing, EI0014 otherwise";
}

// Table-driven rows: a change of the table, then what comes of it.
struct Row {
  const char* at;     // JSON pointer
  Json value;         // discarded: the item is removed
  int code;           // 0: accepted
  const char* field;  // path in the message
  const char* text;
};
const Json kGone = Json(Json::value_t::discarded);

void RunRows(const Json& base, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.at) + " = " + (row.value.is_discarded() ? "-" : row.value.dump()));
    Json table = base;
    const Json::json_pointer at(row.at);
    if (row.value.is_discarded()) {
      Json& parent = table[at.parent_pointer()];
      if (parent.is_array()) {
        parent.erase(std::stoul(at.back()));
      } else {
        parent.erase(at.back());
      }
    } else {
      table[at] = row.value;
    }
    if (row.code == 0) {
      ExpectGood(table);
    } else {
      ExpectBad(table, row.code, row.field, row.text);
    }
  }
}

TEST(RankTable, Version) {
  ExpectGood(Concise("1.0"));
  ExpectGood(Concise("1.2"));
  ExpectGood(Standard());
  ExpectGood(Layered());
  RunRows(Concise("1.0"), {
    {"/version", "1.1", kNotSupported, "version", "\"1.0\", \"1.2\", \"2.0\""},
    {"/version", "3", kNotSupported, "version", "understood"},
    {"/version", 1.0, kParameter, "version", "understood"},
  });
}

TEST(RankTable, ServersAndDevices) {
  RunRows(Concise("1.0"), {
    {"/server_count", kGone, 0, "", ""},
    {"/server_count", "3", kParameter, "server_count", "2 elements"},
    {"/server_count", 2, kParameter, "server_count", "strings"},
    {"/server_count", "two", kParameter, "server_count", "whole number"},
    {"/server_list", kGone, kNotFound, "server_list", "required"},
    {"/server_list", Json::array(), kParameter, "server_list", "at least one"},
    {"/server_list", "a", kParameter, "server_list", "a list"},
    {"/server_list/0", 7, kParameter, "server_list[0]", "an object"},
    {"/server_list/1/server_id", kGone, kNotFound, "server_list[1].server_id", "required"},
    {"/server_list/1/server_id", 2, kParameter, "server_list[1].server_id", "a string"},
    {"/server_list/1/server_id", "a", kParameter, "server_list[1].server_id", "unique"},
    {"/server_list/1/server_id", "", kParameter, "server_list[1].server_id", "empty"},
    {"/server_list/1/server_id", std::string(64, 'x'), 0, "", ""},
    {"/server_list/1/server_id", std::string(65, 'x'), kParameter, "server_list[1].server_id", "64"},
    {"/server_list/0/host_ip", "10.0.0.300", kParameter, "server_list[0].host_ip", "address"},
    {"/server_list/1/host_ip", "::1", kParameter, "server_list[1].host_ip", "family"},
    {"/server_list/0/host_ip", kGone, 0, "", ""},
    {"/server_list/0/device", kGone, kNotFound, "server_list[0].device", "required"},
    {"/server_list/0/device/1/device_id", kGone, kNotFound, "server_list[0].device[1].device_id", "required"},
    {"/server_list/0/device/1/device_id", "0", kParameter, "server_list[0].device[1].device_id", "once"},
    {"/server_list/0/device/1/device_id", 1, kParameter, "server_list[0].device[1].device_id", "strings"},
    {"/server_list/0/device/1/device_id", "-1", kParameter, "server_list[0].device[1].device_id", "whole"},
    {"/server_list/0/device/1/device_id", "1x", kParameter, "server_list[0].device[1].device_id", "whole"},
    {"/server_list/0/device/1/rank_id", kGone, kNotFound, "server_list[0].device[1].rank_id", "required"},
    {"/server_list/0/device/1/rank_id", "0", kParameter, "server_list[0].device[1].rank_id", "once"},
    {"/server_list/0/device/1/rank_id", "4", kParameter, "server_list[0].device[1].rank_id", "gaps"},
    {"/server_list/0/unknown", "ignored", 0, "", ""},
  });
  Json interleaved = Concise("1.0");
  interleaved["server_list"][0]["device"][1]["rank_id"] = "2";
  interleaved["server_list"][1]["device"][0]["rank_id"] = "1";
  ExpectBad(interleaved, kParameter, "server_list[0].device[1].rank_id", "follow each other");
  // The order in the file is free.
  Json swapped = Concise("1.0");
  std::swap(swapped["server_list"][0]["device"][0]["rank_id"],
            swapped["server_list"][0]["device"][1]["rank_id"]);
  Result<RankTable> result = ParseRankTable(swapped, "t.json", false);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->devices, ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(result->places.server, ElementsAre(0, 0, 1, 1));
}

TEST(RankTable, Addresses) {
  RunRows(Concise("1.0"), {
    {"/server_list/0/device/0/device_ip", kGone, kNotFound, "server_list[0].device[0].device_ip", "required"},
    {"/server_list/0/device/0/device_ip", "192.168.1.2", kParameter, "server_list[0].device[1].device_ip", "unique"},
    {"/server_list/0/device/0/device_ip", "192.168.1.9,192.168.1.10", 0, "", ""},
    {"/server_list/0/device/0/device_ip", "192.168.1.9,", kParameter, "server_list[0].device[0].device_ip", "address"},
    {"/server_list/0/device/1/device_ip", "fe80::1", kParameter, "server_list[0].device[1].device_ip", "family"},
    {"/server_list/0/device/0/device_port", "0", kParameter, "server_list[0].device[0].device_port", "1 to 65535"},
    {"/server_list/0/device/0/device_port", "65535", 0, "", ""},
    {"/server_list/0/device/0/host_port", "0", kParameter, "server_list[0].device[0].host_port", "1 to 65535"},
    {"/server_list/0/device/0/device_vnic_port", "0", kParameter, "server_list[0].device[0].device_vnic_port", "1 to 65535"},
    {"/server_list/0/device/0/host_port", "65536", kParameter, "server_list[0].device[0].host_port", "1 to 65535"},
    {"/server_list/0/device/0/device_vnic_port", "x", kParameter, "server_list[0].device[0].device_vnic_port", "whole"},
    {"/server_list/0/device/0/backup_device_ip", "192.168.1.2", 0, "", ""},
    {"/server_list/0/device/0/backup_device_ip", "192.168.1.1", kParameter, "server_list[0].device[0].backup_device_ip", "other die"},
    {"/server_list/0/device/0/backup_device_ip", "192.168.2.2", kParameter, "server_list[0].device[0].backup_device_ip", "other die"},
    {"/server_list/0/device/0/backup_device_port", "0", kParameter, "server_list[0].device[0].backup_device_port", "65535"},
  });
  Json same_port = Concise("1.0");
  same_port["server_list"][0]["device"][0]["backup_device_ip"] = "192.168.1.2";
  same_port["server_list"][0]["device"][0]["backup_device_port"] = "16666";
  ExpectBad(same_port, kParameter, "server_list[0].device[0].backup_device_port", "another one");
  // Of a port that is not given the default counts: 16666, and 16667 for the backup.
  same_port["server_list"][0]["device"][0].erase("backup_device_port");
  ExpectGood(same_port);
  same_port["server_list"][0]["device"][1]["device_port"] = "16667";
  ExpectBad(same_port, kParameter, "server_list[0].device[0].backup_device_port", "16667");
  // One server needs none, nor do the servers of one SuperPoD that HCCS joins.
  Json one = Concise("1.0");
  one["server_list"].erase(1);
  one["server_count"] = "1";
  for (int d : {0, 1}) one["server_list"][0]["device"][d].erase("device_ip");
  ExpectGood(one);
  Json pod = Concise("1.2");
  pod["super_pod_list"] = Json::parse(
      R"([{"super_pod_id": "p", "server_list": [{"server_id": "a"}, {"server_id": "b"}]}])");
  pod["server_list"][1]["device"][0].erase("device_ip");
  ExpectGood(pod);
  Result<RankTable> roce = ParseRankTable(pod, "t.json", true);
  ASSERT_FALSE(roce.ok()) << "HCCL_INTER_HCCS_DISABLE";
  EXPECT_EQ(roce.fault().code_override, kNotFound);
}

TEST(RankTable, SuperPods) {
  RunRows(Concise("1.2"), {
    {"/server_count", kGone, 0, "", ""},
    {"/super_pod_list", kGone, 0, "", ""},
    {"/super_pod_list", Json::array(), kParameter, "super_pod_list", "at least one"},
    {"/super_pod_list/0/super_pod_id", kGone, kNotFound, "super_pod_list[0].super_pod_id", "required"},
    {"/super_pod_list/0/super_pod_id", "", kParameter, "super_pod_list[0].super_pod_id", "empty"},
    {"/super_pod_list/0/super_pod_id", "q", kParameter, "super_pod_list[1].super_pod_id", "unique"},
    {"/super_pod_list/0/server_list", kGone, kNotFound, "super_pod_list[0].server_list", "required"},
    {"/super_pod_list/0/server_list/0/server_id", kGone, kNotFound, "super_pod_list[0].server_list[0].server_id", "required"},
    {"/super_pod_list/0/server_list/0/server_id", "c", kParameter, "super_pod_list[0].server_list[0].server_id", "not in server_list"},
    {"/super_pod_list/0/server_list/0/server_id", "b", kParameter, "super_pod_list[1].server_list[0].server_id", "already"},
    {"/super_pod_list/1", kGone, kParameter, "super_pod_list", "in none"},
    {"/server_list/0/device/0/super_device_id", kGone, 0, "", ""},
    {"/server_list/0/device/0/super_device_id", "x", kParameter, "server_list[0].device[0].super_device_id", "whole"},
    {"/server_list/0/device/0/super_device_id", "-1", kParameter, "server_list[0].device[0].super_device_id", "whole"},
    {"/server_list/0/device/0/super_device_id", "1", kParameter, "server_list[0].device[1].super_device_id", "unique"},
    {"/server_list/0/device/0/super_device_id", "2", 0, "unique in its own SuperPoD only", ""},
  });
  // The servers of a SuperPoD follow each other.
  Json split = Concise("1.2");
  split["server_list"].push_back(Json::parse(R"({"server_id": "c", "device": [
      {"device_id": "0", "device_ip": "192.168.3.1", "rank_id": "4"}]})"));
  split["server_count"] = "3";
  split["super_pod_list"][1]["server_list"].push_back({{"server_id", "c"}});
  ExpectGood(split);
  std::swap(split["super_pod_list"][0]["server_list"], split["super_pod_list"][1]["server_list"]);
  ExpectGood(split);
  split["super_pod_list"] = Json::parse(R"([
      {"super_pod_id": "p", "server_list": [{"server_id": "a"}, {"server_id": "c"}]},
      {"super_pod_id": "q", "server_list": [{"server_id": "b"}]}])");
  ExpectBad(split, kParameter, "server_list[2]", "follow each other");
  Result<RankTable> result = ParseRankTable(Concise("1.2"), "t.json", false);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->places.pod, ElementsAre(0, 0, 1, 1));
  EXPECT_NE(result->places.WindowsRefused(), nullptr) << "A.3 step 7";
  EXPECT_EQ(result->places.Of({0, 1}).WindowsRefused(), nullptr) << "one SuperPoD's ranks";
}

TEST(RankTable, WindowsNeedEqualServers) {
  Result<RankTable> even = ParseRankTable(Concise("1.0"), "t.json", false);
  ASSERT_TRUE(even.ok());
  EXPECT_EQ(even->places.WindowPathRefused(false), nullptr);
  EXPECT_THAT(even->places.WindowPathRefused(true), HasSubstr("item 5"));
  EXPECT_THAT(even->places.Of({0, 1, 2}).WindowPathRefused(false), HasSubstr("item 6"));
  EXPECT_THAT(even->places.Of({0, 2}).WindowPathRefused(false), HasSubstr("item 6"));
  EXPECT_EQ(even->places.Of({0}).WindowPathRefused(true), nullptr) << "one server";
  Result<RankTable> pods = ParseRankTable(Concise("1.2"), "t.json", false);
  ASSERT_TRUE(pods.ok());
  EXPECT_THAT(pods->places.WindowPathRefused(false), HasSubstr("item 4"));
}

// C.4: strict determinism needs even servers, joined by HCCS.
TEST(RankTable, StrictDeterminismNeedsEvenServers) {
  Result<RankTable> even = ParseRankTable(Concise("1.0"), "t.json", false);
  ASSERT_TRUE(even.ok());
  EXPECT_EQ(even->places.StrictRefused(false), nullptr);
  EXPECT_NE(even->places.StrictRefused(true), nullptr);
  EXPECT_NE(even->places.Of({0, 1, 2}).StrictRefused(false), nullptr);
  EXPECT_EQ(even->places.Of({0, 1}).StrictRefused(false), nullptr);
}

TEST(RankTable, WithoutVersion) {
  RunRows(Standard(), {
    {"/group_list", kGone, kNotFound, "group_list", "required"},
    {"/group_count", "2", kParameter, "group_count", "1 elements"},
    {"/group_count", kGone, 0, "", ""},
    {"/para_plane_nic_location", "moon", kParameter, "para_plane_nic_location", "\"host\""},
    {"/para_plane_nic_num", "3", kParameter, "para_plane_nic_num", "2 elements"},
    {"/para_plane_nic_name", kGone, 0, "", ""},
    {"/group_list/0/instance_list", kGone, kNotFound, "group_list[0].instance_list", "required"},
    {"/group_list/0/instance_count", "3", kParameter, "group_list[0].instance_count", "2 elements"},
    {"/group_list/0/instance_list/0/server_id", kGone, kNotFound, "group_list[0].instance_list[0].server_id", "required"},
    {"/group_list/0/instance_list/0/devices", kGone, kNotFound, "group_list[0].instance_list[0].devices", "required"},
    {"/group_list/0/instance_list/0/devices/0/device_id", kGone, kNotFound, "group_list[0].instance_list[0].devices[0].device_id", "required"},
    {"/group_list/0/instance_list/0/devices/0/device_id", "5", kParameter, "group_list[0].instance_list[1].devices[0].device_id", "once"},
  });
  Json numbered = Standard();
  numbered["group_list"][0]["instance_list"][0]["rank_id"] = "1";
  numbered["group_list"][0]["instance_list"][1]["rank_id"] = "0";
  Result<RankTable> result = ParseRankTable(numbered, "t.json", false);
  ASSERT_TRUE(result.ok()) << result.fault().text;
  EXPECT_THAT(result->devices, ElementsAre(5, 4));
}

TEST(RankTable, Version2) {
  RunRows(Layered(), {
    {"/rank_count", kGone, kNotFound, "rank_count", "required"},
    {"/rank_count", 3, kParameter, "rank_count", "2 elements"},
    {"/rank_count", "2", kParameter, "rank_count", "whole number"},
    {"/rank_count", 0, kParameter, "rank_count", "1 to 65536"},
    {"/rank_count", 65537, kParameter, "rank_count", "1 to 65536"},
    {"/rank_list", kGone, kNotFound, "rank_list", "required"},
    {"/rank_list/0/rank_id", 0, kParameter, "rank_list[1].rank_id", "once"},
    {"/rank_list/0/rank_id", kGone, kNotFound, "rank_list[0].rank_id", "required"},
    {"/rank_list/0/rank_id", 2, kParameter, "rank_list[0].rank_id", "gaps"},
    {"/rank_list/0/rank_id", -1, kParameter, "rank_list[0].rank_id", "whole"},
    {"/rank_list/0/local_id", kGone, kNotFound, "rank_list[0].local_id", "required"},
    {"/rank_list/0/local_id", 64, 0, "", ""},
    {"/rank_list/0/local_id", 65, kParameter, "rank_list[0].local_id", "0 to 64"},
    {"/rank_list/0/device_id", 65, kParameter, "rank_list[0].device_id", "0 to 64"},
    {"/rank_list/0/device_id", kGone, kNotFound, "rank_list[0].device_id", "required"},
    {"/rank_list/0/device_port", 0, kParameter, "rank_list[0].device_port", "65535"},
    {"/rank_list/0/host_port", 65536, kParameter, "rank_list[0].host_port", "65535"},
    {"/rank_list/0/level_list", Json(std::vector<int>(9)), kParameter, "rank_list[0].level_list", "at most 8"},
    {"/rank_list/0/level_list", kGone, kNotFound, "rank_list[0].level_list", "required"},
    {"/rank_list/0/level_list/0/net_layer", 1, kParameter, "rank_list[0].level_list[0].net_layer", "start at 0"},
    {"/rank_list/1/level_list/1/net_layer", 0, kParameter, "rank_list[1].level_list[1].net_layer", "ascend"},
    {"/rank_list/1/level_list/1/net_layer", 8, kParameter, "rank_list[1].level_list[1].net_layer", "0 to 7"},
    {"/rank_list/0/level_list/0/net_type", "CLOS", kParameter, "rank_list[0].level_list[0].net_type", "TOPO_FILE_DESC"},
    {"/rank_list/1/level_list/1/net_type", "RING", kParameter, "rank_list[1].level_list[1].net_type", "or CLOS"},
    {"/rank_list/0/level_list/0/net_type", kGone, kNotFound, "rank_list[0].level_list[0].net_type", "required"},
    {"/rank_list/0/level_list/0/net_instance_id", kGone, kNotFound, "rank_list[0].level_list[0].net_instance_id", "required"},
    {"/rank_list/0/level_list/0/net_attr", kGone, 0, "", ""},
    {"/rank_list/0/level_list/0/rank_addr_list/0/plane_id", kGone, 0, "", ""},
    {"/rank_list/0/level_list/0/rank_addr_list", Json(std::vector<int>(25)), kParameter, "rank_list[0].level_list[0].rank_addr_list", "at most 24"},
    {"/rank_list/0/level_list/0/net_instance_id", std::string(1025, 'x'), kParameter, "rank_list[0].level_list[0].net_instance_id", "1024"},
    {"/rank_list/0/level_list/0/rank_addr_list", kGone, kNotFound, "rank_list[0].level_list[0].rank_addr_list", "required"},
    {"/rank_list/0/level_list/0/rank_addr_list/0/addr_type", "MAC", kParameter, "rank_list[0].level_list[0].rank_addr_list[0].addr_type", "EID"},
    {"/rank_list/0/level_list/0/rank_addr_list/0/addr", std::string(257, '1'), kParameter, "rank_list[0].level_list[0].rank_addr_list[0].addr", "256"},
    {"/rank_list/0/level_list/0/rank_addr_list/0/ports", Json(std::vector<std::string>(17, "1/1")), kParameter, "rank_list[0].level_list[0].rank_addr_list[0].ports", "16"},
  });
  Result<RankTable> result = ParseRankTable(Layered(), "t.json", false);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->devices, ElementsAre(0, 1));
}

TEST(RankTable, KeyDependsOnContentsNotOnFormatting) {
  const Json table = Concise("1.0");
  EXPECT_EQ(KeyOfRankTable(Json::parse(table.dump())), KeyOfRankTable(Json::parse(table.dump(4))));
  Json other = table;
  other["server_list"][0]["device"][0]["device_ip"] = "192.168.1.77";
  EXPECT_NE(KeyOfRankTable(table), KeyOfRankTable(other));
}

// Truncated and damaged documents are faults, never crashes.
TEST(RankTable, DamagedTexts) {
  for (const Json& table : {Concise("1.2"), Standard(), Layered()}) {
    const std::string text = table.dump();
    for (size_t n = 0; n < text.size(); ++n) {
      EXPECT_TRUE(Json::parse(text.substr(0, n), nullptr, false).is_discarded()) << n;
      for (const char* damage : {"[", "null", "7"}) {
        std::string damaged = text;
        damaged.replace(n, 1, damage);
        const Json document = Json::parse(damaged, nullptr, false);
        if (!document.is_object()) continue;  // refused when it is loaded
        Result<RankTable> result = ParseRankTable(document, "t.json", false);
        if (!result.ok()) {
          EXPECT_EQ(result.fault().kind, FaultKind::kRankTable);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hcclrun
