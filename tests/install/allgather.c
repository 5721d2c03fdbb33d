/* AllGather of one integer per rank, compiled as C99 and, through allgather.cpp, as C++. Reads the rank from the
 * environment, and relies on `hcclrun --shared-root-info` for the root info. */
#include <hccl/hccl.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RANKS 64

static int check(int code, const char *call) {
  if (code != 0) fprintf(stderr, "%s returned %d\n", call, code);
  return code;
}
#define DO(call) \
  if (check((int)(call), #call) != 0) return 1

int main(void) {
  const char *rank_text = getenv("RANK");
  const char *size_text = getenv("WORLD_SIZE");
  const uint32_t rank = rank_text ? (uint32_t)atoi(rank_text) : 0;
  const uint32_t size = size_text ? (uint32_t)atoi(size_text) : 1;
  int32_t values[MAX_RANKS];
  int32_t mine = (int32_t)rank * 10;
  HcclRootInfo root_info;
  HcclComm comm = NULL;
  aclrtStream stream = NULL;
  void *send = NULL, *recv = NULL;
  uint32_t i;

  DO(aclInit(NULL));
  DO(aclrtSetDevice((int32_t)rank));
  DO(HcclGetRootInfo(&root_info));
  DO(HcclCommInitRootInfo(size, &root_info, rank, &comm));
  DO(aclrtCreateStream(&stream));
  DO(aclrtMalloc(&send, sizeof(mine), ACL_MEM_MALLOC_HUGE_ONLY));
  DO(aclrtMalloc(&recv, size * sizeof(mine), ACL_MEM_MALLOC_HUGE_ONLY));
  DO(aclrtMemcpy(send, sizeof(mine), &mine, sizeof(mine), ACL_MEMCPY_HOST_TO_DEVICE));
  DO(HcclAllGather(send, recv, 1, HCCL_DATA_TYPE_INT32, comm, stream));
  DO(aclrtSynchronizeStream(stream));
  DO(aclrtMemcpy(values, sizeof(values), recv, size * sizeof(mine), ACL_MEMCPY_DEVICE_TO_HOST));
  DO(HcclCommDestroy(comm));
  DO(aclrtFree(send));
  DO(aclrtFree(recv));
  DO(aclrtDestroyStream(stream));
  DO(aclrtResetDevice((int32_t)rank));
  DO(aclFinalize());
  for (i = 0; i < size; ++i) {
    if (values[i] != (int32_t)i * 10) {
      fprintf(stderr, "value %u is %d\n", i, values[i]);
      return 1;
    }
  }
  return 0;
}
