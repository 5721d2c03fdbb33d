// The order of calls of a benchmark under MPI: devices are counted and profiling is switched on
// before aclInit, the root info goes through a non-blocking broadcast, everything runs on one
// stream between two events, the device is reset after the communicator is gone, and a run that
// ends early finalizes without having initialised.
//   mpi_client [-z] [-p] [-h]      -z: buffers for zero copy, -p: with profiling, -h: end early
#include <hccl/hccl.h>
#include <hccl/hccl_types.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "acl/acl.h"
#include "acl/acl_prof.h"

// As such programs do, results of both libraries go through one macro, and main returns without
// MPI_Finalize.
#define CHECK(call)                                                                        \
  do {                                                                                     \
    int code_ = (int)(call);                                                               \
    if (code_ != 0) {                                                                      \
      fprintf(stderr, "rank %d, line %d: %s returned %d\n", rank, __LINE__, #call, code_); \
      return 1;                                                                            \
    }                                                                                      \
  } while (0)

static int rank = 0, size = 1;

struct ZeroCopyRange {
  void* base = nullptr;
  size_t bytes = 64u << 20;
  size_t granularity = 2u << 20;
  size_t mapped = 0;
  aclrtDrvMemHandle handles[8];
  size_t count = 0;
};

static int Reserve(HcclComm comm, ZeroCopyRange* range) {
  aclrtPhysicalMemProp prop;
  memset(&prop, 0, sizeof prop);
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = rank;
  if (aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM,
                                       &range->granularity) != ACL_SUCCESS)
    range->granularity = 2u << 20;
  CHECK(aclrtReserveMemAddress(&range->base, range->bytes, 0, NULL, 1));
  CHECK(HcclCommSetMemoryRange(comm, range->base, range->bytes, 0, 1));
  return 0;
}

static int Grow(HcclComm comm, ZeroCopyRange* range, size_t bytes, void** block) {
  aclrtPhysicalMemProp prop;
  memset(&prop, 0, sizeof prop);
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = rank;
  bytes = (bytes + range->granularity - 1) / range->granularity * range->granularity;
  aclrtDrvMemHandle handle = NULL;
  *block = static_cast<char*>(range->base) + range->mapped;
  CHECK(aclrtMallocPhysical(&handle, bytes, &prop, 0));
  CHECK(aclrtMapMem(*block, bytes, 0, handle, 0));
  CHECK(HcclCommActivateCommMemory(comm, *block, bytes, 0, handle, 0));
  range->mapped += bytes;
  range->handles[range->count++] = handle;
  return 0;
}

static int Run(bool zero_copy, uint32_t devices) {
  const int device = rank % static_cast<int>(devices);
  CHECK(aclrtSetDevice(device));
  const char* soc = aclrtGetSocName();
  if (soc == nullptr || std::string(soc).empty()) return 1;
  size_t free_bytes = 0, total_bytes = 0;
  CHECK(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free_bytes, &total_bytes));

  HcclRootInfo root_info;
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  MPI_Request request;
  MPI_Ibcast(&root_info, HCCL_ROOT_INFO_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (strcmp(root_info.internal, "invalid") == 0) return 1;
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, &root_info, rank, &comm));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtSetStreamFailureMode(stream, 1));
  if (std::string(soc).compare(0, 10, "Ascend910B") == 0 && strlen(soc) > 10)
    CHECK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
  aclrtEvent start = nullptr, end = nullptr;
  CHECK(aclrtCreateEvent(&start));
  CHECK(aclrtCreateEvent(&end));
  ZeroCopyRange range;
  if (zero_copy) {
    if (int failed = Reserve(comm, &range)) return failed;
  }

  for (size_t count = 2; count <= 200000; count *= 100) {  // buffers are made anew for each size
    const size_t bytes = count * sizeof(float);
    void *send = nullptr, *recv = nullptr, *host = nullptr;
    if (zero_copy) {
      if (Grow(comm, &range, bytes, &send) || Grow(comm, &range, bytes, &recv)) return 1;
    } else {
      CHECK(aclrtMalloc(&send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
      CHECK(aclrtMalloc(&recv, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    CHECK(aclrtMallocHost(&host, bytes));
    float* values = static_cast<float*>(host);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7 + rank);
    CHECK(aclrtMemcpy(send, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));

    for (int i = 0; i < 3; ++i)
      CHECK(HcclAllReduce(send, recv, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    CHECK(aclrtRecordEvent(start, stream));
    for (int i = 0; i < 5; ++i)
      CHECK(HcclAllReduce(send, recv, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    CHECK(aclrtRecordEvent(end, stream));
    CHECK(aclrtSynchronizeStream(stream));
    float milliseconds = -1;
    CHECK(aclrtEventElapsedTime(&milliseconds, start, end));
    if (!(milliseconds >= 0)) return 1;

    CHECK(aclrtMemcpy(host, bytes, recv, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t i = 0; i < count; ++i) {
      const float expected = static_cast<float>(i % 7 * static_cast<size_t>(size)) +
                             static_cast<float>(size * (size - 1) / 2);
      if (values[i] != expected) {
        fprintf(stderr, "rank %d: value %zu of %zu is %g, not %g\n", rank, i, count, values[i],
                expected);
        return 1;
      }
    }
    CHECK(aclrtFreeHost(host));
    if (!zero_copy) {
      CHECK(aclrtFree(send));
      CHECK(aclrtFree(recv));
    }
  }

  if (zero_copy) {
    char* block = static_cast<char*>(range.base);
    const size_t sizes[] = {2, 2, 200, 200, 20000, 20000};
    for (size_t i = 0; i < range.count; ++i) {
      const size_t bytes = (sizes[i] * sizeof(float) + range.granularity - 1) / range.granularity *
                           range.granularity;
      CHECK(HcclCommDeactivateCommMemory(comm, block));
      CHECK(aclrtUnmapMem(block));
      CHECK(aclrtFreePhysical(range.handles[i]));
      block += bytes;
    }
    CHECK(HcclCommUnsetMemoryRange(comm, range.base));
  }
  CHECK(aclrtDestroyEvent(start));
  CHECK(aclrtDestroyEvent(end));
  CHECK(aclrtDestroyStream(stream));
  CHECK(HcclCommDestroy(comm));
  if (zero_copy) CHECK(aclrtReleaseMemAddress(range.base));
  CHECK(aclrtResetDevice(device));
  // What the destructors of such programs do afterwards.
  CHECK(HcclCommDestroy(nullptr));
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool zero_copy = false, profiling = false;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "-z") == 0) zero_copy = true;
    if (strcmp(argv[i], "-p") == 0) profiling = true;
    if (strcmp(argv[i], "-h") == 0) {
      CHECK(aclFinalize());
      MPI_Finalize();
      return 0;
    }
  }
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  aclprofConfig* config = nullptr;
  uint32_t profiled = static_cast<uint32_t>(rank) % devices;
  if (profiling) {
    const char* path = "/var/log/npu/profiling";
    CHECK(aclprofInit(path, strlen(path)));
    config = aclprofCreateConfig(&profiled, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr,
                                 ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS |
                                     ACL_PROF_AICPU | ACL_PROF_HCCL_TRACE | ACL_PROF_MSPROFTX |
                                     ACL_PROF_RUNTIME_API);
    if (config == nullptr) return 1;
    CHECK(aclprofStart(config));
  }
  CHECK(aclInit(nullptr));
  if (Run(zero_copy, devices) != 0) return 1;
  if (profiling) {
    CHECK(aclprofStop(config));
    CHECK(aclprofFinalize());
  }
  CHECK(aclFinalize());
  MPI_Finalize();
  if (rank == 0) printf("%d ranks, all right\n", size);
  return 0;
}
