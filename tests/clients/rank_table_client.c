/* A program whose ranks are listed in a file: no root info, nothing passes between the ranks but the table.
 *   rank_table_client table.json        rank 0 writes it, as a cluster's scheduler would have
 *   rank_table_client table.json given  it is there */
#define _POSIX_C_SOURCE 200809L
#include <hccl/hccl.h>
#include <hccl/hccl_types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                  \
  do {                                                               \
    const int code = (int)(call);                                    \
    if (code != 0) {                                                 \
      fprintf(stderr, "line %d: %s is %d\n", __LINE__, #call, code); \
      return 1;                                                      \
    }                                                                \
  } while (0)

static int write_table(const char *path, int size) {
  char part[4096];
  FILE *file;
  int i;
  snprintf(part, sizeof(part), "%s.part", path);
  file = fopen(part, "w");
  if (file == NULL) return 1;
  fprintf(file, "{\"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"1\",\n");
  fprintf(file, " \"server_list\": [{\"server_id\": \"node_0\", \"device\": [\n");
  for (i = 0; i < size; ++i) {
    fprintf(file,
            "  {\"device_id\": \"%d\", \"device_ip\": \"192.168.1.%d\", \"rank_id\": \"%d\"}%s\n",
            i, i + 1, i, i + 1 < size ? "," : "");
  }
  fprintf(file, " ]}]}\n");
  return fclose(file) != 0 || rename(part, path) != 0;
}

int main(int argc, char **argv) {
  const int rank = atoi(getenv("RANK")), size = atoi(getenv("WORLD_SIZE"));
  const struct timespec pause = {0, 10 * 1000 * 1000};
  HcclCommConfig config;
  HcclComm comm = NULL;
  aclrtStream stream = NULL;
  void *memory = NULL;
  int64_t value = 1 + rank;
  int attempt;
  if (argc != 2 && argc != 3) return 2;
  if (argc == 2 && rank == 0) CHECK(write_table(argv[1], size));
  for (attempt = 0; attempt < 6000 && access(argv[1], R_OK) != 0; ++attempt)
    nanosleep(&pause, NULL);

  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(atoi(getenv("DEVICE_ID"))));
  HcclCommConfigInit(&config);
  config.hcclBufferSize = 50;
  strcpy(config.hcclCommName, "from_a_table");
  CHECK(HcclCommInitClusterInfoConfig(argv[1], (uint32_t)rank, &config, &comm));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtMalloc(&memory, sizeof(value), ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(memory, sizeof(value), &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(HcclAllReduce(memory, memory, 1, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(&value, sizeof(value), memory, sizeof(value), ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(memory));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(atoi(getenv("DEVICE_ID"))));
  CHECK(aclFinalize());
  if (value != (int64_t)size * (size + 1) / 2) {
    fprintf(stderr, "rank %d: the sum is %lld\n", rank, (long long)value);
    return 1;
  }
  return 0;
}
