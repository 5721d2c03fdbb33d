// AllGather in a symmetric window: memory that all ranks have registered together is read and
// written directly, with no HCCL buffer in between.
//
//   hcclrun -n 8 build/examples/symmetric_allgather
//
// hcclrunRank, hcclrunSize and hcclrunShareRootInfo stand for whatever tells a program its rank and
// carries the root info, MPI for example; everything else is HCCL and AscendCL.
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

namespace {

// Byte i that a rank contributes: different for every rank and position.
unsigned char Expected(uint32_t rank, size_t i) {
  return static_cast<unsigned char>(rank * 37 + i * 11 + i / 256);
}

}  // namespace

int main() {
  const uint32_t rank = static_cast<uint32_t>(hcclrunRank());
  const uint32_t size = static_cast<uint32_t>(hcclrunSize());

  CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  const int32_t device = static_cast<int32_t>(rank % devices);
  CHECK(aclrtSetDevice(device));

  // 10 GiB of address space per rank for windows; this is only a bound, no memory is taken.
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclSymWinMaxMemSizePerRank = 10;

  HcclRootInfo root_info;
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  CHECK(hcclrunShareRootInfo(&root_info));
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfoConfig(size, &root_info, rank, &config, &comm));

  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  // Physical device memory, mapped into a range of reserved addresses. Sizes are multiples
  // of the granularity.
  aclrtPhysicalMemProp prop = {};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(device);
  size_t granularity = 0;
  CHECK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
                                         &granularity));

  const size_t send_bytes = 1024;
  const size_t recv_bytes = size * send_bytes;
  const size_t mapped_bytes =
      (send_bytes + recv_bytes + granularity - 1) / granularity * granularity;
  void* base = nullptr;
  CHECK(aclrtReserveMemAddress(&base, mapped_bytes, 0, nullptr, 1));
  aclrtDrvMemHandle memory = nullptr;
  CHECK(aclrtMallocPhysical(&memory, mapped_bytes, &prop, 0));
  CHECK(aclrtMapMem(base, mapped_bytes, 0, memory, 0));

  // All ranks register together. Input and output then lie at the same offsets in the window on
  // every rank, as operations in windows require.
  CommSymWindow window = nullptr;
  CHECK(HcclCommSymWinRegister(comm, base, send_bytes + recv_bytes, &window, 1));
  void* send = base;
  void* recv = static_cast<char*>(base) + send_bytes;

  std::vector<unsigned char> host(recv_bytes);
  for (size_t i = 0; i < send_bytes; ++i) host[i] = Expected(rank, i);
  CHECK(aclrtMemcpy(send, send_bytes, host.data(), send_bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  CHECK(HcclAllGather(send, recv, send_bytes, HCCL_DATA_TYPE_INT8, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(host.data(), recv_bytes, recv, recv_bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = 0;
  for (uint32_t from = 0; from < size; ++from) {
    for (size_t i = 0; i < send_bytes; ++i) {
      if (host[from * send_bytes + i] != Expected(from, i)) ++wrong;
    }
  }

  CHECK(HcclCommSymWinDeregister(window));
  CHECK(aclrtUnmapMem(base));
  CHECK(aclrtFreePhysical(memory));
  CHECK(aclrtReleaseMemAddress(base));
  CHECK(aclrtDestroyStream(stream));
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());

  if (wrong != 0) {
    std::fprintf(stderr, "rank %u: %zu of %zu bytes are wrong\n", rank, wrong, recv_bytes);
    return 1;
  }
  if (rank == 0) {
    std::printf("AllGather in a symmetric window: %u ranks x %zu bytes, every byte is right\n",
                size, send_bytes);
  }
  return 0;
}
