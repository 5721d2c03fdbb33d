// What the host pays for single calls of the public API, in a job of one rank: no other rank is
// waited for.
//
//   calls_gbench [options of Google Benchmark]

#include <benchmark/benchmark.h>

#include "buffers.h"
#include "session.h"

namespace hcclrun::bench {
namespace {

Session& OnlySession() {
  static auto* session = new Session(64 << 20, 0);
  return *session;
}

void BM_MallocAndFree(benchmark::State& state) {
  OnlySession();
  for (auto _ : state) {
    void* memory = nullptr;
    BENCH_CHECK(aclrtMalloc(&memory, static_cast<size_t>(state.range(0)), ACL_MEM_MALLOC_HUGE_FIRST));
    BENCH_CHECK(aclrtFree(memory));
  }
}
BENCHMARK(BM_MallocAndFree)->Arg(512)->Arg(1 << 20)->Arg(64 << 20);

void BM_RecordEvent(benchmark::State& state) {
  Session& session = OnlySession();
  aclrtEvent event = nullptr;
  BENCH_CHECK(aclrtCreateEvent(&event));
  for (auto _ : state) BENCH_CHECK(aclrtRecordEvent(event, session.stream()));
  BENCH_CHECK(aclrtSynchronizeStream(session.stream()));
  BENCH_CHECK(aclrtDestroyEvent(event));
}
BENCHMARK(BM_RecordEvent);

void BM_SynchronizeIdleStream(benchmark::State& state) {
  Session& session = OnlySession();
  for (auto _ : state) BENCH_CHECK(aclrtSynchronizeStream(session.stream()));
}
BENCHMARK(BM_SynchronizeIdleStream);

// The call alone; the stream is emptied every kBatch calls outside the time.
void BM_EnqueueAllReduce(benchmark::State& state) {
  constexpr int kBatch = 20;
  Session& session = OnlySession();
  const Buffer in(session, 1 << 20, Path::kWindow), out(session, 1 << 20, Path::kWindow);
  int queued = 0;
  for (auto _ : state) {
    BENCH_CHECK(HcclAllReduce(in.data(), out.data(), 2, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                              session.comm(), session.stream()));
    if (++queued == kBatch) {
      state.PauseTiming();
      BENCH_CHECK(aclrtSynchronizeStream(session.stream()));
      queued = 0;
      state.ResumeTiming();
    }
  }
  BENCH_CHECK(aclrtSynchronizeStream(session.stream()));
}
BENCHMARK(BM_EnqueueAllReduce);

void BM_Barrier(benchmark::State& state) {
  Session& session = OnlySession();
  for (auto _ : state) {
    BENCH_CHECK(HcclBarrier(session.comm(), session.stream()));
    BENCH_CHECK(aclrtSynchronizeStream(session.stream()));
  }
}
BENCHMARK(BM_Barrier);

}  // namespace
}  // namespace hcclrun::bench

BENCHMARK_MAIN();
