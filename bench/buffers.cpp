#include "buffers.h"

namespace hcclrun::bench {

Buffer::Buffer(const Session& session, size_t bytes, Path path) : bytes_(bytes) {
  if (path == Path::kBuffered) {
    BENCH_CHECK(aclrtMalloc(&base_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST));
    return;
  }
  aclrtPhysicalMemProp prop = {};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(session.device());
  size_t granularity = 0;
  BENCH_CHECK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
                                               &granularity));
  bytes_ = (bytes + granularity - 1) / granularity * granularity;
  BENCH_CHECK(aclrtReserveMemAddress(&base_, bytes_, 0, nullptr, 0));
  BENCH_CHECK(aclrtMallocPhysical(&memory_, bytes_, &prop, 0));
  BENCH_CHECK(aclrtMapMem(base_, bytes_, 0, memory_, 0));
  BENCH_CHECK(
      HcclCommSymWinRegister(session.comm(), base_, bytes_, &window_, HCCL_WIN_COLL_SYMMETRIC));
}

Buffer::~Buffer() {
  if (memory_ == nullptr) {
    BENCH_CHECK(aclrtFree(base_));
    return;
  }
  BENCH_CHECK(HcclCommSymWinDeregister(window_));
  BENCH_CHECK(aclrtUnmapMem(base_));
  BENCH_CHECK(aclrtFreePhysical(memory_));
  BENCH_CHECK(aclrtReleaseMemAddress(base_));
}

void Buffer::Upload(const void* host, size_t bytes) {
  BENCH_CHECK(aclrtMemcpy(base_, bytes_, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
}

void Buffer::Download(void* host, size_t bytes) const {
  BENCH_CHECK(aclrtMemcpy(host, bytes, base_, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
}

void Buffer::Poison(size_t bytes) { BENCH_CHECK(aclrtMemset(base_, bytes_, 0xab, bytes)); }

}  // namespace hcclrun::bench
