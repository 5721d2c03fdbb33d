/* A plug-in's way to the libraries: nothing is linked, all is opened with RTLD_LOCAL and looked up by name, functions
 * that are not there are done without, and everything is closed at the end. One process, all ranks on threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  char internal[4108];
} RootInfo;
enum { kRanks = 3 };

static int (*acl_init)(const char *);
static int (*acl_finalize)(void);
static int (*set_device)(int32_t);
static int (*reset_device)(int32_t);
static int (*create_stream)(void **);
static int (*destroy_stream)(void *);
static int (*synchronize_stream)(void *);
static int (*device_malloc)(void **, size_t, int);
static int (*device_free)(void *);
static int (*copy)(void *, size_t, const void *, size_t, int);
static int (*get_root_info)(RootInfo *);
static int (*comm_init)(uint32_t, const RootInfo *, uint32_t, void **);
static int (*comm_destroy)(void *);
static int (*all_reduce)(void *, void *, uint64_t, int, int, void *, void *);

static RootInfo root_info;
static int wrong[kRanks];

#define CHECK(call)                                                  \
  do {                                                               \
    const int code = (call);                                         \
    if (code != 0) {                                                 \
      fprintf(stderr, "line %d: %s is %d\n", __LINE__, #call, code); \
      return NULL;                                                   \
    }                                                                \
  } while (0)

static void *rank_thread(void *argument) {
  const int rank = *(const int *)argument;
  void *comm = NULL, *stream = NULL, *memory = NULL;
  int32_t value = rank + 1;
  wrong[rank] = 1;
  CHECK(set_device(rank));
  CHECK(comm_init(kRanks, &root_info, (uint32_t)rank, &comm));
  CHECK(create_stream(&stream));
  CHECK(device_malloc(&memory, sizeof(value), 0));
  CHECK(copy(memory, sizeof(value), &value, sizeof(value), 1));
  CHECK(all_reduce(memory, memory, 1, 2, 0, comm, stream));
  CHECK(synchronize_stream(stream));
  CHECK(copy(&value, sizeof(value), memory, sizeof(value), 2));
  CHECK(comm_destroy(comm));
  CHECK(device_free(memory));
  CHECK(destroy_stream(stream));
  CHECK(reset_device(rank));
  wrong[rank] = value != kRanks * (kRanks + 1) / 2;
  return NULL;
}

static void *open_library(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  return library;
}

static int find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "%s\n", dlerror());
  memcpy(function, &found, sizeof(found));
  return found == NULL;
}

int main(void) {
  void *hccl, *acl, *hcomm, *profiler;
  pthread_t threads[kRanks];
  int numbers[kRanks], rank, missing = 0;
  hccl = open_library("libhccl.so");
  acl = open_library("libascendcl.so");
  hcomm = open_library("libhcomm.so");
  profiler = open_library("libmsprofiler.so");
  if (!hccl || !acl || !hcomm || !profiler) return 1;
  /* Local to the handle: nobody else sees the names. */
  if (dlsym(RTLD_DEFAULT, "HcclAllReduce") != NULL) return 1;
  missing += find(acl, "aclInit", &acl_init);
  missing += find(acl, "aclFinalize", &acl_finalize);
  missing += find(acl, "aclrtSetDevice", &set_device);
  missing += find(acl, "aclrtResetDevice", &reset_device);
  missing += find(acl, "aclrtCreateStream", &create_stream);
  missing += find(acl, "aclrtDestroyStream", &destroy_stream);
  missing += find(acl, "aclrtSynchronizeStream", &synchronize_stream);
  missing += find(acl, "aclrtMalloc", &device_malloc);
  missing += find(acl, "aclrtFree", &device_free);
  missing += find(acl, "aclrtMemcpy", &copy);
  missing += find(hccl, "HcclGetRootInfo", &get_root_info);
  missing += find(hccl, "HcclCommInitRootInfo", &comm_init);
  missing += find(hccl, "HcclCommDestroy", &comm_destroy);
  missing += find(hccl, "HcclAllReduce", &all_reduce);
  missing += dlsym(profiler, "aclprofInit") == NULL;
  if (missing != 0) return 1;
  if (dlsym(hccl, "HcclNoSuchFunction") != NULL) return 1;

  if (acl_init(NULL) != 0 || set_device(0) != 0 || get_root_info(&root_info) != 0) return 1;
  for (rank = 0; rank < kRanks; ++rank) {
    numbers[rank] = rank;
    pthread_create(&threads[rank], NULL, rank_thread, &numbers[rank]);
  }
  for (rank = 0; rank < kRanks; ++rank) pthread_join(threads[rank], NULL);
  if (reset_device(0) != 0 || acl_finalize() != 0) return 1;
  dlclose(profiler);
  dlclose(hcomm);
  dlclose(hccl);
  dlclose(acl);
  for (rank = 0; rank < kRanks; ++rank) {
    if (wrong[rank]) return 1;
  }
  puts("all right");
  return 0;
}
