// One process, one thread per device, no launcher.
//
//   build/examples/threads [ranks]          (default: all devices; HCCLRUN_DEVICE_COUNT sets how
//   many there are)
#include <hccl/hccl.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

// Both libraries return 0 for success. hcclrun says on standard error what was wrong;
// elsewhere ask aclGetRecentErrMsg().
#define CHECK(call)                                                                     \
  do {                                                                                  \
    const int code = static_cast<int>(call);                                            \
    if (code != 0) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, code); \
      std::_Exit(1);                                                                    \
    }                                                                                   \
  } while (0)

namespace {

constexpr size_t kCount = 1000;
std::atomic<size_t> wrong{0};

// What one rank does. The root info is read by all threads, which need no other way to
// find each other.
void Rank(uint32_t rank, uint32_t size, const HcclRootInfo* root_info) {
  CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));  // the current device belongs to the thread
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, root_info, rank, &comm));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  const size_t bytes = kCount * sizeof(int32_t);
  void *send = nullptr, *recv = nullptr;
  CHECK(aclrtMalloc(&send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&recv, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<int32_t> host(kCount);
  for (size_t i = 0; i < kCount; ++i) host[i] = static_cast<int32_t>(i * (rank + 1));
  CHECK(aclrtMemcpy(send, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  CHECK(HcclAllReduce(send, recv, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(host.data(), bytes, recv, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t i = 0; i < kCount; ++i) {
    if (host[i] != static_cast<int32_t>(i * size)) ++wrong;
  }
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(send));
  CHECK(aclrtFree(recv));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(aclInit(nullptr));
  uint32_t size = 0;
  CHECK(aclrtGetDeviceCount(&size));
  if (argc > 1) size = static_cast<uint32_t>(std::atoi(argv[1]));
  if (size == 0) {
    std::fprintf(stderr, "usage: %s [ranks]\n", argv[0]);
    return 2;
  }

  CHECK(aclrtSetDevice(0));
  HcclRootInfo root_info;
  CHECK(HcclGetRootInfo(&root_info));
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < size; ++rank) ranks.emplace_back(Rank, rank, size, &root_info);
  for (std::thread& rank : ranks) rank.join();
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());

  std::printf("AllReduce of %u threads: %zu values wrong\n", size, wrong.load());
  return wrong == 0 ? 0 : 1;
}
