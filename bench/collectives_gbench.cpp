// The four collectives on both paths as a Google Benchmark program: bytes per second of the larger
// one of a rank's two buffers, timed by stream events.
//
//   hcclrun -n 8 --no-label collectives_gbench [--benchmark_filter=... and other options of Google
//   Benchmark]
//
// A benchmark is a collective act here: all ranks must run the same ones equally often.
// Hence the fixed iteration counts, chosen by size alone. Ranks other than 0 run everything
// and report nothing.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hcclrun/bootstrap.h"
#include "operations.h"

namespace hcclrun::bench {
namespace {

constexpr uint64_t kSizes[] = {1 << 10, 64 << 10, 1 << 20, 16 << 20};

int Iterations(uint64_t bytes) { return bytes <= (64 << 10) ? 200 : bytes <= (1 << 20) ? 50 : 5; }

// One iteration of Google Benchmark: ten enqueued runs between two events.
void Collective(benchmark::State& state, Session* session, Buffer* in, Buffer* out,
                Operation operation, uint64_t bytes) {
  constexpr int kBatch = 10;
  const Shape shape = ShapeFor(operation, bytes, sizeof(float), session->size());
  const auto run = [&] {
    Run(operation, shape, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, *in, *out, *session);
  };
  run();
  for (auto _ : state)
    state.SetIterationTime(session->TimeMicroseconds(kBatch, false, run) / 1e6 / kBatch);
  state.SetBytesProcessed(static_cast<int64_t>(shape.bytes()) * state.iterations());
}

// Takes what Google Benchmark would print and drops it.
class Silence : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

int Main(int argc, char** argv) {
  const bool talk = hcclrunRank() == 0;
  // Only rank 0 writes files.
  std::vector<char*> args;
  for (int i = 0; i < argc; ++i) {
    if (talk || std::strncmp(argv[i], "--benchmark_out", 15) != 0) args.push_back(argv[i]);
  }
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  if (benchmark::ReportUnrecognizedArguments(count, args.data())) return 2;

  const uint64_t room = kSizes[std::size(kSizes) - 1] + 64 * 1024;
  Session session(4 * room + (8 << 20), 0);
  {
    Buffer window_in(session, room, Path::kWindow), window_out(session, room, Path::kWindow);
    Buffer plain_in(session, room, Path::kBuffered), plain_out(session, room, Path::kBuffered);
    for (const Operation operation : kOperations) {
      for (const Path path : {Path::kWindow, Path::kBuffered}) {
        Buffer* in = path == Path::kWindow ? &window_in : &plain_in;
        Buffer* out = path == Path::kWindow ? &window_out : &plain_out;
        for (const uint64_t bytes : kSizes) {
          const std::string name = std::string(Name(operation)) +
                                   (path == Path::kWindow ? "/window/" : "/buffered/") +
                                   std::to_string(bytes);
          benchmark::RegisterBenchmark(name.c_str(), Collective, &session, in, out, operation,
                                       bytes)
              ->UseManualTime()
              ->Iterations(Iterations(bytes))
              ->Unit(benchmark::kMicrosecond);
        }
      }
    }
    if (talk) {
      benchmark::RunSpecifiedBenchmarks();
    } else {
      Silence silence;
      benchmark::RunSpecifiedBenchmarks(&silence);
    }
    benchmark::Shutdown();
  }
  return 0;
}

}  // namespace
}  // namespace hcclrun::bench

int main(int argc, char** argv) { return hcclrun::bench::Main(argc, argv); }
