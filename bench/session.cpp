#include "session.h"

#include <cstdio>
#include <cstdlib>

#include "hcclrun/bootstrap.h"

namespace hcclrun::bench {

void Require(int code, const char* call) {
  if (code == 0) return;
  std::fprintf(stderr, "rank %d: %s returned %d\n", hcclrunRank(), call, code);
  std::exit(1);
}

Session::Session(uint64_t window_bytes, uint32_t npus)
    : rank_(static_cast<uint32_t>(hcclrunRank())), size_(static_cast<uint32_t>(hcclrunSize())) {
  BENCH_CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  BENCH_CHECK(aclrtGetDeviceCount(&devices));
  if (npus == 0 || npus > devices) npus = devices;
  device_ = static_cast<int32_t>(rank_ % npus);
  owns_process_ = true;
  Join(window_bytes, [](HcclRootInfo* info) { BENCH_CHECK(hcclrunShareRootInfo(info)); });
}

Session::Session(uint64_t window_bytes, uint32_t rank, uint32_t size,
                 const std::function<void(HcclRootInfo*)>& share)
    : rank_(rank), size_(size), device_(static_cast<int32_t>(rank)) {
  Join(window_bytes, share);
}

void Session::Join(uint64_t window_bytes, const std::function<void(HcclRootInfo*)>& share) {
  BENCH_CHECK(aclrtSetDevice(device_));
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclSymWinMaxMemSizePerRank = window_bytes / kGiB + 1;
  HcclRootInfo root_info;
  if (rank_ == 0) BENCH_CHECK(HcclGetRootInfo(&root_info));
  share(&root_info);
  BENCH_CHECK(HcclCommInitRootInfoConfig(size_, &root_info, rank_, &config, &comm_));
  BENCH_CHECK(aclrtCreateStream(&stream_));
  BENCH_CHECK(aclrtCreateEvent(&begin_));
  BENCH_CHECK(aclrtCreateEvent(&end_));
  BENCH_CHECK(aclrtMalloc(&verdict_, sizeof(Verdict), ACL_MEM_MALLOC_HUGE_FIRST));
}

Session::~Session() {
  BENCH_CHECK(aclrtFree(verdict_));
  BENCH_CHECK(aclrtDestroyEvent(begin_));
  BENCH_CHECK(aclrtDestroyEvent(end_));
  BENCH_CHECK(aclrtDestroyStream(stream_));
  BENCH_CHECK(HcclCommDestroy(comm_));
  BENCH_CHECK(aclrtResetDevice(device_));
  if (owns_process_) BENCH_CHECK(aclFinalize());
}

double Session::TimeMicroseconds(int times, bool each, const std::function<void()>& body) {
  if (times <= 0) return 0;
  BENCH_CHECK(HcclBarrier(comm_, stream_));
  BENCH_CHECK(aclrtRecordEvent(begin_, stream_));
  for (int i = 0; i < times; ++i) {
    body();
    if (each) BENCH_CHECK(aclrtSynchronizeStream(stream_));
  }
  BENCH_CHECK(aclrtRecordEvent(end_, stream_));
  BENCH_CHECK(aclrtSynchronizeStream(stream_));
  float milliseconds = 0;
  BENCH_CHECK(aclrtEventElapsedTime(&milliseconds, begin_, end_));
  return static_cast<double>(milliseconds) * 1e3;
}

Session::Verdict Session::Worst(const Verdict& mine) {
  Verdict worst = {};
  BENCH_CHECK(aclrtMemcpy(verdict_, sizeof(mine), &mine, sizeof(mine), ACL_MEMCPY_HOST_TO_DEVICE));
  BENCH_CHECK(HcclAllReduce(verdict_, verdict_, sizeof(mine) / sizeof(int64_t),
                            HCCL_DATA_TYPE_INT64, HCCL_REDUCE_MAX, comm_, stream_));
  BENCH_CHECK(aclrtSynchronizeStream(stream_));
  BENCH_CHECK(
      aclrtMemcpy(&worst, sizeof(worst), verdict_, sizeof(worst), ACL_MEMCPY_DEVICE_TO_HOST));
  return worst;
}

}  // namespace hcclrun::bench
