// What legal values of environment variables mean (semantics E, rows that have a meaning here). The
// environment is read once in a process, so each value is looked at in a child.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "comm/hccl_env.h"
#include "device/device.h"

namespace hcclrun {
namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

// Whether `holds` in a process with these variables.
void ExpectWith(const Variables& variables, const std::function<bool()>& holds) {
  std::string text;
  for (const auto& [name, value] : variables) text += std::string(name) + "=" + value + " ";
  EXPECT_EXIT(
      {
        for (const auto& [name, value] : variables) setenv(name, value, 1);
        std::_Exit(holds() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "")
      << text;
}

const HcclEnv& Env() { return HcclEnv::Get(); }

TEST(HcclEnv, Defaults) {
  ExpectWith({}, [] {
    return !Env().fault && Env().buffer_bytes == uint64_t{200} << 20 &&
           Env().connect_timeout_ms == 120'000 && Env().exec_timeout_ms == 1'836'000 &&
           Env().expansion == Expansion::kAiCpu && !Env().inter_hccs_disable &&
           !Env().deterministic_set && Env().deterministic == 0 && Env().logic_superpod.empty();
  });
}

TEST(HcclEnv, BufferSizeInMegabytes) {
  ExpectWith({{"HCCL_BUFFSIZE", "1"}}, [] { return Env().buffer_bytes == 1 << 20; });
}

TEST(HcclEnv, TimeoutsInSeconds) {
  ExpectWith({{"HCCL_CONNECT_TIMEOUT", "7200"}, {"HCCL_EXEC_TIMEOUT", "68"}}, [] {
    return Env().connect_timeout_ms == 7'200'000 && Env().exec_timeout_ms == 68'000;
  });
  ExpectWith({{"HCCL_EXEC_TIMEOUT", "0"}}, [] { return Env().exec_timeout_ms < 0; });
  ExpectWith({{"HCCL_EXEC_TIMEOUT", "1.25"}, {"HCCL_OP_EXPANSION_MODE", "AIV"}},
             [] { return Env().exec_timeout_ms == 1250; });
  ExpectWith({{"HCCL_CONNECT_TIMEOUT", "200"},
              {"HCCLRUN_CONNECT_TIMEOUT", "0.5"},
              {"HCCLRUN_EXEC_TIMEOUT", "0.25"}},
             [] { return Env().connect_timeout_ms == 500 && Env().exec_timeout_ms == 250; });
}

TEST(HcclEnv, ExpansionMode) {
  const auto is = [](const char* value, Expansion expected) {
    ExpectWith({{"HCCL_OP_EXPANSION_MODE", value}},
               [expected] { return Env().expansion == expected; });
  };
  is("AI_CPU", Expansion::kAiCpu);
  is("AICPU_CacheDisable", Expansion::kAiCpu);
  is("AIV", Expansion::kAiv);
  is("HOST", Expansion::kHost);
  is("HOST_TS", Expansion::kHostTs);
}

TEST(HcclEnv, DeterministicInAnyCase) {
  const auto is = [](const char* value, int32_t expected) {
    ExpectWith({{"HCCL_DETERMINISTIC", value}},
               [expected] { return Env().deterministic_set && Env().deterministic == expected; });
  };
  is("False", 0);
  is("TRUE", 1);
  is("strict", 2);
}

TEST(HcclEnv, InterHccsDisableInAnyCase) {
  ExpectWith({{"HCCL_INTER_HCCS_DISABLE", "true"}}, [] { return Env().inter_hccs_disable; });
  ExpectWith({{"HCCL_INTER_HCCS_DISABLE", "False"}}, [] { return !Env().inter_hccs_disable; });
}

TEST(HcclEnv, LogicSuperPod) {
  ExpectWith({{"HCCL_LOGIC_SUPERPOD_ID", "a pod"}}, [] { return Env().logic_superpod == "a pod"; });
}

TEST(HcclEnv, IsReadOnce) {
  ExpectWith({{"HCCL_BUFFSIZE", "3"}}, [] {
    const uint64_t first = Env().buffer_bytes;
    setenv("HCCL_BUFFSIZE", "none", 1);
    return first == 3 << 20 && Env().buffer_bytes == first && !Env().fault;
  });
}

// An illegal value is a fault of the environment, and nothing else of it counts.
TEST(HcclEnv, IllegalValuesAreAFault) {
  ExpectWith({{"HCCL_BUFFSIZE", "0"}, {"HCCL_CONNECT_TIMEOUT", "300"}}, [] {
    return Env().fault.kind == FaultKind::kEnvironment && Env().connect_timeout_ms == 120'000;
  });
}

TEST(LogLevels, GlobalAndOfModules) {
  const auto enabled = [](const Variables& variables, LogModule module, LogLevel lowest) {
    ExpectWith(variables, [module, lowest] {
      for (int level = 0; level < 4; ++level) {
        if (LogEnabled(module, LogLevel(level)) != (level >= int(lowest))) return false;
      }
      return true;
    });
  };
  enabled({}, LogModule::kHccl, LogLevel::kError);
  enabled({{"ASCEND_GLOBAL_LOG_LEVEL", "0"}}, LogModule::kHccl, LogLevel::kDebug);
  enabled({{"ASCEND_GLOBAL_LOG_LEVEL", "4"}}, LogModule::kHccl, LogLevel::kNone);
  enabled({{"ASCEND_GLOBAL_LOG_LEVEL", "5"}}, LogModule::kHccl, LogLevel::kError);  // default
  enabled({{"ASCEND_MODULE_LOG_LEVEL", "HCCL=1:RUNTIME=0"}}, LogModule::kHccl, LogLevel::kInfo);
  enabled({{"ASCEND_MODULE_LOG_LEVEL", "RUNTIME=0"}}, LogModule::kHccl, LogLevel::kError);
}

// The list ends at its first bad entry: blank, no number, out of range, twice, out of order.
TEST(VisibleDevices, TheListEndsAtItsFirstBadEntry) {
  const auto count = [](const char* list, uint32_t expected) {
    ExpectWith({{"HCCLRUN_DEVICE_COUNT", "6"}, {"ASCEND_RT_VISIBLE_DEVICES", list}},
               [expected] { return Device::Count() == expected; });
  };
  count("0,2,3", 3);
  count("0,,2", 1);
  count("0, 2", 1);
  count("0,x,2", 1);
  count("0,6", 1);
  count("0,1,1,2", 2);
  count("3,1", 1);
  count("-1,0", 0);
  count("", 0);
}

}  // namespace
}  // namespace hcclrun
