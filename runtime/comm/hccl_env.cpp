#include "comm/hccl_env.h"

#include <strings.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/hccl_variables.h"
#include "base/settings.h"

namespace hcclrun {
namespace {

std::string Text(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

double Number(const char* name, double otherwise) {
  const char* value = getenv(name);
  return value ? strtod(value, nullptr) : otherwise;
}

// Legal values only.
void ReadValues(HcclEnv* env) {
  env->buffer_bytes = static_cast<uint64_t>(Number("HCCL_BUFFSIZE", 200)) << 20;
  env->connect_timeout_ms = static_cast<int64_t>(Number("HCCL_CONNECT_TIMEOUT", 120)) * 1000;
  const double exec_s = Number("HCCL_EXEC_TIMEOUT", 1836);
  env->exec_timeout_ms = exec_s == 0 ? -1 : std::llround(exec_s * 1000);
  const std::string mode = Text("HCCL_OP_EXPANSION_MODE");
  env->expansion = mode == "AIV"       ? Expansion::kAiv
                   : mode == "HOST"    ? Expansion::kHost
                   : mode == "HOST_TS" ? Expansion::kHostTs
                                       : Expansion::kAiCpu;
  env->algorithm = Text("HCCL_ALGO");
  env->inter_hccs_disable = strcasecmp(Text("HCCL_INTER_HCCS_DISABLE").c_str(), "TRUE") == 0;
  const std::string deterministic = Text("HCCL_DETERMINISTIC");
  env->deterministic_set = !deterministic.empty();
  env->deterministic = strcasecmp(deterministic.c_str(), "strict") == 0 ? 2
                       : strcasecmp(deterministic.c_str(), "true") == 0 ? 1
                                                                        : 0;
  env->logic_superpod = Text("HCCL_LOGIC_SUPERPOD_ID");
}

HcclEnv Read() {
  HcclEnv env;
  const std::string illegal = IllegalHcclVariable();
  if (illegal.empty()) {
    ReadValues(&env);
  } else {
    env.fault = Fault(FaultKind::kEnvironment, illegal);
  }
  const Settings& settings = Settings::Get();
  if (settings.connect_timeout_ms > 0) env.connect_timeout_ms = settings.connect_timeout_ms;
  if (settings.exec_timeout_ms > 0) {
    env.exec_timeout_ms = settings.exec_timeout_ms;
    env.exec_timeout_forced = true;
  }
  return env;
}

}  // namespace

const HcclEnv& HcclEnv::Get() {
  static const HcclEnv* env = new HcclEnv(Read());
  return *env;
}

}  // namespace hcclrun
