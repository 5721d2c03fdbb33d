/* A C program as one writes it for CANN: nothing of hcclrun in it. Its ranks may be started by anything that sets RANK
 * and WORLD_SIZE; the root info goes through a file that all of them see.
 *
 *   hcclrun -n 4 build/examples/c_client /tmp/root_info
 */
#define _POSIX_C_SOURCE 200809L
#include <hccl/hccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call)                                                                \
  do {                                                                             \
    const int code = (int)(call);                                                  \
    if (code != 0) {                                                               \
      const char *why = aclGetRecentErrMsg();                                      \
      fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, code); \
      if (why != NULL) fprintf(stderr, "%s\n", why);                               \
      exit(1);                                                                     \
    }                                                                              \
  } while (0)

static int number(const char *name) {
  const char *text = getenv(name);
  if (text == NULL) {
    fprintf(stderr, "%s is not set; start the ranks with a launcher\n", name);
    exit(2);
  }
  return atoi(text);
}

/* The name appears only once the file is complete. */
static int write_root_info(const char *path, const HcclRootInfo *info) {
  char part[4096];
  FILE *file;
  size_t written;
  snprintf(part, sizeof(part), "%s.part", path);
  file = fopen(part, "wb");
  if (file == NULL) return 0;
  written = fwrite(info->internal, sizeof(info->internal), 1, file);
  return fclose(file) == 0 && written == 1 && rename(part, path) == 0;
}

static int read_root_info(const char *path, HcclRootInfo *info) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  int attempt;
  for (attempt = 0; attempt < 6000; ++attempt) {
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
      const size_t read = fread(info->internal, sizeof(info->internal), 1, file);
      fclose(file);
      if (read == 1) return 1;
    }
    nanosleep(&pause, NULL);
  }
  return 0;
}

enum { kCount = 1000 };

int main(int argc, char **argv) {
  const uint32_t rank = (uint32_t)number("RANK");
  const uint32_t size = (uint32_t)number("WORLD_SIZE");
  const size_t bytes = kCount * sizeof(float);
  float *host = NULL;
  void *mine = NULL, *all = NULL;
  uint32_t devices = 0, wrong = 0, r;
  int32_t device;
  HcclRootInfo root_info;
  HcclComm comm = NULL;
  aclrtStream stream = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: %s file      (the file must not exist yet)\n", argv[0]);
    return 2;
  }

  CHECK(aclInit(NULL));
  CHECK(aclrtGetDeviceCount(&devices));
  device = (int32_t)(rank % devices);
  CHECK(aclrtSetDevice(device));
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  if (!(rank == 0 ? write_root_info(argv[1], &root_info) : read_root_info(argv[1], &root_info))) {
    fprintf(stderr, "rank %u: no root info through %s\n", rank, argv[1]);
    return 1;
  }
  CHECK(HcclCommInitRootInfo(size, &root_info, rank, &comm));
  if (rank == 0) remove(argv[1]); /* everybody has read it */
  CHECK(aclrtCreateStream(&stream));

  CHECK(aclrtMallocHost((void **)&host, size * bytes));
  CHECK(aclrtMalloc(&mine, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&all, size * bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  for (r = 0; r < kCount; ++r) host[r] = (float)(1000 * rank + r);
  CHECK(aclrtMemcpyAsync(mine, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(HcclAllGather(mine, all, kCount, HCCL_DATA_TYPE_FP32, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(host, size * bytes, all, size * bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (r = 0; r < size * kCount; ++r) wrong += host[r] != (float)(1000 * (r / kCount) + r % kCount);

  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(mine));
  CHECK(aclrtFree(all));
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  printf("rank %u of %u: %u values wrong\n", rank, size, wrong);
  return wrong != 0;
}
