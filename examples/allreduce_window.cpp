// AllReduce in a symmetric window, the short way: HcclMemAlloc reserves, allocates and maps
// in one call.
//
//   hcclrun -n 4 build/examples/allreduce_window
#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Both libraries return 0 for success. hcclrun says on standard error what was wrong;
// elsewhere ask aclGetRecentErrMsg().
#define CHECK(call)                                                                     \
  do {                                                                                  \
    const int code = static_cast<int>(call);                                            \
    if (code != 0) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, code); \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

int main() {
  const uint32_t rank = static_cast<uint32_t>(hcclrunRank());
  const uint32_t size = static_cast<uint32_t>(hcclrunSize());
  CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  const int32_t device = static_cast<int32_t>(rank % devices);
  CHECK(aclrtSetDevice(device));

  HcclRootInfo root_info;
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  CHECK(hcclrunShareRootInfo(&root_info));
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, &root_info, rank, &comm));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  const size_t count = 1 << 20;
  const size_t bytes = count * sizeof(float);
  void* gradients = nullptr;
  CHECK(HcclMemAlloc(&gradients, bytes));
  HcclCommSymWindow window = nullptr;
  CHECK(HcclCommSymWinRegister(comm, gradients, bytes, &window, HCCL_WIN_COLL_SYMMETRIC));

  // Integers this small are exact in fp32, whatever the order of the additions.
  std::vector<float> host(count);
  for (size_t i = 0; i < count; ++i) host[i] = static_cast<float>(i % 1000 + rank);
  CHECK(aclrtMemcpy(gradients, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  // In place: the same buffer is input and output.
  CHECK(HcclAllReduce(gradients, gradients, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                      stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(host.data(), bytes, gradients, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    if (host[i] != static_cast<float>(size * (i % 1000) + size * (size - 1) / 2)) ++wrong;
  }

  CHECK(HcclCommSymWinDeregister(window));
  CHECK(HcclMemFree(gradients));
  CHECK(aclrtDestroyStream(stream));
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  if (wrong != 0) {
    std::fprintf(stderr, "rank %u: %zu of %zu sums are wrong\n", rank, wrong, count);
    return 1;
  }
  if (rank == 0)
    std::printf("AllReduce in place in a window: %u ranks, %zu sums, all right\n", size, count);
  return 0;
}
