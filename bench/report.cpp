#include "report.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace hcclrun::bench {
namespace {

const char* OpName(const Row& row, const Options& options) {
  return Reduces(row.operation) ? Name(options.op) : "-";
}

const char* CheckName(const Row& row) {
  if (!row.wrong) return "-";
  return *row.wrong == 0 ? "ok" : "FAILED";
}

}  // namespace

Report::Report(const Options& options, uint32_t ranks) : options_(options), ranks_(ranks) {
  if (options_.format == Options::Format::kTable) {
    std::printf("# %u ranks, %d runs after %d warm-ups, %s\n", ranks_, options_.iterations,
                options_.warmups, options_.sync ? "each synchronised" : "enqueued");
    std::printf("%-14s %12s %12s %6s %5s %9s %12s %9s %9s  %s\n", "# operation", "size", "count",
                "type", "op", "path", "time(us)", "algbw", "busbw", "check");
  } else if (options_.format == Options::Format::kCsv) {
    std::puts("operation,ranks,size,count,type,op,path,time_us,algbw_gbs,busbw_gbs,check");
  }
}

void Report::Add(const Row& row) {
  switch (options_.format) {
    case Options::Format::kTable:
      std::printf("%-14s %12llu %12llu %6s %5s %9s %12.2f %9.4f %9.4f  %s\n", Name(row.operation),
                  static_cast<unsigned long long>(row.bytes),
                  static_cast<unsigned long long>(row.count), Name(options_.type),
                  OpName(row, options_), row.path, row.microseconds, row.algbw, row.busbw,
                  CheckName(row));
      break;
    case Options::Format::kCsv:
      std::printf("%s,%u,%llu,%llu,%s,%s,%s,%.3f,%.4f,%.4f,%s\n", Name(row.operation), ranks_,
                  static_cast<unsigned long long>(row.bytes),
                  static_cast<unsigned long long>(row.count), Name(options_.type),
                  OpName(row, options_), row.path, row.microseconds, row.algbw, row.busbw,
                  CheckName(row));
      break;
    case Options::Format::kJson:
      rows_.push_back(row);
      break;
  }
  std::fflush(stdout);
}

void Report::Finish() {
  if (options_.format != Options::Format::kJson) return;
  nlohmann::ordered_json out;
  out["ranks"] = ranks_;
  out["iterations"] = options_.iterations;
  out["warmups"] = options_.warmups;
  out["synchronised"] = options_.sync;
  out["results"] = nlohmann::json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json result;
    result["operation"] = Name(row.operation);
    result["size"] = row.bytes;
    result["count"] = row.count;
    result["type"] = Name(options_.type);
    if (Reduces(row.operation)) result["op"] = Name(options_.op);
    result["path"] = row.path;
    result["time_us"] = row.microseconds;
    result["algbw_gbs"] = row.algbw;
    result["busbw_gbs"] = row.busbw;
    if (row.wrong) result["wrong_elements"] = *row.wrong;
    out["results"].push_back(result);
  }
  std::printf("%s\n", out.dump(2).c_str());
}

}  // namespace hcclrun::bench
