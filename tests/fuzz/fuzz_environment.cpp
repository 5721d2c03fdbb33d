// Values of environment variables: the first byte chooses the rule, the rest is the value.

#include <cstdint>
#include <string>

#include "base/hccl_variables.h"
#include "base/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string value = all.c_str();  // a variable has no NUL in it
  const auto& variables = hcclrun::HcclVariables();
  variables[data[0] % variables.size()].is_legal(value);
  hcclrun::LegalAlgorithm(value);
  hcclrun::LegalRetryEnable(value);
  hcclrun::LegalRetryParams(value);
  uint64_t bytes = 1;
  if (hcclrun::ParseBytes(value.c_str(), &bytes) && bytes == 0) __builtin_trap();
  return 0;
}
