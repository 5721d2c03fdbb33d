// Ranks started by mpirun; MPI carries the root info and nothing else.
//
//   mpirun -n 4 build/examples/mpi_bootstrap
#include <hccl/hccl.h>
#include <mpi.h>

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
      MPI_Abort(MPI_COMM_WORLD, 1);                                                     \
    }                                                                                   \
  } while (0)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  const int32_t device = rank % static_cast<int32_t>(devices);
  CHECK(aclrtSetDevice(device));

  HcclRootInfo root_info;
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  MPI_Bcast(root_info.internal, sizeof(root_info.internal), MPI_CHAR, 0, MPI_COMM_WORLD);
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(static_cast<uint32_t>(size), &root_info, static_cast<uint32_t>(rank),
                             &comm));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  // Every rank contributes 1 to each of the sums, rank 0 one more to its own block.
  const size_t count = 256;
  std::vector<int64_t> host(count * static_cast<size_t>(size), 1);
  if (rank == 0) {
    for (size_t i = 0; i < count; ++i) host[i] = 2;
  }
  const size_t send_bytes = host.size() * sizeof(int64_t), recv_bytes = count * sizeof(int64_t);
  void *send = nullptr, *recv = nullptr;
  CHECK(aclrtMalloc(&send, send_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&recv, recv_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(send, send_bytes, host.data(), send_bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(HcclReduceScatter(send, recv, count, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(host.data(), recv_bytes, recv, recv_bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  int wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    if (host[i] != size + (rank == 0 ? 1 : 0)) ++wrong;
  }

  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(send));
  CHECK(aclrtFree(recv));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  if (wrong != 0) std::fprintf(stderr, "rank %d: %d of %zu sums are wrong\n", rank, wrong, count);
  if (wrong == 0 && rank == 0) std::printf("ReduceScatter of %d MPI ranks: all sums right\n", size);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
