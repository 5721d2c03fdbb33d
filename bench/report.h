#pragma once
// Output of hccl_bench as a table, CSV or JSON. Only rank 0 has a report.

#include <cstdint>
#include <optional>
#include <vector>

#include "options.h"

namespace hcclrun::bench {

struct Row {
  Operation operation;
  uint64_t bytes;
  uint64_t count;
  const char* path;  // taken
  double microseconds;
  double algbw;  // 10^9 bytes per second
  double busbw;
  std::optional<uint64_t> wrong;  // elements on the worst rank; none if not checked
};

class Report {
 public:
  Report(const Options& options, uint32_t ranks);

  void Add(const Row& row);  // tables and CSV: printed at once
  void Finish();             // JSON: printed here

 private:
  const Options& options_;
  uint32_t ranks_;
  std::vector<Row> rows_;
};

}  // namespace hcclrun::bench
