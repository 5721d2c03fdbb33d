#include "base/hccl_variables.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <strings.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hcclrun {
namespace {

bool Whole(absl::string_view text, int64_t low, int64_t high) {
  int64_t n;
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, &n) && n >= low && n <= high;
}

template <int64_t low, int64_t high>
bool IsWhole(const std::string& value) {
  return Whole(value, low, high);
}

bool OneOf(absl::string_view value, std::initializer_list<const char*> legal) {
  for (const char* text : legal) {
    if (value == text) return true;
  }
  return false;
}

std::string WithoutSpaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

bool OneOfAnyCase(const std::string& value, std::initializer_list<const char*> legal) {
  for (const char* text : legal) {
    if (strcasecmp(value.c_str(), text) == 0) return true;
  }
  return false;
}

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

bool IsSwitch(const std::string& value) { return OneOf(value, {"0", "1"}); }
bool IsAnything(const std::string&) { return true; }

// In AIV mode the limit is counted by the device: shorter, in steps of 10 ms.
bool IsExecTimeout(const std::string& value) {
  if (Variable("HCCL_OP_EXPANSION_MODE") != "AIV") return Whole(value, 0, 2147483647);
  const size_t dot = value.find('.');
  const std::string whole = value.substr(0, dot);
  if (!Whole(whole, 0, 1091)) return false;
  if (dot == std::string::npos) return true;
  const std::string part = value.substr(dot + 1);
  return part.size() <= 2 && Whole(part, 0, whole == "1091" ? 0 : 99);
}

bool IsAddress(const std::string& value) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, value.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, value.c_str(), bytes) == 1;
}

// "eth" begins a name, "=eth0" is one, a leading "^" takes all others; a list of such texts.
bool IsInterface(const std::string& value) {
  if (!Variable("HCCL_IF_IP").empty()) return true;  // which wins
  std::string rest = value;
  const bool others = !rest.empty() && rest[0] == '^';
  if (others) rest.erase(0, 1);
  const bool exact = !rest.empty() && rest[0] == '=';
  if (exact) rest.erase(0, 1);
  if (rest.empty()) return false;
  bool found = false;
  struct if_nameindex* all = if_nameindex();
  for (struct if_nameindex* i = all; i && i->if_index != 0; ++i) {
    const std::string name = i->if_name;
    bool listed = false;
    for (absl::string_view part : absl::StrSplit(rest, ','))
      listed |= exact ? name == std::string(part) : name.rfind(std::string(part), 0) == 0;
    found |= listed != others;
  }
  if (all) if_freenameindex(all);
  return found;
}

// "60000-60050,60100" or "auto". Spaces do not count; nothing is as if it were not set.
bool IsPortRange(const std::string& value) {
  const std::string text = WithoutSpaces(value);
  if (text == "auto" || text.empty()) return true;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    if (ends.size() > 2) return false;
    for (const std::string& end : ends) {
      if (!Whole(end, 1, 65535)) return false;
    }
    if (ends.size() == 2 && atoi(ends[0].c_str()) > atoi(ends[1].c_str())) return false;
  }
  return true;
}

// 0 turns the check on, and then there must be a list.
bool IsWhitelistDisable(const std::string& value) {
  if (!IsSwitch(value)) return false;
  if (value == "1") return true;
  std::ifstream file(Variable("HCCL_WHITELIST_FILE"));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  return list.is_object() && (list.contains("host_ip") || list.contains("device_ip"));
}

// Spaces and capitals do not count.
bool IsDfsConfig(const std::string& value) {
  const std::string items = absl::AsciiStrToLower(WithoutSpaces(value));
  for (absl::string_view item : absl::StrSplit(items, ',')) {
    const std::vector<std::string> pair = absl::StrSplit(item, ':');
    if (pair.size() != 2) return false;
    const std::string& text = pair[1];
    const bool good = pair[0] == "connection_fault_detection_time"
                          ? text == "0" || Whole(text, 20, 7200)
                      : pair[0] == "cluster_heartbeat" || pair[0] == "stuck_detection" ||
                              pair[0] == "task_exception"
                          ? OneOf(text, {"on", "off"})
                      : pair[0] == "inconsistent_check"    ? OneOf(text, {"on", "first", "off"})
                      : pair[0] == "task_monitor_interval" ? Whole(text, 0, INT32_MAX)
                                                           : false;
    if (!good) return false;
  }
  return true;
}

bool IsDebugConfig(const std::string& value) {
  for (absl::string_view item :
       absl::StrSplit(!value.empty() && value[0] == '^' ? value.substr(1) : value, ',')) {
    if (!OneOfAnyCase(std::string(item), {"alg", "task", "resource"})) return false;
  }
  return true;
}

bool IsTrafficClass(const std::string& value) {
  return Whole(value, 0, 255) && atoi(value.c_str()) % 4 == 0;
}

bool IsIntra(const std::string& value) {
  return IsSwitch(value) &&
         !(Variable("HCCL_INTRA_PCIE_ENABLE") == "1" && Variable("HCCL_INTRA_ROCE_ENABLE") == "1");
}

// "level0:NA;level1:ring": each level once.
bool LegalLevels(absl::string_view text) {
  bool seen[4] = {};
  for (absl::string_view item : absl::StrSplit(text, ';')) {
    const std::vector<std::string> pair = absl::StrSplit(item, ':');
    if (pair.size() != 2 || pair[0].size() != 6 || pair[0].compare(0, 5, "level") != 0)
      return false;
    const int level = pair[0][5] - '0';
    if (level < 0 || level > 3 || seen[level]) return false;
    seen[level] = true;
    if (!OneOf(pair[1], {"NA", "ring", "H-D_R", "NHR", "NHR_V1", "NB", "AHC", "pipeline",
                         "pairwise", "fullmesh"})) {
      return false;
    }
  }
  return true;
}

constexpr char kNoNetwork[] = "accepted; there is no network here";

}  // namespace

// Spaces do not count; nothing is as if it were not set.
bool LegalAlgorithm(const std::string& value) {
  const std::string text = WithoutSpaces(value);
  if (text.empty()) return true;
  if (text.find('=') == std::string::npos) return LegalLevels(text);
  for (absl::string_view item : absl::StrSplit(text, '/')) {
    const std::vector<std::string> pair = absl::StrSplit(item, '=');
    if (pair.size() != 2 || !LegalLevels(pair[1]) ||
        !OneOf(pair[0], {"allgather", "reducescatter", "allreduce", "alltoall", "alltoallv",
                         "alltoallvc", "broadcast", "reduce", "scatter", "allgatherv",
                         "reducescatterv", "sendrecv", "others"})) {
      return false;
    }
  }
  return true;
}

// Spaces do not count, and L0, which means nothing, may be there: programs write
// "L0:0, L1:0, L2:0".
bool LegalRetryEnable(const std::string& value) {
  const std::string text = WithoutSpaces(value);
  if (text.empty()) return true;
  std::set<std::string> levels;
  for (const std::string& item : std::vector<std::string>(absl::StrSplit(text, ','))) {
    if (!OneOf(item, {"L0:0", "L0:1", "L1:0", "L1:1", "L2:0", "L2:1"})) return false;
    if (!levels.insert(item.substr(0, 2)).second) return false;
  }
  return true;
}

bool LegalRetryParams(const std::string& value) {
  const std::string text = WithoutSpaces(value);
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    const std::vector<std::string> pair = absl::StrSplit(item, ':');
    if (pair.size() != 2 || !OneOf(pair[0], {"MaxCnt", "HoldTime", "IntervalTime"}) ||
        !Whole(pair[1], pair[0] == "MaxCnt" ? 1 : 0, INT32_MAX)) {
      return false;
    }
  }
  return true;
}

const std::vector<HcclVariable>& HcclVariables() {
  static const std::vector<HcclVariable>* all = new std::vector<HcclVariable>{
      {"HCCL_BUFFSIZE", "200", "a whole number of MB from 1", IsWhole<1, int64_t{1} << 40>, true,
       "size of each of the two HCCL buffers in MB"},
      {"HCCL_CONNECT_TIMEOUT", "120", "a whole number from 120 to 7200", IsWhole<120, 7200>, true,
       "wait for the other ranks at creation, in seconds"},
      {"HCCL_EXEC_TIMEOUT", "1836",
       "a whole number from 0 to 2147483647, or, in AIV mode, a number from 0 to 1091 in steps of "
       "0.01",
       IsExecTimeout, true, "wait for the other ranks in an operation, in seconds; 0 = for ever"},
      {"HCCL_OP_EXPANSION_MODE", "AI_CPU", "one of AI_CPU, AICPU_CacheDisable, AIV, HOST, HOST_TS",
       [](const std::string& v) {
         return OneOf(v, {"AI_CPU", "AICPU_CacheDisable", "AIV", "HOST", "HOST_TS"});
       },
       true, "other modes than AI_CPU: operations use no windows"},
      {"HCCL_DETERMINISTIC", "false", "one of false, true, strict",
       [](const std::string& v) {
         return OneOfAnyCase(v, {"false", "true", "strict"});
       },
       true, "results are always deterministic; strict: HCCL's restrictions of that mode"},
      {"HCCL_INTER_HCCS_DISABLE", "FALSE", "one of FALSE, TRUE",
       [](const std::string& v) {
         return OneOfAnyCase(v, {"false", "true"});
       },
       true, "TRUE: no windows between servers"},
      {"HCCL_ALGO", "", "level0:NA;level1:<algorithm> or <operation>=<levels>/<operation>=<levels>",
       LegalAlgorithm, true, "accepted; there is one algorithm per path"},
      {"HCCL_SOCKET_IFNAME", "", "the name of a network interface, or the beginning of one",
       IsInterface, true, kNoNetwork},
      {"HCCL_IF_IP", "", "an IPv4 or IPv6 address", IsAddress, true, kNoNetwork},
      {"HCCL_SOCKET_FAMILY", "AF_INET", "one of AF_INET, AF_INET6",
       [](const std::string& v) {
         return OneOf(v, {"AF_INET", "AF_INET6"});
       },
       true, kNoNetwork},
      {"HCCL_IF_BASE_PORT", "60000", "a whole number from 1024 to 65520", IsWhole<1024, 65520>,
       true, kNoNetwork},
      {"HCCL_HOST_SOCKET_PORT_RANGE", "", "port ranges such as 60000-60050,60100, or auto",
       IsPortRange, true, kNoNetwork},
      {"HCCL_NPU_SOCKET_PORT_RANGE", "", "port ranges such as 60000-60050,60100, or auto",
       IsPortRange, true, kNoNetwork},
      {"HCCL_WHITELIST_DISABLE", "1",
       "1, or 0 together with HCCL_WHITELIST_FILE, a JSON file with host_ip or device_ip",
       IsWhitelistDisable, true, "accepted; only processes of the same user are let in"},
      {"HCCL_WHITELIST_FILE", "", "a file", IsAnything, true,
       "read when HCCL_WHITELIST_DISABLE is 0"},
      {"HCCL_ENTRY_LOG_ENABLE", "0", "0 or 1", IsSwitch, true, "accepted"},
      {"HCCL_DIAGNOSE_ENABLE", "0", "0 or 1", IsSwitch, true, "accepted"},
      {"HCCL_DFS_CONFIG", "",
       "items such as connection_fault_detection_time:20, cluster_heartbeat:on, "
       "stuck_detection:on, "
       "inconsistent_check:first, task_monitor_interval:0, separated by commas",
       IsDfsConfig, true, "accepted; deaths and mismatches are always looked for"},
      {"HCCL_DEBUG_CONFIG", "", "a list of alg, task, resource, all of it inverted by a leading ^",
       IsDebugConfig, true, "accepted"},
      {"HCCL_OP_RETRY_ENABLE", "L1:0,L2:0",
       "L0, L1 and L2 at most once each, as L1:0 or L1:1, separated by commas",
       LegalRetryEnable, true, kNoNetwork},
      {"HCCL_OP_RETRY_PARAMS", "", "MaxCnt:n,HoldTime:n,IntervalTime:n", LegalRetryParams, true,
       kNoNetwork},
      {"HCCL_LOGIC_SUPERPOD_ID", "", "a text of less than 128 characters",
       [](const std::string& v) { return v.size() < 128; }, true,
       "splits a SuperPoD: ranks with other values have no windows in common"},
      {"HCCL_RDMA_TC", "132", "a multiple of 4 from 0 to 255", IsTrafficClass, true, kNoNetwork},
      {"HCCL_RDMA_SL", "4", "a whole number from 0 to 7", IsWhole<0, 7>, true, kNoNetwork},
      {"HCCL_RDMA_TIMEOUT", "20", "a whole number from 5 to 20", IsWhole<5, 20>, true, kNoNetwork},
      {"HCCL_RDMA_RETRY_CNT", "7", "a whole number from 1 to 7", IsWhole<1, 7>, true, kNoNetwork},
      {"HCCL_RDMA_QPS_PER_CONNECTION", "1", "a whole number from 1 to 32", IsWhole<1, 32>, true,
       kNoNetwork},
      {"HCCL_MULTI_QP_THRESHOLD", "512", "a whole number from 1 to 8192", IsWhole<1, 8192>, true,
       kNoNetwork},
      {"HCCL_INTRA_PCIE_ENABLE", "", "0 or 1, and not 1 together with HCCL_INTRA_ROCE_ENABLE",
       IsIntra, true, kNoNetwork},
      {"HCCL_INTRA_ROCE_ENABLE", "", "0 or 1, and not 1 together with HCCL_INTRA_PCIE_ENABLE",
       IsIntra, true, kNoNetwork},
      {"ASCEND_GLOBAL_LOG_LEVEL", "3", "0, 1, 2, 3 or 4", IsWhole<0, 4>, false,
       "0 debug, 1 info, 2 warning, 3 error, 4 none"},
      {"ASCEND_GLOBAL_EVENT_ENABLE", "1", "0 or 1", IsSwitch, false, "accepted"},
      {"ASCEND_MODULE_LOG_LEVEL", "", "NAME=level:NAME=level", IsAnything, false,
       "log level of HCCL, ASCENDCL or RUNTIME"},
      {"ASCEND_SLOG_PRINT_TO_STDOUT", "", "0 or 1", IsSwitch, false,
       "logs go to standard error in any case"},
      {"ASCEND_LOG_PRINT_TO_STDOUT", "", "0 or 1", IsSwitch, false,
       "newer name of ASCEND_SLOG_PRINT_TO_STDOUT"},
      {"ASCEND_PROCESS_LOG_PATH", "", "a directory", IsAnything, false, "no log files are written"},
      {"ASCEND_RT_VISIBLE_DEVICES", "", "an ascending list of device numbers", IsAnything, false,
       "devices that a process sees, renumbered from 0"},
  };
  return *all;
}

std::string IllegalHcclVariable() {
  for (const HcclVariable& v : HcclVariables()) {
    const char* value = v.refused ? getenv(v.name) : nullptr;
    if (value && !v.is_legal(value))
      return absl::StrCat(v.name, " is \"", value, "\"; it must be ", v.legal);
  }
  return "";
}

}  // namespace hcclrun
