#include "hccl/config.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/hccl_variables.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/soc.h"
#include "comm/hccl_env.h"

namespace hcclrun {
namespace {

// What HcclCommConfigInit of the caller's header wrote into the first bytes.
struct Stamp {
  size_t size;
  uint32_t magic;
  uint32_t version;
};

class Reader {
 public:
  Reader(const void* config, const Stamp& stamp)
      : bytes_(static_cast<const char*>(config)), stamp_(stamp) {}

  // The field at `offset` if version and size include it; `absent` otherwise.
  template <class T>
  T Field(size_t offset, uint32_t since, T absent) const {
    if (!Has(offset, sizeof(T), since)) return absent;
    T value;
    memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  std::string Text(size_t offset, size_t capacity, uint32_t since) const {
    if (!Has(offset, capacity, since)) return "";
    return std::string(bytes_ + offset, strnlen(bytes_ + offset, capacity - 1));
  }

 private:
  bool Has(size_t offset, size_t bytes, uint32_t since) const {
    return stamp_.version >= since && offset + bytes <= stamp_.size;
  }
  const char* bytes_;
  Stamp stamp_;
};

constexpr uint32_t kNotSet = 0xffffffff;
constexpr size_t kLargestSize = 1 << 16;  // beyond it the stamp is garbage

Fault Invalid(const char* field, uint64_t value) {
  return Fault(FaultKind::kConfigInvalid, {value}, field);
}

template <class T>
void Ignored(const char* field, const T& value) {
  Tell(LogLevel::kWarning, absl::StrCat("the communicator configuration has ", field, " = ", value,
                                        ", which is ignored"));
}

}  // namespace

#define FIELD(name) offsetof(HcclCommConfig, name)

std::vector<char> CopyConfig(const HcclCommConfig& config) {
  Stamp stamp;
  memcpy(&stamp, &config, sizeof stamp);
  // What a newer header than ours has behind our fields is not looked at, and a stamp may lie.
  const size_t size = stamp.size > kLargestSize
                          ? sizeof stamp
                          : std::clamp(stamp.size, sizeof stamp, sizeof(HcclCommConfig));
  const char* bytes = reinterpret_cast<const char*>(&config);
  return std::vector<char>(bytes, bytes + size);
}

Result<CommConfig> ReadConfig(const HcclCommConfig* config) {
  const HcclEnv& env = HcclEnv::Get();
  CommConfig result;
  result.buffer_bytes = env.buffer_bytes;
  result.connect_timeout_ms = env.connect_timeout_ms;
  result.exec_timeout_ms = env.exec_timeout_ms;
  result.expansion = env.expansion;
  result.strict = env.deterministic == 2;
  result.algorithm = env.algorithm;
  if (!config) return result;

  Stamp stamp;
  memcpy(&stamp, config, sizeof stamp);
  if (stamp.magic != HCCL_COMM_CONFIG_MAGIC_WORD || stamp.size < FIELD(hcclBufferSize) ||
      stamp.size > kLargestSize) {
    return Fault(FaultKind::kConfigInvalid, {stamp.magic},
                 "a wrong magic word or size (call HcclCommConfigInit on it first)");
  }
  const Reader read(config, stamp);
  // The numbers are the versions that brought the fields.
  uint32_t buffer_mb = read.Field<uint32_t>(FIELD(hcclBufferSize), 1, kNotSet);
  if (buffer_mb == 0) return Invalid("hcclBufferSize", 0);
  if (buffer_mb != kNotSet) result.buffer_bytes = uint64_t{buffer_mb} << 20;

  uint32_t deterministic = read.Field<uint32_t>(FIELD(hcclDeterministic), 1, kNotSet);
  if (deterministic != kNotSet && deterministic > 2)
    return Invalid("hcclDeterministic", deterministic);
  // 2 (strict) is for Atlas A2 alone (semantics D.3).
  if (deterministic == 2 && !IsAtlasA2(Settings::Get().soc))
    Tell(LogLevel::kWarning,
         "hcclDeterministic = 2 is taken as 1: results are always deterministic here");
  if (deterministic != kNotSet)
    result.strict = deterministic == 2 && IsAtlasA2(Settings::Get().soc);

  result.name = read.Text(FIELD(hcclCommName), COMM_NAME_MAX_LENGTH, 1);

  switch (uint32_t mode = read.Field<uint32_t>(FIELD(hcclOpExpansionMode), 4, 0)) {
    case 0:
      break;
    case 1:
      result.expansion = Expansion::kHost;
      break;
    case 2:
      result.expansion = Expansion::kAiCpu;
      break;
    case 3:
      result.expansion = Expansion::kAiv;
      break;
    case 4:
      result.expansion = Expansion::kAivOnly;
      break;
    default:
      Ignored("hcclOpExpansionMode", mode);
  }
  // Texts that only say what to do about a network: checked as the variables of the same meaning.
  const std::string algorithm = read.Text(FIELD(hcclAlgo), HCCL_COMM_ALGO_MAX_LENGTH, 8);
  if (!algorithm.empty() && !LegalAlgorithm(algorithm)) {
    return Fault(FaultKind::kConfigInvalid, {0},
                 absl::StrCat("hcclAlgo \"", algorithm, "\", written unlike HCCL_ALGO; number"));
  }
  if (!algorithm.empty()) result.algorithm = algorithm;
  const std::string retry = read.Text(FIELD(hcclRetryEnable), HCCL_COMM_RETRY_ENABLE_MAX_LENGTH, 8);
  if (!retry.empty() && !LegalRetryEnable(retry)) Ignored("hcclRetryEnable", retry);
  const std::string params = read.Text(FIELD(hcclRetryParams), HCCL_COMM_RETRY_PARAMS_MAX_LENGTH, 8);
  if (!params.empty() && !LegalRetryParams(params)) Ignored("hcclRetryParams", params);
  result.label = read.Text(FIELD(hcclUdi), UDI_MAX_LENGTH, 3);

  uint8_t graph_zero_copy = read.Field<uint8_t>(FIELD(aclGraphZeroCopyEnable), 7, 0);
  if (graph_zero_copy > 1) return Invalid("aclGraphZeroCopyEnable", graph_zero_copy);

  result.buffer_name = read.Text(FIELD(hcclBufferName), BUFFER_NAME_MAX_LENGTH, 9);

  int32_t exec_s = read.Field<int32_t>(FIELD(hcclExecTimeOut), 8, static_cast<int32_t>(kNotSet));
  if (exec_s != static_cast<int32_t>(kNotSet) && !env.exec_timeout_forced) {
    if (exec_s < 0) {
      Ignored("hcclExecTimeOut", exec_s);
    } else {
      result.exec_timeout_ms = exec_s == 0 ? -1 : int64_t{exec_s} * 1000;
    }
  }
  // In GB; 0 and too large values are found by the first registration (semantics A.2).
  uint64_t stride_gb = read.Field<uint64_t>(FIELD(hcclSymWinMaxMemSizePerRank), 10,
                                            HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE);
  result.stride_bytes =
      stride_gb > (UINT64_MAX >> 30) ? UINT64_MAX & ~uint64_t{(1 << 30) - 1} : stride_gb << 30;
  return result;
}

#undef FIELD

}  // namespace hcclrun
