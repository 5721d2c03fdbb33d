// A rank of a job among others that use the same rank table and the same names:
//
//   apart_rank TABLE VALUE   makes the communicator a few times and adds VALUE up; exits with 9 when
//                            somebody else's value is in the sum

#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                              \
  do {                                                                           \
    if (const int code = static_cast<int>(call)) {                               \
      const char* why = aclGetRecentErrMsg();                                    \
      std::fprintf(stderr, "%s returned %d: %s\n", #call, code, why ? why : ""); \
      return 1;                                                                  \
    }                                                                            \
  } while (0)

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto rank = static_cast<uint32_t>(hcclrunRank());
  const int64_t size = hcclrunSize(), value = std::atoll(argv[2]);
  CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, sizeof value, ACL_MEM_MALLOC_HUGE_FIRST));
  for (int i = 0; i < 4; i++) {
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    std::strcpy(config.hcclCommName, "everybody_s");
    HcclComm comm = nullptr;
    CHECK(HcclCommInitClusterInfoConfig(argv[1], rank, &config, &comm));
    std::memcpy(memory, &value, sizeof value);
    CHECK(HcclAllReduce(memory, memory, 1, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, comm, stream));
    CHECK(aclrtSynchronizeStream(stream));
    int64_t sum = 0;
    std::memcpy(&sum, memory, sizeof sum);
    if (sum != size * value) {
      std::fprintf(stderr, "the sum is %lld\n", static_cast<long long>(sum));
      return 9;
    }
    CHECK(HcclCommDestroy(comm));
  }
  return 0;
}
