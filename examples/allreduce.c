/* AllReduce from C99.
 *
 *   hcclrun -n 4 build/examples/allreduce
 */
#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>
#include <stdio.h>
#include <stdlib.h>

/* Both libraries return 0 for success. hcclrun says on standard error what was wrong; elsewhere ask
 * aclGetRecentErrMsg(). */
#define CHECK(call)                                                                \
  do {                                                                             \
    const int code = (int)(call);                                                  \
    if (code != 0) {                                                               \
      fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, code); \
      exit(1);                                                                     \
    }                                                                              \
  } while (0)

enum { kCount = 4096 };

int main(void) {
  const uint32_t rank = (uint32_t)hcclrunRank();
  const uint32_t size = (uint32_t)hcclrunSize();
  uint32_t devices = 0;
  CHECK(aclInit(NULL));
  CHECK(aclrtGetDeviceCount(&devices));
  CHECK(aclrtSetDevice((int32_t)(rank % devices)));

  HcclRootInfo root_info;
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  CHECK(hcclrunShareRootInfo(&root_info));
  HcclComm comm = NULL;
  CHECK(HcclCommInitRootInfo(size, &root_info, rank, &comm));
  aclrtStream stream = NULL;
  CHECK(aclrtCreateStream(&stream));

  static float host[kCount];
  void *device = NULL;
  CHECK(aclrtMalloc(&device, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST));
  for (int i = 0; i < kCount; ++i) host[i] = (float)(i % 100) * (float)(rank + 1);
  CHECK(aclrtMemcpy(device, sizeof(host), host, sizeof(host), ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(HcclAllReduce(device, device, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(host, sizeof(host), device, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST));

  int wrong = 0;
  for (int i = 0; i < kCount; ++i)
    wrong += host[i] != (float)(i % 100) * (float)(size * (size + 1) / 2);

  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(device));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice((int32_t)(rank % devices)));
  CHECK(aclFinalize());
  if (wrong != 0) fprintf(stderr, "rank %u: %d of %d sums are wrong\n", rank, wrong, (int)kCount);
  if (wrong == 0 && rank == 0)
    printf("AllReduce of %u ranks: %d sums, all right\n", size, (int)kCount);
  return wrong != 0;
}
