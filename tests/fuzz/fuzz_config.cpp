// HcclCommConfig: any bytes, whatever size and version their stamp claims.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "hccl/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);
  HcclCommConfig config;
  memset(&config, 0xa5, sizeof config);
  std::copy_n(data, std::min(size, sizeof config), reinterpret_cast<uint8_t*>(&config));
  auto read = hcclrun::ReadConfig(&config);
  if (read.ok() && (read->buffer_bytes == 0 || read->name.size() >= COMM_NAME_MAX_LENGTH)) abort();
  const std::vector<char> copy = hcclrun::CopyConfig(config);
  if (copy.size() > sizeof config) abort();
  return 0;
}
