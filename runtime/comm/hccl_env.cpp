#include "comm/hccl_env.h"

#include <strings.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/settings.h"

namespace hcclrun {
namespace {

class Parser {
 public:
  explicit Parser(HcclEnv* env) : env_(env) {}

  // A whole number from `low` to `high`; *value is untouched when the variable is not set.
  void Number(const char* name, int64_t low, int64_t high, int64_t* value) {
    const char* text = getenv(name);
    if (!text) return;
    int64_t parsed;
    if (!absl::SimpleAtoi(text, &parsed) || parsed < low || parsed > high) {
      Illegal(name, text, absl::StrCat("a whole number from ", low, " to ", high));
      return;
    }
    *value = parsed;
  }

  // Index of the value in `legal`, or `otherwise` when the variable is not set.
  int Choice(const char* name, std::initializer_list<const char*> legal, bool any_case,
             int otherwise) {
    const char* text = getenv(name);
    if (!text) return otherwise;
    int index = 0;
    std::string all;
    for (const char* value : legal) {
      if ((any_case ? strcasecmp(text, value) : strcmp(text, value)) == 0) return index;
      absl::StrAppend(&all, all.empty() ? "" : ", ", value);
      index++;
    }
    Illegal(name, text, absl::StrCat("one of ", all));
    return otherwise;
  }

 private:
  void Illegal(const char* name, const char* text, const std::string& legal) {
    if (!env_->fault) {
      env_->fault = Fault(FaultKind::kEnvironment,
                          absl::StrCat(name, " is \"", text, "\"; it must be ", legal));
    }
  }
  HcclEnv* env_;
};

HcclEnv Read() {
  HcclEnv env;
  Parser parse(&env);
  int64_t megabytes = 200, connect_s = 120, exec_s = 1836;
  parse.Number("HCCL_BUFFSIZE", 1, int64_t{1} << 40, &megabytes);
  parse.Number("HCCL_CONNECT_TIMEOUT", 120, 7200, &connect_s);
  parse.Number("HCCL_EXEC_TIMEOUT", 0, 2147483647, &exec_s);
  env.buffer_bytes = uint64_t(megabytes) << 20;
  env.connect_timeout_ms = connect_s * 1000;
  env.exec_timeout_ms = exec_s == 0 ? -1 : exec_s * 1000;
  switch (parse.Choice("HCCL_OP_EXPANSION_MODE",
                       {"AI_CPU", "AICPU_CacheDisable", "AIV", "HOST", "HOST_TS"}, false, 0)) {
    case 2:
      env.expansion = Expansion::kAiv;
      break;
    case 3:
    case 4:
      env.expansion = Expansion::kHost;
      break;
    default:
      break;
  }
  parse.Choice("HCCL_DETERMINISTIC", {"false", "true", "strict"}, true,
               0);  // results are always deterministic here
  env.inter_hccs_disable = parse.Choice("HCCL_INTER_HCCS_DISABLE", {"FALSE", "TRUE"}, true, 0) == 1;
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
