// Memory pools and reductions in stream order, through the C API.

#include <acl/acl_rt_memory_soma.h>

#include "unit/acl_fixture.h"

namespace {

constexpr uint64_t kMiB = 1 << 20;

class MemoryPools : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&stream_));
    ASSERT_ACL_OK(aclrtCreateStream(&other_));
    ASSERT_ACL_OK(aclrtCreateNotify(&gate_, 0));
    props_.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props_.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props_.maxSize = 8 * kMiB;
    ASSERT_ACL_OK(aclrtMemPoolCreate(&pool_, &props_));
  }
  // The stream stands still from here until Open().
  void Shut(aclrtStream stream) { ASSERT_ACL_OK(aclrtWaitAndResetNotify(gate_, stream, 0)); }
  void Open() { ASSERT_ACL_OK(aclrtRecordNotify(gate_, nullptr)); }
  uint64_t Amount(aclrtMemPoolAttr attribute) {
    uint64_t bytes = UINT64_MAX;
    EXPECT_ACL_OK(aclrtMemPoolGetAttr(pool_, attribute, &bytes));
    return bytes;
  }
  aclError SetAmount(aclrtMemPoolAttr attribute, uint64_t bytes) {
    return aclrtMemPoolSetAttr(pool_, attribute, &bytes);
  }
  void* Malloc(uint64_t bytes, aclrtStream stream) {
    void* address = nullptr;
    EXPECT_ACL_OK(aclrtMemPoolMallocAsync(&address, bytes, pool_, stream));
    return address;
  }
  aclrtStream stream_ = nullptr, other_ = nullptr;
  aclrtNotify gate_ = nullptr;
  aclrtMemPoolProps props_ = {};
  aclrtMemPool pool_ = nullptr;
};

TEST_F(MemoryPools, CreatingChecksTheProperties) {
  aclrtMemPool pool = nullptr;
  EXPECT_EQ(aclrtMemPoolCreate(nullptr, &props_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemPoolCreate(&pool, nullptr), ACL_ERROR_INVALID_PARAM);
  const auto refused = [&](aclError code, auto change) {
    aclrtMemPoolProps props = props_;
    change(props);
    EXPECT_EQ(aclrtMemPoolCreate(&pool, &props), code);
  };
  refused(ACL_ERROR_RT_PARAM_INVALID,
          [](auto& p) { p.allocType = static_cast<aclrtMemAllocationType>(7); });
  refused(ACL_ERROR_RT_PARAM_INVALID, [](auto& p) { p.handleType = static_cast<aclrtMemHandleType>(7); });
  refused(ACL_ERROR_RT_PARAM_INVALID, [](auto& p) { p.location.type = ACL_MEM_LOCATION_TYPE_HOST; });
  refused(ACL_ERROR_RT_PARAM_INVALID, [](auto& p) { p.maxSize = SIZE_MAX; });
  refused(ACL_ERROR_RT_PARAM_INVALID, [](auto& p) { p.reserved[31] = 1; });
  refused(ACL_ERROR_RT_INVALID_DEVICEID, [](auto& p) { p.location.id = 8; });
  props_.maxSize = 0;
  ASSERT_ACL_OK(aclrtMemPoolCreate(&pool, &props_)) << "all of the device";
  void* address = nullptr;
  EXPECT_ACL_OK(aclrtMemPoolMallocAsync(&address, 16 * kMiB, pool, nullptr));
  EXPECT_ACL_OK(aclrtMemPoolFreeAsync(address, nullptr));
  EXPECT_ACL_OK(aclrtMemPoolDestroy(pool));
  EXPECT_EQ(aclrtMemPoolDestroy(pool), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtMemPoolDestroy(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemPoolTrimTo(pool, 0), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(MemoryPools, ArgumentsOfMallocAndFree) {
  void* address = nullptr;
  EXPECT_EQ(aclrtMemPoolMallocAsync(nullptr, 1, pool_, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemPoolMallocAsync(&address, 0, pool_, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemPoolMallocAsync(&address, 1, nullptr, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemPoolMallocAsync(&address, 1, stream_, stream_), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtMemPoolMallocAsync(&address, 1, pool_, pool_), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtMemPoolFreeAsync(nullptr, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemPoolFreeAsync(&address, stream_), ACL_ERROR_RT_PARAM_INVALID);
  address = Malloc(100, stream_);
  EXPECT_EQ(aclrtFree(address), ACL_ERROR_RT_PARAM_INVALID) << "it is the pool's";
  EXPECT_ACL_OK(aclrtMemset(address, 100, 1, 100));
  EXPECT_ACL_OK(aclrtMemPoolFreeAsync(address, stream_));
  EXPECT_EQ(aclrtMemPoolFreeAsync(address, stream_), ACL_ERROR_RT_PARAM_INVALID) << "twice";
}

TEST_F(MemoryPools, AStreamReusesItsOwnMemoryAtOnceAndOthersWhenItIsFree) {
  Shut(stream_);
  void* const first = Malloc(kMiB, stream_);
  ASSERT_ACL_OK(aclrtMemPoolFreeAsync(first, stream_));
  EXPECT_EQ(Malloc(kMiB / 2, stream_), first) << "its tasks run in order";
  ASSERT_ACL_OK(aclrtMemPoolFreeAsync(first, stream_));
  void* const second = Malloc(kMiB, other_);
  EXPECT_NE(second, first) << "the stream has not come to the free";
  Open();
  ASSERT_ACL_OK(SetAmount(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, 8 * kMiB));
  ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Malloc(kMiB, other_), first);
}

// A block that has been handed out again is not free when the stream comes to the first free.
TEST_F(MemoryPools, AnOldFreeDoesNotTouchMemoryInUse) {
  Shut(stream_);
  void* const block = Malloc(kMiB, stream_);
  ASSERT_ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  ASSERT_EQ(Malloc(kMiB, stream_), block);
  Open();
  ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_NE(Malloc(kMiB, other_), block);
  EXPECT_ACL_OK(aclrtMemset(block, kMiB, 1, kMiB));
}

TEST_F(MemoryPools, TheSmallestPieceThatIsLargeEnough) {
  ASSERT_ACL_OK(SetAmount(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, 8 * kMiB));
  void *large = Malloc(3 * kMiB, stream_), *small = Malloc(kMiB, stream_);
  for (void* block : {large, small}) ASSERT_ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  EXPECT_EQ(Malloc(kMiB - 5, stream_), small);
  EXPECT_EQ(Malloc(kMiB, stream_), large);
}

TEST_F(MemoryPools, TheSizeIsALimit) {
  void* address = Malloc(8 * kMiB, stream_);
  void* more = nullptr;
  EXPECT_EQ(aclrtMemPoolMallocAsync(&more, 1, pool_, stream_), ACL_ERROR_RT_MEMORY_ALLOCATION);
  ASSERT_ACL_OK(aclrtMemPoolFreeAsync(address, stream_));
  ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
  for (int i = 0; i < 2; i++) EXPECT_NE(Malloc(4 * kMiB, stream_), nullptr);
}

TEST_F(MemoryPools, SynchronisingReleasesWhatIsAboveTheThreshold) {
  ASSERT_ACL_OK(SetAmount(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, 3 * kMiB));
  void* blocks[] = {Malloc(kMiB, stream_), Malloc(2 * kMiB, stream_), Malloc(3 * kMiB, stream_)};
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 6 * kMiB);
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 6 * kMiB);
  for (void* block : blocks) ASSERT_ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 0u);
  ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_LE(Amount(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 3 * kMiB);
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 6 * kMiB);
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 6 * kMiB);
  ASSERT_ACL_OK(aclrtMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 0u);
}

TEST_F(MemoryPools, Attributes) {
  for (aclrtMemPoolAttr attribute : {ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                     ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC,
                                     ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
    uint32_t value = 7;
    EXPECT_EQ(aclrtMemPoolSetAttr(pool_, attribute, &value), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_ACL_OK(aclrtMemPoolGetAttr(pool_, attribute, &value));
    EXPECT_EQ(value, 1u);
    value = 0;
    EXPECT_ACL_OK(aclrtMemPoolSetAttr(pool_, attribute, &value));
    value = 7;
    EXPECT_ACL_OK(aclrtMemPoolGetAttr(pool_, attribute, &value));
    EXPECT_EQ(value, 0u);
  }
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD), 0u);
  ASSERT_ACL_OK(aclrtMemPoolFreeAsync(Malloc(kMiB, stream_), stream_));
  for (auto high : {ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH}) {
    EXPECT_EQ(Amount(high), kMiB);
    EXPECT_EQ(SetAmount(high, 5), ACL_ERROR_RT_PARAM_INVALID);
  }
  EXPECT_ACL_OK(SetAmount(ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, 0));
  EXPECT_EQ(Amount(ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 0u);
  EXPECT_EQ(SetAmount(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(SetAmount(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(SetAmount(static_cast<aclrtMemPoolAttr>(9), 0), ACL_ERROR_RT_PARAM_INVALID);
  uint64_t value = 0;
  EXPECT_EQ(aclrtMemPoolGetAttr(pool_, static_cast<aclrtMemPoolAttr>(0), &value),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemPoolGetAttr(pool_, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemPoolSetAttr(nullptr, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(MemoryPools, MemoryOutlivesItsPool) {
  void* block = Malloc(kMiB, stream_);
  ASSERT_ACL_OK(aclrtMemPoolDestroy(pool_));
  EXPECT_ACL_OK(aclrtMemsetAsync(block, kMiB, 1, kMiB, stream_));
  EXPECT_ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(aclrtMemset(block, 1, 1, 1), ACL_ERROR_RT_PARAM_INVALID) << "it is gone now";
}

TEST_F(MemoryPools, EndWithTheirDevice) {
  Shut(stream_);
  void *freed = Malloc(kMiB, stream_), *used = Malloc(kMiB, stream_);
  ASSERT_ACL_OK(aclrtMemPoolFreeAsync(freed, stream_));
  ASSERT_ACL_OK(aclrtResetDeviceForce(0));
  ASSERT_ACL_OK(aclrtSetDevice(0));
  EXPECT_EQ(aclrtMemPoolDestroy(pool_), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtMemPoolFreeAsync(used, nullptr), ACL_ERROR_RT_PARAM_INVALID);
}

class Reductions : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&stream_));
    for (void** p : {&a_, &b_}) ASSERT_ACL_OK(aclrtMalloc(p, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  template <class T>
  void Expect(aclDataType type, aclrtReduceKind kind, T a, T b, T result) {
    constexpr size_t n = 37;
    std::vector<T> left(n, a), right(n, b);
    memcpy(a_, left.data(), n * sizeof(T));
    memcpy(b_, right.data(), n * sizeof(T));
    ASSERT_ACL_OK(aclrtReduceAsync(a_, b_, n * sizeof(T), kind, type, stream_, nullptr));
    ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
    memcpy(left.data(), a_, n * sizeof(T));
    EXPECT_EQ(left, std::vector<T>(n, result)) << type << " " << kind;
    EXPECT_EQ(memcmp(b_, right.data(), n * sizeof(T)), 0);
  }
  aclError Reduce(void* dst, const void* src, uint64_t bytes, int kind, int type,
                  void* reserve = nullptr) {
    return aclrtReduceAsync(dst, src, bytes, static_cast<aclrtReduceKind>(kind),
                            static_cast<aclDataType>(type), stream_, reserve);
  }
  static constexpr size_t kBytes = 4096;
  aclrtStream stream_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr;
};

TEST_F(Reductions, OfEveryType) {
  const auto sum = ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, max = ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX,
             min = ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN;
  Expect<int8_t>(ACL_INT8, sum, 100, 50, int8_t(150 - 256));
  Expect<int16_t>(ACL_INT16, max, -3, 4, 4);
  Expect<int32_t>(ACL_INT32, min, -3, 4, -3);
  Expect<float>(ACL_FLOAT, sum, 1.5f, 2.25f, 3.75f);
  Expect<uint16_t>(ACL_FLOAT16, sum, 0x3c00, 0x4000, 0x4200);  // 1 + 2
  Expect<uint16_t>(ACL_BF16, sum, 0x3f80, 0x4000, 0x4040);     // 1 + 2
}

TEST_F(Reductions, CheckTheirArguments) {
  const int sum = ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM;
  EXPECT_EQ(Reduce(nullptr, b_, 4, sum, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Reduce(a_, nullptr, 4, sum, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Reduce(a_, b_, 0, sum, ACL_FLOAT), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Reduce(a_, b_, 4, sum, ACL_FLOAT, a_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Reduce(a_, b_, 4, 9, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(Reduce(a_, b_, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, ACL_FLOAT),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(Reduce(a_, b_, 8, sum, ACL_INT64), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(Reduce(a_, b_, 6, sum, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(Reduce(a_, b_, kBytes + 4, sum, ACL_FLOAT), ACL_ERROR_RT_PARAM_INVALID);
  int host = 0;
  EXPECT_EQ(Reduce(&host, b_, 4, sum, ACL_INT32), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(Reduce(a_, &host, 4, sum, ACL_INT32), ACL_ERROR_RT_PARAM_INVALID);
}

}  // namespace
