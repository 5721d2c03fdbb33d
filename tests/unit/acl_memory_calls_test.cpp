// Registered host memory, pointer queries, batches, matrices, user allocators and the calls without
// effect, through the C API.

#include <acl/acl_prof.h>

#include <array>

#include "unit/acl_fixture.h"

namespace {

class MemoryCalls : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&stream_));
    ASSERT_ACL_OK(
        aclrtMalloc(reinterpret_cast<void**>(&device_), kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    ASSERT_ACL_OK(aclrtMallocHost(reinterpret_cast<void**>(&host_), kBytes));
    for (size_t i = 0; i < kBytes; i++) host_[i] = static_cast<char>(i % 100);
    memset(device_, 0, kBytes);
  }
  void TearDown() override {
    EXPECT_ACL_OK(aclrtFreeHost(host_));
    AclTest::TearDown();
  }
  static constexpr size_t kBytes = 8192;
  aclrtStream stream_ = nullptr;
  char* device_ = nullptr;
  char* host_ = nullptr;
};

TEST_F(MemoryCalls, OtherAllocationCalls) {
  void* p = nullptr;
  EXPECT_EQ(aclrtMallocAlign32(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocAlign32(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtMallocAlign32(&p, 5, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_ACL_OK(aclrtMemset(p, 32, 1, 32)) << "whole units of 32 bytes";
  EXPECT_ACL_OK(aclrtFree(p));

  EXPECT_EQ(aclrtMemAllocManaged(nullptr, 64, ACL_RT_MEM_ATTACH_GLOBAL), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemAllocManaged(&p, 64, ACL_RT_MEM_ATTACH_GLOBAL),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);

  aclrtMallocAttribute attribute = {};
  attribute.attr = ACL_RT_MEM_ATTR_MODULE_ID;
  aclrtMallocConfig config = {&attribute, 1};
  EXPECT_EQ(aclrtMallocHostWithCfg(nullptr, 64, &config), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHostWithCfg(&p, 0, &config), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtMallocHostWithCfg(&p, 64, &config));
  EXPECT_ACL_OK(aclrtFreeHost(p));
  ASSERT_ACL_OK(aclrtMallocHostWithCfg(&p, 64, nullptr));
  EXPECT_ACL_OK(aclrtFreeHost(p));
  attribute.attr = static_cast<aclrtMallocAttrType>(9);
  EXPECT_EQ(aclrtMallocHostWithCfg(&p, 64, &config), ACL_ERROR_RT_PARAM_INVALID);
  config.attrs = nullptr;
  EXPECT_EQ(aclrtMallocHostWithCfg(&p, 64, &config), ACL_ERROR_INVALID_PARAM);
}

TEST_F(MemoryCalls, UsageOfADevice) {
  aclrtMemUsageInfo usage[2];
  size_t count = 0;
  EXPECT_EQ(aclrtGetMemUsageInfo(0, nullptr, 2, &count), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemUsageInfo(0, usage, 0, &count), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemUsageInfo(0, usage, 2, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemUsageInfo(8, usage, 2, &count), ACL_ERROR_RT_INVALID_DEVICEID);
  ASSERT_ACL_OK(aclrtGetMemUsageInfo(0, usage, 2, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(usage[0].name, "APP");
  const uint64_t before = usage[0].curMemSize;
  EXPECT_GE(before, kBytes);
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_ACL_OK(aclrtGetMemUsageInfo(0, usage, 1, &count));
  EXPECT_GE(usage[0].curMemSize, before + (1 << 20));
  const uint64_t peak = usage[0].memPeakSize;
  ASSERT_ACL_OK(aclrtFree(p));
  ASSERT_ACL_OK(aclrtGetMemUsageInfo(0, usage, 1, &count));
  EXPECT_EQ(usage[0].curMemSize, before);
  EXPECT_EQ(usage[0].memPeakSize, peak);
}

TEST_F(MemoryCalls, WhatAnAddressIs) {
  aclrtPtrAttributes attributes;
  int local = 0;
  EXPECT_EQ(aclrtPointerGetAttributes(nullptr, &attributes), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtPointerGetAttributes(device_, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtPointerGetAttributes(device_ + 5, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.location.id, 0u);
  EXPECT_GT(attributes.pageSize, 0u);
  ASSERT_ACL_OK(aclrtPointerGetAttributes(host_ + kBytes - 1, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  ASSERT_ACL_OK(aclrtPointerGetAttributes(&local, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(attributes.pageSize, 0u);
  OnFreshThread([&] {
    ASSERT_ACL_OK(aclrtSetDevice(1));
    void* other = nullptr;
    ASSERT_ACL_OK(aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    ASSERT_ACL_OK(aclrtPointerGetAttributes(other, &attributes));
    EXPECT_EQ(attributes.location.id, 1u);
    EXPECT_ACL_OK(aclrtResetDeviceForce(1));
  });
}

// Of memory that stays, a conditional copy is only queued.
TEST_F(MemoryCalls, ConditionalCopiesOfRegisteredMemoryDoNotWait) {
  alignas(4096) static char memory[4096];
  ASSERT_ACL_OK(aclrtHostRegisterV2(memory, sizeof memory, ACL_HOST_REG_MAPPED));
  aclrtNotify gate;
  ASSERT_ACL_OK(aclrtCreateNotify(&gate, 0));
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(gate, stream_, 0));
  memory[0] = 5;
  ASSERT_ACL_OK(
      aclrtMemcpyAsyncWithCondition(device_, 1, memory, 1, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  aclrtStream opener;
  ASSERT_ACL_OK(aclrtCreateStream(&opener));
  ASSERT_ACL_OK(aclrtRecordNotify(gate, opener));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(*reinterpret_cast<char*>(device_), 5);
  EXPECT_ACL_OK(aclrtDestroyNotify(gate));
  EXPECT_ACL_OK(aclrtHostUnregister(memory));
}

TEST_F(MemoryCalls, RegisteredHostMemory) {
  alignas(4096) static char memory[8192];
  void* device = nullptr;
  aclrtPtrAttributes attributes;
  EXPECT_EQ(aclrtHostRegister(nullptr, 4096, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(memory, 0, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(memory, 4096, ACL_HOST_REGISTER_MAPPED, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(memory, 4096, ACL_HOST_REGISTER_READONLY, &device),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtHostRegister(memory, 4096, static_cast<aclrtHostRegisterType>(1), &device),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtHostRegister(memory + 8, 4096, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_RT_PARAM_INVALID)
      << "not on a page";
  ASSERT_ACL_OK(aclrtHostRegister(memory, 8192, ACL_HOST_REGISTER_MAPPED, &device));
  EXPECT_EQ(device, memory);
  EXPECT_EQ(aclrtHostRegisterV2(memory + 4096, 4096, ACL_HOST_REG_MAPPED),
            ACL_ERROR_RT_PARAM_INVALID)
      << "a part of it is registered";
  EXPECT_ACL_OK(aclrtPointerGetAttributes(memory + 100, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  device = nullptr;
  EXPECT_EQ(aclrtHostGetDevicePointer(nullptr, &device, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostGetDevicePointer(memory, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostGetDevicePointer(memory, &device, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtHostGetDevicePointer(memory + 64, &device, 0));
  EXPECT_EQ(device, memory + 64);
  EXPECT_EQ(aclrtHostUnregister(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostUnregister(memory + 4096), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtHostUnregister(memory));
  EXPECT_EQ(aclrtHostUnregister(memory), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtHostGetDevicePointer(memory, &device, 0), ACL_ERROR_RT_PARAM_INVALID);

  EXPECT_EQ(aclrtHostRegisterV2(nullptr, 4096, ACL_HOST_REG_MAPPED), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegisterV2(memory, 0, ACL_HOST_REG_MAPPED), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegisterV2(memory, 4096, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtHostRegisterV2(memory, 4096, ACL_HOST_REG_IOMEMORY),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  ASSERT_ACL_OK(aclrtHostRegisterV2(memory, 4096, ACL_HOST_REG_PINNED));
  EXPECT_EQ(aclrtHostGetDevicePointer(memory, &device, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "not registered with MAPPED";
  EXPECT_ACL_OK(aclrtHostUnregister(memory));
  ASSERT_ACL_OK(aclrtHostRegisterV2(memory, 4096, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
  EXPECT_ACL_OK(aclrtHostGetDevicePointer(memory, &device, 0));
  EXPECT_ACL_OK(aclrtHostUnregister(memory));
}

TEST_F(MemoryCalls, MatricesAreCopiedByRows) {
  constexpr size_t kWidth = 10, kRows = 4;
  ASSERT_ACL_OK(aclrtMemcpy2d(device_, 32, host_, 20, kWidth, kRows, ACL_MEMCPY_HOST_TO_DEVICE));
  for (size_t row = 0; row < kRows; row++) {
    EXPECT_EQ(memcmp(device_ + row * 32, host_ + row * 20, kWidth), 0) << row;
    EXPECT_EQ(device_[row * 32 + kWidth], 0) << "between the rows";
  }
  std::array<char, 64> back{};
  ASSERT_ACL_OK(aclrtMemcpy2dAsync(back.data(), 16, device_, 32, kWidth, kRows,
                                   ACL_MEMCPY_DEVICE_TO_HOST, stream_));
  ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(memcmp(back.data() + 3 * 16, host_ + 3 * 20, kWidth), 0);
  EXPECT_EQ(aclrtMemcpy2d(nullptr, 32, host_, 20, 10, 4, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(device_, 32, nullptr, 20, 10, 4, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(device_, 32, host_, 20, 0, 4, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(device_, 32, host_, 20, 10, 0, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(device_, 32, host_, 20, 21, 4, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy2d(device_, 32, host_, 20, 10, 4, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy2d(device_, kBytes, host_, 20, 10, 2, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID)
      << "the last row lies outside";
  EXPECT_EQ(
      aclrtMemcpy2dAsync(device_, SIZE_MAX, host_, 20, 10, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
      ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(MemoryCalls, CopiesWithConditionAreDoneForPageableMemory) {
  std::array<char, 64> pageable;
  pageable.fill(9);
  ASSERT_ACL_OK(aclrtMemcpyAsyncWithCondition(device_, 64, pageable.data(), 64,
                                              ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  EXPECT_EQ(device_[63], 9) << "without a synchronising call";
  aclrtStreamStatus status;
  EXPECT_ACL_OK(aclrtStreamQuery(stream_, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  ASSERT_ACL_OK(
      aclrtMemcpyAsyncWithCondition(device_, 64, host_, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(memcmp(device_, host_, 64), 0);
  EXPECT_EQ(aclrtMemcpyAsyncWithCondition(pageable.data(), 64, host_, 64, ACL_MEMCPY_HOST_TO_HOST,
                                          stream_),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(
      aclrtMemcpyAsyncWithCondition(nullptr, 64, host_, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(
      aclrtMemcpyAsyncWithCondition(device_, 63, host_, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
      ACL_ERROR_INVALID_PARAM);
}

struct TestBatch {
  void* dsts[3];
  size_t maxima[3] = {16, 16, 16};
  void* srcs[3];
  size_t sizes[3] = {16, 16, 16};
  aclrtMemcpyBatchAttr attributes[2] = {};
  size_t indexes[2] = {0, 2};
  size_t fail_index = 7;

  TestBatch(char* device, char* host) {
    for (int i = 0; i < 2; i++) {
      dsts[i] = device + 100 * i;
      srcs[i] = host + 32 * i;
    }
    dsts[2] = host + 1000;
    srcs[2] = device + 100;
    attributes[0].dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attributes[0].srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    attributes[1].dstLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    attributes[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  }
  aclError Run() {
    return aclrtMemcpyBatch(dsts, maxima, srcs, sizes, 3, attributes, indexes, 2, &fail_index);
  }
  aclError Queue(aclrtStream stream) {
    return aclrtMemcpyBatchAsync(dsts, maxima, srcs, sizes, 3, attributes, indexes, 2, &fail_index,
                                 stream);
  }
};

TEST_F(MemoryCalls, BatchesCopyInOrder) {
  TestBatch batch(device_, host_);
  ASSERT_ACL_OK(batch.Run());
  EXPECT_EQ(memcmp(device_, host_, 16), 0);
  EXPECT_EQ(memcmp(device_ + 100, host_ + 32, 16), 0);
  EXPECT_EQ(memcmp(host_ + 1000, host_ + 32, 16), 0) << "of what the copy before wrote";
  memset(device_, 0, 200);
  ASSERT_ACL_OK(batch.Queue(stream_));
  ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(memcmp(device_ + 100, host_ + 32, 16), 0);
}

TEST_F(MemoryCalls, BatchesSayWhichCopyCannotBeMade) {
  TestBatch batch(device_, host_);
  batch.sizes[1] = 17;
  EXPECT_EQ(batch.Run(), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(batch.fail_index, 1u);
  EXPECT_EQ(memcmp(device_, host_, 16), 0) << "those before are made";
  batch.sizes[1] = 16;
  batch.srcs[2] = host_;
  EXPECT_EQ(batch.Queue(stream_), ACL_ERROR_RT_PARAM_INVALID) << "not what its attribute says";
  EXPECT_EQ(batch.fail_index, 2u);
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));

  TestBatch wrong(device_, host_);
  wrong.indexes[0] = 1;
  EXPECT_EQ(wrong.Run(), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(wrong.fail_index, SIZE_MAX);
  wrong.indexes[0] = 0;
  wrong.indexes[1] = 3;
  EXPECT_EQ(wrong.Run(), ACL_ERROR_RT_PARAM_INVALID);
  wrong.indexes[1] = 2;
  wrong.attributes[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_MANAGED;
  EXPECT_EQ(wrong.Run(), ACL_ERROR_RT_PARAM_INVALID);
  TestBatch b(device_, host_);
  auto run = [&](void** dsts, size_t* maxima, void** srcs, size_t* sizes, size_t count,
                 aclrtMemcpyBatchAttr* attributes, size_t* indexes, size_t number, size_t* fail) {
    const aclError sync =
        aclrtMemcpyBatch(dsts, maxima, srcs, sizes, count, attributes, indexes, number, fail);
    EXPECT_EQ(aclrtMemcpyBatchAsync(dsts, maxima, srcs, sizes, count, attributes, indexes, number,
                                    fail, stream_),
              sync);
    return sync;
  };
  EXPECT_EQ(run(nullptr, b.maxima, b.srcs, b.sizes, 3, b.attributes, b.indexes, 2, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, nullptr, b.srcs, b.sizes, 3, b.attributes, b.indexes, 2, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, b.maxima, nullptr, b.sizes, 3, b.attributes, b.indexes, 2, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, b.maxima, b.srcs, nullptr, 3, b.attributes, b.indexes, 2, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, b.maxima, b.srcs, b.sizes, 0, b.attributes, b.indexes, 2, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, b.maxima, b.srcs, b.sizes, 3, nullptr, b.indexes, 2, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, b.maxima, b.srcs, b.sizes, 3, b.attributes, nullptr, 2, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, b.maxima, b.srcs, b.sizes, 3, b.attributes, b.indexes, 0, &b.fail_index),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(b.dsts, b.maxima, b.srcs, b.sizes, 3, b.attributes, b.indexes, 2, nullptr),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(MemoryCalls, CacheHintsAreChecked) {
  EXPECT_ACL_OK(aclrtCmoAsync(device_, kBytes, ACL_RT_CMO_TYPE_PREFETCH, stream_));
  EXPECT_EQ(aclrtCmoAsync(nullptr, 64, ACL_RT_CMO_TYPE_PREFETCH, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCmoAsync(device_, 0, ACL_RT_CMO_TYPE_PREFETCH, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCmoAsync(device_, 64, ACL_RT_CMO_TYPE_FLUSH, stream_),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtCmoAsync(device_, 64, static_cast<aclrtCmoType>(4), stream_),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCmoAsync(host_, 64, ACL_RT_CMO_TYPE_PREFETCH, stream_),
            ACL_ERROR_RT_PARAM_INVALID);
}

// ---- user allocators ----

void* Allocate(aclrtAllocator, size_t) { return nullptr; }
void Release(aclrtAllocator, aclrtAllocatorBlock) {}
void* Advise(aclrtAllocator, size_t, aclrtAllocatorAddr) { return nullptr; }
void* AddressOf(aclrtAllocatorBlock block) { return block; }

TEST_F(MemoryCalls, AllocatorsAreKeptPerStream) {
  int object = 0;
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  ASSERT_NE(desc, nullptr);
  EXPECT_EQ(aclrtAllocatorRegister(stream_, desc), ACL_ERROR_INVALID_PARAM) << "nothing is set";
  EXPECT_ACL_OK(aclrtAllocatorSetObjToDesc(desc, &object));
  EXPECT_ACL_OK(aclrtAllocatorSetAllocFuncToDesc(desc, Allocate));
  EXPECT_ACL_OK(aclrtAllocatorSetFreeFuncToDesc(desc, Release));
  EXPECT_EQ(aclrtAllocatorRegister(stream_, desc), ACL_ERROR_INVALID_PARAM) << "a function misses";
  EXPECT_ACL_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, AddressOf));
  EXPECT_ACL_OK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, Advise));
  EXPECT_EQ(aclrtAllocatorRegister(nullptr, desc), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtAllocatorRegister(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtAllocatorRegister(&object, desc), ACL_ERROR_RT_INVALID_HANDLE);

  aclrtAllocatorDesc got = nullptr;
  aclrtAllocator allocator = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc release = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  auto get = [&] {
    return aclrtAllocatorGetByStream(stream_, &got, &allocator, &allocate, &release, &advise,
                                     &address);
  };
  EXPECT_EQ(get(), ACL_ERROR_RT_PARAM_INVALID) << "not registered yet";
  ASSERT_ACL_OK(aclrtAllocatorRegister(stream_, desc));
  ASSERT_ACL_OK(get());
  EXPECT_EQ(got, desc);
  EXPECT_EQ(allocator, &object);
  EXPECT_EQ(allocate, Allocate);
  EXPECT_EQ(release, Release);
  EXPECT_EQ(advise, Advise);
  EXPECT_EQ(address, AddressOf);
  EXPECT_EQ(aclrtAllocatorGetByStream(stream_, nullptr, &allocator, &allocate, &release, &advise,
                                      &address),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtAllocatorUnregister(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtAllocatorUnregister(stream_));
  EXPECT_ACL_OK(aclrtAllocatorUnregister(stream_)) << "again";
  EXPECT_EQ(get(), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtAllocatorSetObjToDesc(desc, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtAllocatorSetAllocFuncToDesc(desc, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtAllocatorSetAllocFuncToDesc(nullptr, Allocate), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtAllocatorDestroyDesc(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtAllocatorDestroyDesc(desc));
}

// ---- profiling ----

TEST(Profiling, CallsAreAcceptedAndDoNothing) {
  EXPECT_ACL_OK(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "200MB", 5));
  aclprofStepInfo* step = aclprofCreateStepInfo();
  ASSERT_NE(step, nullptr);
  EXPECT_ACL_OK(aclprofGetStepTimestamp(step, ACL_STEP_START, nullptr));
  EXPECT_EQ(aclprofGetStepTimestamp(nullptr, ACL_STEP_START, nullptr), ACL_ERROR_INVALID_PARAM);
  aclprofDestroyStepInfo(step);
  aclprofDestroyStepInfo(nullptr);
  EXPECT_ACL_OK(aclprofMarkEx("here", 4, nullptr));
  EXPECT_EQ(aclprofMarkEx(nullptr, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  void* stamp = aclprofCreateStamp();
  ASSERT_NE(stamp, nullptr);
  uint32_t range = 9;
  EXPECT_ACL_OK(aclprofSetStampTraceMessage(stamp, "a", 1));
  EXPECT_ACL_OK(aclprofPush(stamp));
  EXPECT_ACL_OK(aclprofPop());
  EXPECT_ACL_OK(aclprofMark(stamp));
  EXPECT_ACL_OK(aclprofRangeStart(stamp, &range));
  EXPECT_EQ(range, 0u);
  EXPECT_ACL_OK(aclprofRangeStop(range));
  EXPECT_EQ(aclprofRangeStart(stamp, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofRangeStart(nullptr, &range), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofPush(nullptr), ACL_ERROR_INVALID_PARAM);
  aclprofDestroyStamp(stamp);
  aclprofDestroyStamp(nullptr);
}

}  // namespace
