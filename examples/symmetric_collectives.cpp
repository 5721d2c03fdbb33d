// AllGather, ReduceScatter, AllReduce and AlltoAll in symmetric windows: verified element by
// element, then timed.
//
//   hcclrun -n 8 build/examples/symmetric_collectives [bytes ...]
//
// bytes is the size of the larger one of a rank's two buffers. Bandwidths are in GB/s (10^9 bytes):
// algbw is bytes over time, busbw what a rank has to exchange with the others for it.
#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>
#include <hcclrun/inspect.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
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

// Device memory that all ranks of a communicator have registered together.
class Window {
 public:
  Window(HcclComm comm, int32_t device, size_t bytes) {
    aclrtPhysicalMemProp prop = {};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {static_cast<uint32_t>(device), ACL_MEM_LOCATION_TYPE_DEVICE};
    size_t granularity = 0;
    CHECK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
                                           &granularity));
    bytes = (bytes + granularity - 1) / granularity * granularity;
    CHECK(aclrtReserveMemAddress(&base_, bytes, 0, nullptr, 0));
    CHECK(aclrtMallocPhysical(&memory_, bytes, &prop, 0));
    CHECK(aclrtMapMem(base_, bytes, 0, memory_, 0));
    CHECK(HcclCommSymWinRegister(comm, base_, bytes, &handle_, 1));
  }
  ~Window() {
    CHECK(HcclCommSymWinDeregister(handle_));
    CHECK(aclrtUnmapMem(base_));
    CHECK(aclrtFreePhysical(memory_));
    CHECK(aclrtReleaseMemAddress(base_));
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  float* data() const { return static_cast<float*>(base_); }

 private:
  void* base_ = nullptr;
  aclrtDrvMemHandle memory_ = nullptr;
  HcclCommSymWindow handle_ = nullptr;
};

// Element i of a rank's input. Small integers: sums of them are exact in fp32.
float Input(uint32_t rank, size_t i) { return static_cast<float>((i * 7 + rank * 31) % 127); }

float Sum(uint32_t size, size_t i) {
  float sum = 0;
  for (uint32_t rank = 0; rank < size; ++rank) sum += Input(rank, i);
  return sum;
}

struct Operation {
  const char* name;
  // Elements of input and of output, if the ranks' blocks have n elements.
  std::function<size_t(size_t)> inputs, outputs;
  std::function<HcclResult(float* in, float* out, size_t n)> run;
  std::function<float(size_t n, size_t i)> expected;  // output element i
  double bus_factor;                                  // busbw / algbw
};

// How the last operation moved its data: in the windows, or through the HCCL buffers.
const char* Path(HcclComm comm) {
  hcclrunPath path;
  CHECK(hcclrunLastPath(comm, &path));
  return path == HCCLRUN_PATH_WINDOW ? "window" : "buffered";
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t rank = static_cast<uint32_t>(hcclrunRank());
  const uint32_t size = static_cast<uint32_t>(hcclrunSize());
  std::vector<size_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 0));
  if (sizes.empty()) sizes = {8 * 1024, 16 * 1024 * 1024};
  size_t elements = 0;  // room in each window
  for (size_t& bytes : sizes) {
    bytes = bytes / sizeof(float) / size * size * sizeof(float);  // whole blocks
    if (bytes == 0) bytes = size * sizeof(float);
    if (bytes / sizeof(float) > elements) elements = bytes / sizeof(float);
  }

  CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  const int32_t device = static_cast<int32_t>(rank % devices);
  CHECK(aclrtSetDevice(device));
  HcclRootInfo root_info;
  if (rank == 0) CHECK(HcclGetRootInfo(&root_info));
  CHECK(hcclrunShareRootInfo(&root_info));
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, &root_info, rank, &comm));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  aclrtEvent begin = nullptr, end = nullptr;
  CHECK(aclrtCreateEvent(&begin));
  CHECK(aclrtCreateEvent(&end));
  void* tally = nullptr;  // of wrong elements, added up over all ranks
  CHECK(aclrtMalloc(&tally, sizeof(int64_t), ACL_MEM_MALLOC_HUGE_FIRST));

  const auto one = [](size_t n) { return n; };
  const auto all = [size](size_t n) { return n * size; };
  const double others = static_cast<double>(size - 1) / size;
  const HcclDataType fp32 = HCCL_DATA_TYPE_FP32;
  const Operation operations[] = {
      {"AllGather", one, all,
       [&](float* in, float* out, size_t n) {
         return HcclAllGather(in, out, n, fp32, comm, stream);
       },
       [&](size_t n, size_t i) { return Input(static_cast<uint32_t>(i / n), i % n); }, others},
      {"ReduceScatter", all, one,
       [&](float* in, float* out, size_t n) {
         return HcclReduceScatter(in, out, n, fp32, HCCL_REDUCE_SUM, comm, stream);
       },
       [&](size_t n, size_t i) { return Sum(size, rank * n + i); }, others},
      {"AllReduce", all, all,
       [&](float* in, float* out, size_t n) {
         return HcclAllReduce(in, out, n * size, fp32, HCCL_REDUCE_SUM, comm, stream);
       },
       [&](size_t, size_t i) { return Sum(size, i); }, 2 * others},
      {"AlltoAll", all, all,
       [&](float* in, float* out, size_t n) {
         return HcclAlltoAll(in, n, fp32, out, n, fp32, comm, stream);
       },
       [&](size_t n, size_t i) { return Input(static_cast<uint32_t>(i / n), rank * n + i % n); },
       others},
  };

  int64_t wrong_in_all = 0;
  {
    Window in(comm, device, elements * sizeof(float)), out(comm, device, elements * sizeof(float));
    std::vector<float> host(elements);
    if (rank == 0) {
      std::printf("%-14s %12s %12s %9s %9s  %-8s %s\n", "operation", "bytes", "time (us)", "algbw",
                  "busbw", "path", "verified");
    }
    for (const size_t bytes : sizes) {
      const size_t n = bytes / sizeof(float) / size;
      const int repeats = bytes < 1024 * 1024 ? 200 : 5;
      for (const Operation& operation : operations) {
        const size_t in_bytes = operation.inputs(n) * sizeof(float);
        const size_t out_bytes = operation.outputs(n) * sizeof(float);
        for (size_t i = 0; i < operation.inputs(n); ++i) host[i] = Input(rank, i);
        CHECK(aclrtMemcpy(in.data(), in_bytes, host.data(), in_bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        CHECK(aclrtMemset(out.data(), out_bytes, 0xff, out_bytes));
        // This run warms up, and is the one that is verified.
        CHECK(operation.run(in.data(), out.data(), n));
        CHECK(aclrtSynchronizeStream(stream));
        const char* path = Path(comm);
        CHECK(
            aclrtMemcpy(host.data(), out_bytes, out.data(), out_bytes, ACL_MEMCPY_DEVICE_TO_HOST));
        int64_t wrong = 0;
        for (size_t i = 0; i < operation.outputs(n); ++i) {
          if (host[i] != operation.expected(n, i)) ++wrong;
        }
        CHECK(aclrtMemcpy(tally, sizeof(wrong), &wrong, sizeof(wrong), ACL_MEMCPY_HOST_TO_DEVICE));
        CHECK(HcclAllReduce(tally, tally, 1, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, comm, stream));
        CHECK(aclrtSynchronizeStream(stream));
        CHECK(aclrtMemcpy(&wrong, sizeof(wrong), tally, sizeof(wrong), ACL_MEMCPY_DEVICE_TO_HOST));
        wrong_in_all += wrong;

        float ms = 0;
        CHECK(aclrtRecordEvent(begin, stream));
        for (int i = 0; i < repeats; ++i) CHECK(operation.run(in.data(), out.data(), n));
        CHECK(aclrtRecordEvent(end, stream));
        CHECK(aclrtSynchronizeStream(stream));
        CHECK(aclrtEventElapsedTime(&ms, begin, end));
        const double us = ms * 1000.0 / repeats;
        const double bandwidth = static_cast<double>(bytes) / us / 1000.0;
        if (rank == 0) {
          std::printf("%-14s %12zu %12.1f %9.3f %9.3f  %-8s %s\n", operation.name, bytes, us,
                      bandwidth, bandwidth * operation.bus_factor, path, wrong == 0 ? "yes" : "NO");
        }
      }
    }
  }

  CHECK(aclrtFree(tally));
  CHECK(aclrtDestroyEvent(begin));
  CHECK(aclrtDestroyEvent(end));
  CHECK(aclrtDestroyStream(stream));
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  return wrong_in_all == 0 ? 0 : 1;
}
