#pragma once
// hcclrun's own settings (HCCLRUN_*), read once. HCCL_* variables with CANN's rules are parsed in
// comm/hccl_env.

#include <cstdint>

namespace hcclrun {

struct Settings {
  uint64_t
      hbm_bytes;  // HCCLRUN_HBM_SIZE, address space per device (default 64 GiB); suffixes K M G T
  uint64_t memory_bytes;  // HCCLRUN_MEMORY, bound on committed device memory of the job; 0 = what
                          // the machine has
  uint32_t
      device_count;  // HCCLRUN_DEVICE_COUNT, default 8 (hcclrun sets it to the number of ranks)
  int64_t connect_timeout_ms;  // HCCLRUN_CONNECT_TIMEOUT (seconds, decimals allowed); -1 = not set
  int64_t exec_timeout_ms;     // HCCLRUN_EXEC_TIMEOUT, likewise
  bool check_is_error;  // HCCLRUN_CHECK=error: warnings about disagreeing ranks become errors
  bool direct;          // HCCLRUN_DIRECT=1: all device memory may take the window path
  bool explain;         // HCCLRUN_EXPLAIN=1: say per operation which path it took and why

  static const Settings& Get();
};

// "64", "10M", "1.5G" -> bytes; false when malformed or 0.
bool ParseBytes(const char* text, uint64_t* bytes);

}  // namespace hcclrun
