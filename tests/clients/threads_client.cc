// One process, a thread per device, as examples of collectives are written: the threads share the
// root info in pinned memory, destroy their communicators at different times and before their
// buffers, and never reset a device. A failing call is executed again by the check macro.
#include <hccl/hccl.h>
#include <hccl/hccl_types.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    if ((call) != 0) {                                                                     \
      printf("line %d: %s returned %d, %d\n", __LINE__, #call, static_cast<int>(call), 0); \
      return 1;                                                                            \
    }                                                                                      \
  } while (0)

static std::atomic<uint32_t> gone{0};

struct Buffers {
  void *send = nullptr, *recv = nullptr, *host = nullptr;
  aclrtStream stream = nullptr;
  HcclComm comm = nullptr;
};

// One value per rank in and out.
static int Collectives(uint32_t rank, uint32_t size, const Buffers& b) {
  const size_t bytes = size * sizeof(float);
  float* host = static_cast<float*>(b.host);
  auto load = [&](float scale) {
    for (uint32_t i = 0; i < size; ++i) host[i] = scale * static_cast<float>(i + 1);
    return aclrtMemcpy(b.send, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  };
  auto fetch = [&] {
    if (aclrtSynchronizeStream(b.stream) != ACL_SUCCESS) return 1;
    return static_cast<int>(aclrtMemcpy(host, bytes, b.recv, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  };
  auto expect = [&](const char* what, uint32_t index, float value) {
    if (host[index] == value) return 0;
    printf("rank %u: %s gave %g at %u, not %g\n", rank, what, host[index], index, value);
    return 1;
  };
  const float ranks = static_cast<float>(size), me = static_cast<float>(rank);
  const float triangle = ranks * (ranks + 1) / 2;

  CHECK(load(me + 1));
  CHECK(
      HcclAllReduce(b.send, b.recv, size, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, b.comm, b.stream));
  CHECK(fetch());
  for (uint32_t i = 0; i < size; ++i)
    CHECK(expect("AllReduce", i, triangle * static_cast<float>(i + 1)));

  CHECK(load(me + 1));
  CHECK(HcclAllGather(b.send, b.recv, 1, HCCL_DATA_TYPE_FP32, b.comm, b.stream));
  CHECK(fetch());
  for (uint32_t i = 0; i < size; ++i) CHECK(expect("AllGather", i, static_cast<float>(i + 1)));

  CHECK(load(me + 1));
  CHECK(
      HcclReduceScatter(b.send, b.recv, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, b.comm, b.stream));
  CHECK(fetch());
  CHECK(expect("ReduceScatter", 0, triangle * (me + 1)));

  CHECK(load(me + 1));
  CHECK(HcclAlltoAll(b.send, 1, HCCL_DATA_TYPE_FP32, b.recv, 1, HCCL_DATA_TYPE_FP32, b.comm,
                     b.stream));
  CHECK(fetch());
  for (uint32_t i = 0; i < size; ++i)
    CHECK(expect("AlltoAll", i, static_cast<float>(i + 1) * (me + 1)));

  CHECK(load(me + 1));
  CHECK(HcclBroadcast(b.send, size, HCCL_DATA_TYPE_FP32, size - 1, b.comm, b.stream));
  CHECK(HcclScatter(b.send, b.recv, 1, HCCL_DATA_TYPE_FP32, 0, b.comm, b.stream));
  CHECK(fetch());
  CHECK(expect("Broadcast and Scatter", 0, ranks * (me + 1)));

  CHECK(load(me + 1));
  CHECK(
      HcclReduce(b.send, b.recv, size, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, 0, b.comm, b.stream));
  CHECK(fetch());
  if (rank == 0) CHECK(expect("Reduce", size - 1, ranks * ranks));

  // Pairs, for an even number of ranks.
  if (size % 2 == 0) {
    CHECK(load(me + 1));
    if (rank % 2 == 0) {
      CHECK(HcclSend(b.send, size, HCCL_DATA_TYPE_FP32, rank + 1, b.comm, b.stream));
      CHECK(aclrtSynchronizeStream(b.stream));
    } else {
      CHECK(HcclRecv(b.recv, size, HCCL_DATA_TYPE_FP32, rank - 1, b.comm, b.stream));
      CHECK(fetch());
      CHECK(expect("Send and Recv", 0, me));
    }
  }

  // A ring in one batch; one rank alone sends to itself.
  CHECK(load(me + 1));
  HcclSendRecvItem items[2] = {
      {HCCL_SEND, b.send, size, HCCL_DATA_TYPE_FP32, (rank + 1) % size},
      {HCCL_RECV, b.recv, size, HCCL_DATA_TYPE_FP32, (rank + size - 1) % size}};
  CHECK(HcclBatchSendRecv(items, 2, b.comm, b.stream));
  CHECK(fetch());
  CHECK(expect("BatchSendRecv", 0, static_cast<float>((rank + size - 1) % size + 1)));
  return 0;
}

static int Rank(uint32_t rank, uint32_t size, HcclRootInfo* root_info) {
  Buffers b;
  const size_t bytes = size * sizeof(float);
  CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
  CHECK(HcclCommInitRootInfo(size, root_info, rank, &b.comm));
  CHECK(aclrtMalloc(&b.send, bytes, ACL_MEM_MALLOC_HUGE_ONLY));
  CHECK(aclrtMalloc(&b.recv, bytes, ACL_MEM_MALLOC_HUGE_ONLY));
  CHECK(aclrtMallocHost(&b.host, bytes));
  CHECK(aclrtCreateStream(&b.stream));
  CHECK(Collectives(rank, size, b));
  // Ranks go one by one.
  while (gone.load() < rank) std::this_thread::yield();
  CHECK(HcclCommDestroy(b.comm));
  CHECK(aclrtFree(b.send));
  CHECK(aclrtFree(b.recv));
  CHECK(aclrtFreeHost(b.host));
  CHECK(aclrtDestroyStream(b.stream));
  gone.fetch_add(1);
  return 0;
}

int main() {
  uint32_t size = 0;
  void* shared = nullptr;
  CHECK(aclInit(NULL));
  CHECK(aclrtGetDeviceCount(&size));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtMallocHost(&shared, sizeof(HcclRootInfo)));
  HcclRootInfo* root_info = static_cast<HcclRootInfo*>(shared);
  CHECK(HcclGetRootInfo(root_info));
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      if (Rank(rank, size, root_info) == 0) return;
      failed = 1;
      gone.fetch_add(1000000);  // nobody waits for a rank that gave up
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(aclrtFreeHost(shared));
  CHECK(aclFinalize());
  printf("%u threads, %s\n", size, failed ? "failed" : "all right");
  return failed;
}
