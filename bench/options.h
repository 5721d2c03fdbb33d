#pragma once
// The command line of hccl_bench. Options mean what they mean to hccl_test.

#include <cstdint>
#include <vector>

#include "operations.h"

namespace hcclrun::bench {

struct Options {
  std::vector<Operation> operations;
  uint64_t min_bytes = 64 << 20;
  uint64_t max_bytes = 64 << 20;
  uint64_t step_bytes = 0;   // 0: a tenth of the span, unless step_factor is given
  uint64_t step_factor = 0;  // 0: not given
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp op = HCCL_REDUCE_SUM;
  int iterations = 20;
  int warmups = 10;
  bool check = true;
  uint32_t npus = 0;  // 0: not given
  Path path = Path::kWindow;
  bool sync = false;
  enum class Format { kTable, kCsv, kJson } format = Format::kTable;

  // The sizes to run, ascending, at least one.
  std::vector<uint64_t> Sizes() const;
};

// Reads the command line. If there is nothing to run (help, or a mistake) *exit_code is set and the
// result is false; `talk` says whether this process prints about it.
bool ParseOptions(int argc, char** argv, bool talk, Options* options, int* exit_code);

}  // namespace hcclrun::bench
