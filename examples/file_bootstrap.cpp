// Processes that somebody else started, in any order, and that share nothing but a directory: rank
// 0 writes the root info to a file, the others wait for it.
//
//   for r in 0 1 2 3; do build/examples/file_bootstrap $r 4 /tmp/root_info & done; wait
#include <hccl/hccl.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
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

// The name appears only once the file is complete.
bool Write(const std::string& path, const HcclRootInfo& info) {
  const std::string part = path + ".part";
  std::ofstream out(part, std::ios::binary);
  out.write(info.internal, sizeof(info.internal));
  out.close();
  return out && std::rename(part.c_str(), path.c_str()) == 0;
}

bool Read(const std::string& path, HcclRootInfo* info) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream in(path, std::ios::binary);
    if (in.read(info->internal, sizeof(info->internal))) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s rank size file      (the file must not exist yet)\n", argv[0]);
    return 2;
  }
  const uint32_t rank = static_cast<uint32_t>(std::atoi(argv[1]));
  const uint32_t size = static_cast<uint32_t>(std::atoi(argv[2]));
  const std::string path = argv[3];

  CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  const int32_t device = static_cast<int32_t>(rank % devices);
  CHECK(aclrtSetDevice(device));

  HcclRootInfo root_info;
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  if (!(rank == 0 ? Write(path, root_info) : Read(path, &root_info))) {
    std::fprintf(stderr, "rank %u: cannot %s %s: %s\n", rank, rank == 0 ? "write" : "read",
                 path.c_str(), std::strerror(errno));
    return 1;
  }
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, &root_info, rank, &comm));
  if (rank == 0)
    std::remove(path.c_str());  // everybody has read it: a root info makes one communicator
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  // Rank r sends 1000 r + p to rank p.
  const size_t bytes = size * sizeof(int32_t);
  void *send = nullptr, *recv = nullptr;
  CHECK(aclrtMalloc(&send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&recv, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<int32_t> host(size);
  for (uint32_t peer = 0; peer < size; ++peer)
    host[peer] = static_cast<int32_t>(1000 * rank + peer);
  CHECK(aclrtMemcpy(send, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(HcclAlltoAll(send, 1, HCCL_DATA_TYPE_INT32, recv, 1, HCCL_DATA_TYPE_INT32, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(host.data(), bytes, recv, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  uint32_t wrong = 0;
  for (uint32_t peer = 0; peer < size; ++peer) {
    if (host[peer] != static_cast<int32_t>(1000 * peer + rank)) ++wrong;
  }

  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(send));
  CHECK(aclrtFree(recv));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  std::printf("rank %u of %u: %u values wrong\n", rank, size, wrong);
  return wrong == 0 ? 0 : 1;
}
