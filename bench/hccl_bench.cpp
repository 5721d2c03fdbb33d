// Bandwidth of the collectives under hcclrun, and whether their results are right. hccl_bench -h
// explains the options.
//
// For each size: fill the input, run warm-ups, time the runs between two events, and then, if
// checking, write another input, poison the output, run once more and compare every element.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "hcclrun/bootstrap.h"
#include "options.h"
#include "report.h"
#include "values.h"

namespace hcclrun::bench {
namespace {

class Bench {
 public:
  Bench(const Options& options, Session* session, Buffer* in, Buffer* out, size_t host_bytes)
      : options_(options),
        session_(*session),
        in_(*in),
        out_(*out),
        timed_(options.type, options.op, session->size(), 0),
        checked_(options.type, options.op, session->size(), 1, Fp32Sums()),
        host_(host_bytes) {}

  Row Measure(Operation operation, uint64_t bytes) {
    const uint32_t ranks = session_.size();
    const Shape shape = ShapeFor(operation, bytes, ElementBytes(options_.type), ranks);
    const auto run = [&] {
      Run(operation, shape, options_.type, options_.op, in_, out_, session_);
    };

    timed_.Fill(session_.rank(), shape.in_elements, host_.data());
    in_.Upload(host_.data(), shape.in_bytes());
    for (int i = 0; i < options_.warmups; ++i) run();
    const double us = session_.TimeMicroseconds(options_.iterations, options_.sync, run);
    const char* path = PathTaken(session_);

    Session::Verdict mine = {0, static_cast<int64_t>(us * 1e3)};
    if (options_.check) mine.wrong_elements = static_cast<int64_t>(Check(operation, shape, run));
    const Session::Verdict worst = session_.Worst(mine);

    Row row = {};
    row.operation = operation;
    row.bytes = shape.bytes();
    row.count = shape.count;
    row.path = path;
    row.microseconds = static_cast<double>(worst.nanoseconds) / 1e3 / options_.iterations;
    row.algbw =
        row.microseconds > 0 ? static_cast<double>(shape.bytes()) / row.microseconds / 1e3 : 0;
    row.busbw = row.algbw * BusFactor(operation, ranks);
    if (options_.check) row.wrong = static_cast<uint64_t>(worst.wrong_elements);
    return row;
  }

 private:
  // The launcher gives all ranks the same environment.
  static bool Fp32Sums() {
    const char* text = std::getenv("HCCLRUN_ACCUMULATE");
    return text && std::strcmp(text, "fp32") == 0;
  }
  // Elements of this rank's output that are wrong.
  template <typename RunOnce>
  uint64_t Check(Operation operation, const Shape& shape, const RunOnce& run) {
    checked_.Fill(session_.rank(), shape.in_elements, host_.data());
    in_.Upload(host_.data(), shape.in_bytes());
    out_.Poison(shape.out_bytes());
    run();
    BENCH_CHECK(aclrtSynchronizeStream(session_.stream()));
    out_.Download(host_.data(), shape.out_bytes());
    const Values::Mismatch result =
        checked_.Compare(operation, shape, session_.rank(), host_.data());
    if (result.wrong != 0) {
      std::fprintf(
          stderr, "rank %u: %s of %llu bytes: %llu of %llu elements are wrong, the first at %llu\n",
          session_.rank(), Name(operation), static_cast<unsigned long long>(shape.bytes()),
          static_cast<unsigned long long>(result.wrong),
          static_cast<unsigned long long>(shape.out_elements),
          static_cast<unsigned long long>(result.first));
    }
    return result.wrong;
  }

  const Options& options_;
  Session& session_;
  Buffer& in_;
  Buffer& out_;
  const Values timed_;
  const Values checked_;
  std::vector<unsigned char> host_;
};

int Main(int argc, char** argv) {
  const bool talk = hcclrunRank() == 0;
  Options options;
  int exit_code = 0;
  if (!ParseOptions(argc, argv, talk, &options, &exit_code)) return exit_code;

  const std::vector<uint64_t> sizes = options.Sizes();
  const uint32_t ranks = static_cast<uint32_t>(hcclrunSize());
  uint64_t room = 1;
  for (const Operation operation : options.operations) {
    room = std::max(room,
                    ShapeFor(operation, sizes.back(), ElementBytes(options.type), ranks).bytes());
  }
  constexpr uint64_t kRounding = 2 << 20;  // windows are made of 2 MiB pages
  Session session(2 * (room + kRounding), options.npus);
  uint64_t failures = 0;
  {
    Buffer in(session, room, options.path), out(session, room, options.path);
    Bench bench(options, &session, &in, &out, room);
    std::unique_ptr<Report> report = talk ? std::make_unique<Report>(options, ranks) : nullptr;
    for (const Operation operation : options.operations) {
      for (const uint64_t bytes : sizes) {
        const Row row = bench.Measure(operation, bytes);
        if (row.wrong.value_or(0) != 0) ++failures;
        if (report) report->Add(row);
      }
    }
    if (report) report->Finish();
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hcclrun::bench

int main(int argc, char** argv) { return hcclrun::bench::Main(argc, argv); }
