// Environment variables, row by row of semantics E: legal values, illegal ones, and that an illegal
// one fails the first HCCL call of a process with EI0001.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "base/hccl_variables.h"
#include "hccl/hccl.h"

extern char** environ;

namespace hcclrun {
namespace {

using ::testing::HasSubstr;

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;

 private:
  const char* name_;
};

struct Row {
  const char* name;
  std::vector<std::string> legal, illegal;
};

const std::vector<Row>& Rows() {
  static const std::vector<Row>* rows = new std::vector<Row>{
      {"HCCL_BUFFSIZE", {"1", "200", "4096"}, {"0", "-1", "", "1.5", "1M", " 1"}},
      {"HCCL_CONNECT_TIMEOUT", {"120", "7200"}, {"119", "7201", "x", ""}},
      {"HCCL_EXEC_TIMEOUT", {"0", "1836", "2147483647"}, {"-1", "2147483648", "0.5"}},
      {"HCCL_OP_EXPANSION_MODE",
       {"AI_CPU", "AICPU_CacheDisable", "AIV", "HOST", "HOST_TS"},
       {"ai_cpu", "GPU", ""}},
      {"HCCL_DETERMINISTIC", {"false", "TRUE", "Strict"}, {"1", "yes", ""}},
      {"HCCL_INTER_HCCS_DISABLE", {"TRUE", "false"}, {"1", ""}},
      {"HCCL_ALGO",
       {"level0:NA;level1:ring", "level0:NA;level1:H-D_R;level2:NHR",
        "allreduce=level0:NA;level1:ring/allgather=level0:NA;level1:NB", "level1:pairwise",
        "level0:NA; level1:ring", " ", ""},
       {"ring", "level0:NA;level0:NA", "level1:best", "level0:NA/allreduce=level1:ring",
        "addall=level1:ring", "Level1:ring", ";"}},
      {"HCCL_SOCKET_IFNAME", {"lo", "=lo", "^eth_none", "^=none", "lo,none"}, {"none", "=l", "^", ""}},
      {"HCCL_IF_IP", {"127.0.0.1", "::1"}, {"localhost", "1.2.3", ""}},
      {"HCCL_SOCKET_FAMILY", {"AF_INET", "AF_INET6"}, {"AF_UNIX", "af_inet"}},
      {"HCCL_IF_BASE_PORT", {"1024", "65520"}, {"1023", "65521"}},
      {"HCCL_HOST_SOCKET_PORT_RANGE",
       {"auto", "60000", "60000-60050,60100", "60000 - 60050, 60100", ""},
       {"60050-60000", "0", "65536", "a-b", "1-2-3", ","}},
      {"HCCL_NPU_SOCKET_PORT_RANGE", {"auto", "61000-61050"}, {"Auto", "-"}},
      {"HCCL_WHITELIST_DISABLE", {"1"}, {"0", "2", "true"}},
      {"HCCL_ENTRY_LOG_ENABLE", {"0", "1"}, {"2", "on"}},
      {"HCCL_DIAGNOSE_ENABLE", {"0", "1"}, {"2", "on"}},
      {"HCCL_DFS_CONFIG",
       {"connection_fault_detection_time:0", "connection_fault_detection_time:20",
        "cluster_heartbeat:off,stuck_detection:on,inconsistent_check:first",
        "task_monitor_interval:100", "Cluster_Heartbeat : ON, task_exception:off"},
       {"connection_fault_detection_time:19", "cluster_heartbeat:1", "inconsistent_check:maybe",
        "other:on", "cluster_heartbeat", "task_exception:1", ""}},
      {"HCCL_DEBUG_CONFIG", {"alg", "alg,task,resource", "^task"}, {"all", "alg;task", ""}},
      {"HCCL_OP_RETRY_ENABLE",
       {"L1:0", "L1:1,L2:1", "L0:0, L1:0, L2:0", "", " "},
       {"L1:2", "L3:1", "1", "L1:0,L1:1", "L1:0,"}},
      {"HCCL_OP_RETRY_PARAMS",
       {"MaxCnt:3,HoldTime:5000,IntervalTime:1000", "MaxCnt:3, HoldTime:5000", "MaxCnt:1"},
       {"MaxCnt:0", "Max:1", "3", ""}},
      {"HCCL_LOGIC_SUPERPOD_ID", {"pod", std::string(127, 'x')}, {std::string(128, 'x')}},
      {"HCCL_RDMA_TC", {"0", "132", "252"}, {"133", "256", "-4"}},
      {"HCCL_RDMA_SL", {"0", "7"}, {"8"}},
      {"HCCL_RDMA_TIMEOUT", {"5", "20"}, {"4", "21"}},
      {"HCCL_RDMA_RETRY_CNT", {"1", "7"}, {"0", "8"}},
      {"HCCL_RDMA_QPS_PER_CONNECTION", {"1", "32"}, {"0", "33"}},
      {"HCCL_MULTI_QP_THRESHOLD", {"1", "8192"}, {"0", "8193"}},
      {"HCCL_INTRA_PCIE_ENABLE", {"0", "1"}, {"2", ""}},
      {"HCCL_INTRA_ROCE_ENABLE", {"0", "1"}, {"2", ""}},
  };
  return *rows;
}

TEST(HcclVariables, LegalAndIllegalValues) {
  for (const Row& row : Rows()) {
    for (const std::string& value : row.legal) {
      Variable set(row.name, value);
      EXPECT_EQ(IllegalHcclVariable(), "") << row.name << "=" << value;
    }
    for (const std::string& value : row.illegal) {
      Variable set(row.name, value);
      const std::string sentence = IllegalHcclVariable();
      EXPECT_THAT(sentence, HasSubstr(std::string(row.name) + " is \"" + value + "\"; it must be "));
    }
  }
}

// Of the runtime's an illegal value counts as none.
TEST(HcclVariables, OfTheRuntimeAreNotRefused) {
  const std::vector<Row> rows = {
      {"ASCEND_GLOBAL_LOG_LEVEL", {"0", "1", "2", "3", "4"}, {"5", "-1", "info", ""}},
      {"ASCEND_GLOBAL_EVENT_ENABLE", {"0", "1"}, {"2", ""}},
      {"ASCEND_MODULE_LOG_LEVEL", {"HCCL=0:RUNTIME=3", "anything"}, {}},
      {"ASCEND_SLOG_PRINT_TO_STDOUT", {"0", "1"}, {"yes"}},
      {"ASCEND_LOG_PRINT_TO_STDOUT", {"0", "1"}, {"yes"}},
      {"ASCEND_PROCESS_LOG_PATH", {"/tmp"}, {}},
      {"ASCEND_RT_VISIBLE_DEVICES", {"0,2,3", "2,1"}, {}},
  };
  for (const HcclVariable& v : HcclVariables()) {
    if (v.refused) continue;
    bool found = false;
    for (const Row& row : rows) {
      if (std::string(row.name) != v.name) continue;
      found = true;
      for (const std::string& value : row.legal) EXPECT_TRUE(v.is_legal(value)) << v.name << value;
      for (const std::string& value : row.illegal) {
        EXPECT_FALSE(v.is_legal(value)) << v.name << value;
        Variable set(v.name, value);
        EXPECT_EQ(IllegalHcclVariable(), "") << v.name << "=" << value;
      }
    }
    EXPECT_TRUE(found) << v.name;
  }
}

TEST(HcclVariables, EveryRefusedOneHasARow) {
  for (const HcclVariable& v : HcclVariables()) {
    if (!v.refused || std::string(v.name) == "HCCL_WHITELIST_FILE") continue;
    bool found = false;
    for (const Row& row : Rows()) found |= std::string(row.name) == v.name;
    EXPECT_TRUE(found) << v.name;
    if (*v.otherwise) {
      EXPECT_TRUE(v.is_legal(v.otherwise)) << v.name << ": its own default";
    }
  }
}

TEST(HcclVariables, ThatDependOnOthers) {
  {
    Variable mode("HCCL_OP_EXPANSION_MODE", "AIV");
    for (const char* legal : {"0", "1091", "12.34", "0.5"}) {
      Variable set("HCCL_EXEC_TIMEOUT", legal);
      EXPECT_EQ(IllegalHcclVariable(), "") << legal;
    }
    for (const char* illegal : {"1092", "1091.01", "1.234", "1."}) {
      Variable set("HCCL_EXEC_TIMEOUT", illegal);
      EXPECT_NE(IllegalHcclVariable(), "") << illegal;
    }
  }
  {
    Variable address("HCCL_IF_IP", "10.0.0.1");
    Variable set("HCCL_SOCKET_IFNAME", "none");
    EXPECT_EQ(IllegalHcclVariable(), "") << "HCCL_IF_IP wins";
  }
  {
    Variable pcie("HCCL_INTRA_PCIE_ENABLE", "1");
    Variable roce("HCCL_INTRA_ROCE_ENABLE", "1");
    EXPECT_NE(IllegalHcclVariable(), "") << "not both";
  }
  {
    std::string file = ::testing::TempDir() + "whitelist." + std::to_string(getpid());
    std::ofstream(file) << R"({"host_ip": ["127.0.0.1"], "device_ip": []})";
    Variable list("HCCL_WHITELIST_FILE", file);
    Variable set("HCCL_WHITELIST_DISABLE", "0");
    EXPECT_EQ(IllegalHcclVariable(), "");
    std::ofstream(file) << "[";
    EXPECT_NE(IllegalHcclVariable(), "") << "no list in it";
    unlink(file.c_str());
  }
}

// What frameworks set, the C API does not read.
TEST(HcclVariables, OfFrameworksAreNotLookedAt) {
  Variable table("RANK_TABLE_FILE", "/nowhere"), id("RANK_ID", "x"), size("RANK_SIZE", "-1"),
      chief("CM_CHIEF_IP", "x");
  EXPECT_EQ(IllegalHcclVariable(), "");
}

// In a process of its own: the environment is read once.
TEST(HcclVariables, DISABLED_Child) {
  ASSERT_EQ(aclInit(nullptr), 0);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  HcclRootInfo info;
  EXPECT_EQ(HcclGetRootInfo(&info), HCCL_E_PARA);
  const char* name = getenv("EXPECTED_NAME");
  const char* text = aclGetRecentErrMsg();
  ASSERT_TRUE(name && text);
  EXPECT_THAT(text, HasSubstr(name));
  EXPECT_THAT(text, HasSubstr("EI0001"));
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitRootInfo(1, &info, 0, &comm), HCCL_E_PARA);
  EXPECT_EQ(comm, nullptr);
}

TEST(HcclVariables, AnIllegalValueFailsTheFirstCall) {
  Variable quiet("ASCEND_GLOBAL_LOG_LEVEL", "4");
  for (const Row& row : Rows()) {
    Variable set(row.name, row.illegal[0]);
    Variable expected("EXPECTED_NAME", row.name);
    std::string program = "/proc/self/exe", filter = "--gtest_filter=HcclVariables.DISABLED_Child",
                also = "--gtest_also_run_disabled_tests", brief = "--gtest_brief=1";
    char* arguments[] = {program.data(), filter.data(), also.data(), brief.data(), nullptr};
    pid_t child = -1;
    ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << row.name << "=" << row.illegal[0];
  }
}

}  // namespace
}  // namespace hcclrun
