#pragma once
// hcclrun's own settings (HCCLRUN_*), read once. HCCL_* variables have rules of their own
// (base/hccl_variables, comm/hccl_env).

#include <cstdint>
#include <string>

namespace hcclrun {

enum class Engine { kAuto, kClassic, kCooperative };

struct Settings {
  // HCCLRUN_HBM_SIZE, address space per device (default 64 GiB); suffixes K M G T.
  uint64_t hbm_bytes;
  // HCCLRUN_MEMORY, bound on committed device memory of the job; 0 = what the machine has.
  uint64_t memory_bytes;
  // HCCLRUN_DEVICE_COUNT, default 8 (hcclrun sets it to the number of ranks).
  uint32_t device_count;
  // HCCLRUN_PROCESSORS, which the ranks of a communicator are taken to have; 0 = as many as they
  // may use.
  uint32_t processors;
  int64_t connect_timeout_ms;  // HCCLRUN_CONNECT_TIMEOUT (seconds, decimals allowed); -1 = not set
  int64_t exec_timeout_ms;     // HCCLRUN_EXEC_TIMEOUT, likewise
  bool check_is_error;  // HCCLRUN_CHECK=error: warnings about disagreeing ranks become errors
  bool direct;          // HCCLRUN_DIRECT=1: all device memory may take the window path
  bool explain;         // HCCLRUN_EXPLAIN=1: say per operation which path it took and why
  bool strict;          // HCCLRUN_STRICT=1: the host cannot reach device memory, as on hardware, and
                        // what hardware accepts although it is wrong is an error

  // HCCLRUN_STALL_NOTE (seconds, default 5, 0 = never): a wait of this length is told
  // once per communicator.
  int64_t stall_note_ms;
  int64_t rank_table_wait_ms;  // HCCLRUN_RANK_TABLE_WAIT (seconds, default 1800): how long a rank
                               // table may stay incomplete (semantics D.4)
  Engine engine;  // HCCLRUN_ENGINE=classic|cooperative|auto: how collectives are executed
  bool accumulate_fp32;  // HCCLRUN_ACCUMULATE=fp32: what fp16 and bf16 are summed up in

  std::string soc;  // HCCLRUN_SOC, the chip that is played (base/soc.h)
  bool atlas_a3;    // it is an Atlas A3: symmetric windows, zero copy

  static const Settings& Get();
};

// "64", "10M", "1.5G" -> bytes; false when malformed or 0.
bool ParseBytes(const char* text, uint64_t* bytes);

}  // namespace hcclrun
