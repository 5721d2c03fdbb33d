// Device and host memory, copies and fills, through the C API.

#include <atomic>
#include <random>
#include <thread>

#include "unit/acl_fixture.h"

namespace {

class Memory : public AclTest {};

TEST_F(Memory, MallocRefusesNullZeroAndUnknownPolicies) {
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(nullptr, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&p, 16, static_cast<aclrtMemMallocPolicy>(77)), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(p, nullptr) << "outputs are left alone";
}

TEST_F(Memory, MallocServesEveryPolicyAndFewBytes) {
  for (int policy : std::initializer_list<int>{
           ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY,
           ACL_MEM_MALLOC_HUGE_FIRST_P2P, ACL_MEM_MALLOC_HUGE1G_ONLY,
           ACL_MEM_MALLOC_HUGE_FIRST | ACL_MEM_TYPE_HIGH_BAND_WIDTH}) {
    void* p = nullptr;
    ASSERT_ACL_OK(aclrtMalloc(&p, 8, static_cast<aclrtMemMallocPolicy>(policy)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 512, 0u);
    EXPECT_ACL_OK(aclrtFree(p));
  }
}

TEST_F(Memory, FreeRefusesWhatMallocDidNotReturn) {
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  int local;
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(static_cast<char*>(p) + 16), ACL_ERROR_RT_PARAM_INVALID) << "interior";
  EXPECT_EQ(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtFree(p));
  EXPECT_EQ(aclrtFree(p), ACL_ERROR_RT_PARAM_INVALID) << "double free";
}

TEST_F(Memory, G3_ThreadWithoutDeviceHasNoContext) {
  OnFreshThread([] {
    void* p = nullptr;
    size_t a, b;
    char x[4], y[4] = {};
    EXPECT_EQ(aclrtMalloc(&p, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMallocHost(&p, 16), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &a, &b), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemcpy(x, 4, y, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemset(x, 4, 0, 4), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemcpyAsync(x, 4, y, 4, ACL_MEMCPY_HOST_TO_HOST, nullptr),
              ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(Memory, HostMemoryIsPageAlignedAndTracked) {
  void* p = nullptr;
  EXPECT_EQ(aclrtMallocHost(nullptr, 16), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(&p, 0), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtMallocHost(&p, 100));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 4096, 0u);
  memset(p, 1, 100);
  EXPECT_EQ(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(aclrtFreeHost(static_cast<char*>(p) + 8), ACL_SUCCESS);
  EXPECT_ACL_OK(aclrtFreeHost(p));
  EXPECT_NE(aclrtFreeHost(p), ACL_SUCCESS);
  int local;
  EXPECT_NE(aclrtFreeHost(&local), ACL_SUCCESS);
}

TEST_F(Memory, MemInfoShrinksWithAllocationsForEveryAttribute) {
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  size_t free0, total0, free1, total1;
  EXPECT_NE(aclrtGetMemInfo(static_cast<aclrtMemAttr>(99), &free0, &total0), ACL_SUCCESS);
  for (int attribute = ACL_DDR_MEM; attribute <= ACL_MEM_P2P_HUGE1G; attribute++) {
    ASSERT_ACL_OK(aclrtGetMemInfo(static_cast<aclrtMemAttr>(attribute), &free0, &total0));
    EXPECT_GT(total0, 0u);
    EXPECT_LE(free0, total0);
  }
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free0, &total0));
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free1, &total1));
  EXPECT_EQ(total0, total1);
  EXPECT_LT(free1, free0);
  EXPECT_ACL_OK(aclrtFree(p));
}

class Copies : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtMalloc(&a_, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
    ASSERT_ACL_OK(aclrtMalloc(&b_, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t i = 0; i < sizeof host_; i++) host_[i] = static_cast<char>(i * 7);
  }
  void* a_ = nullptr;
  void* b_ = nullptr;
  char host_[1024], back_[1024] = {};
};

TEST_F(Copies, EveryKindMovesTheBytes) {
  EXPECT_ACL_OK(aclrtMemcpy(a_, 1024, host_, 1024, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_ACL_OK(aclrtMemcpy(b_, 1024, a_, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT_ACL_OK(aclrtMemcpy(back_, 1024, b_, 1024, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(memcmp(back_, host_, 1024), 0);
  EXPECT_ACL_OK(aclrtMemset(b_, 1024, 0x1ff, 1024));
  EXPECT_ACL_OK(aclrtMemcpy(back_, 1024, b_, 1024, ACL_MEMCPY_DEFAULT));
  EXPECT_EQ(back_[1023], '\xff') << "the low byte counts";
  EXPECT_ACL_OK(aclrtMemcpy(b_, 1024, host_, 512, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE));
  EXPECT_ACL_OK(aclrtMemcpy(back_, 1024, host_, 1024, ACL_MEMCPY_HOST_TO_HOST));
  EXPECT_ACL_OK(aclrtMemcpy(a_, 1024, b_, 1024, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE));
  EXPECT_ACL_OK(aclrtMemcpy(a_, 1024, b_, 1024, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE));
}

TEST_F(Copies, WorkBetweenTwoDevicesOfTheProcess) {
  void* other = nullptr;
  ASSERT_ACL_OK(aclrtSetDevice(1));
  ASSERT_ACL_OK(aclrtMalloc(&other, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_ACL_OK(aclrtMemcpy(a_, 1024, host_, 1024, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_ACL_OK(aclrtMemcpy(other, 1024, a_, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT_ACL_OK(aclrtMemcpy(back_, 1024, other, 1024, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(memcmp(back_, host_, 1024), 0);
  EXPECT_ACL_OK(aclrtResetDevice(1));
  ASSERT_ACL_OK(aclrtSetDevice(0));
}

TEST_F(Copies, RefuseNullAndTooLong) {
  EXPECT_EQ(aclrtMemcpy(nullptr, 1024, host_, 1, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(a_, 1024, nullptr, 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(a_, 100, host_, 101, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(nullptr, 10, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(a_, 10, 0, 11), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(a_, 1024, host_, 1, static_cast<aclrtMemcpyKind>(42)),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtMemcpy(a_, 1024, host_, 0, ACL_MEMCPY_HOST_TO_DEVICE)) << "nothing to do";
}

TEST_F(Copies, RefuseAddressesOfTheWrongKind) {
  EXPECT_EQ(aclrtMemcpy(host_, 1024, back_, 1024, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(a_, 1024, b_, 1024, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(a_, 1024, host_, 1024, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(a_, 1024, host_, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(host_, 1024, a_, 1024, ACL_MEMCPY_HOST_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Copies, RefuseExtentsBeyondAnAllocation) {
  EXPECT_EQ(aclrtMemcpy(a_, 2048, host_, 1025, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(static_cast<char*>(a_) + 1000, 1024, host_, 25, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(
      aclrtMemcpy(static_cast<char*>(a_) + 1000, 1024, host_, 24, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_EQ(aclrtMemset(a_, 2048, 0, 1025), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Copies, RefuseFreedDeviceMemoryEvenWhereHostMemoryWouldDo) {
  ASSERT_ACL_OK(aclrtFree(b_));
  EXPECT_EQ(aclrtMemcpy(a_, 1024, b_, 16, ACL_MEMCPY_DEFAULT), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(b_, 1024, host_, 16, ACL_MEMCPY_DEFAULT), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Copies, MemsetAcceptsHostMemory) {
  void* pinned = nullptr;
  ASSERT_ACL_OK(aclrtMallocHost(&pinned, 64));
  EXPECT_ACL_OK(aclrtMemset(pinned, 64, 5, 64));
  EXPECT_EQ(static_cast<char*>(pinned)[63], 5);
  EXPECT_ACL_OK(aclrtFreeHost(pinned));
}

TEST_F(Copies, AsyncCopiesRunInStreamOrder) {
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  EXPECT_ACL_OK(aclrtMemsetAsync(a_, 1024, 1, 1024, stream));
  EXPECT_ACL_OK(aclrtMemcpyAsync(a_, 1024, host_, 1000, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  EXPECT_ACL_OK(aclrtMemcpyAsync(back_, 1024, a_, 1024, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_ACL_OK(aclrtMemsetAsync(a_, 1024, 2, 1024, stream));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(memcmp(back_, host_, 1000), 0);
  EXPECT_EQ(back_[1000], 1);
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
}

TEST_F(Copies, HostToBufferCopyFreesItsSourceAtOnce) {
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  struct Gate {
    std::atomic<bool> open{false};
  } gate;
  EXPECT_ACL_OK(aclrtLaunchHostFunc(
      stream,
      [](void* p) {
        while (!static_cast<Gate*>(p)->open) std::this_thread::yield();
      },
      &gate));
  char expected[1024];
  memcpy(expected, host_, 1024);
  EXPECT_ACL_OK(aclrtMemcpyAsync(a_, 1024, host_, 1024, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
  memset(host_, 0, 1024);
  gate.open = true;
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(memcmp(a_, expected, 1024), 0);
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
}

TEST_F(Copies, MemoryFreedBeforeAnAsyncCopyRanIsAFaultAndNotACrash) {
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  std::atomic<bool> open{false};
  EXPECT_ACL_OK(aclrtLaunchHostFunc(
      stream,
      [](void* p) {
        while (!*static_cast<std::atomic<bool>*>(p)) std::this_thread::yield();
      },
      &open));
  EXPECT_ACL_OK(aclrtMemcpyAsync(a_, 1024, host_, 1024, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  EXPECT_ACL_OK(aclrtFree(a_));
  open = true;
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
}

TEST_F(Copies, SynchronousCopyDoesNotWaitForStreams) {
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  std::atomic<bool> open{false};
  EXPECT_ACL_OK(aclrtLaunchHostFunc(
      stream,
      [](void* p) {
        while (!*static_cast<std::atomic<bool>*>(p)) std::this_thread::yield();
      },
      &open));
  EXPECT_ACL_OK(aclrtMemcpy(a_, 1024, host_, 1024,
                            ACL_MEMCPY_HOST_TO_DEVICE));  // returns although the stream is shut
  open = true;
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
}

TEST_F(Memory, ManyThreadsAllocateAndFree) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([t] {
      ASSERT_ACL_OK(aclrtSetDevice(0));
      std::mt19937 random(t);
      std::vector<std::pair<char*, size_t>> live;
      for (int i = 0; i < 400; i++) {
        if (live.empty() || random() % 2) {
          void* p = nullptr;
          size_t size = 1 + random() % 50000;
          ASSERT_ACL_OK(aclrtMalloc(&p, size, ACL_MEM_MALLOC_HUGE_FIRST));
          memset(p, t + 1, size);
          live.emplace_back(static_cast<char*>(p), size);
        } else {
          size_t at = random() % live.size();
          ASSERT_EQ(live[at].first[0], t + 1);
          ASSERT_EQ(live[at].first[live[at].second - 1], t + 1);
          ASSERT_ACL_OK(aclrtFree(live[at].first));
          live.erase(live.begin() + at);
        }
      }
      for (auto [p, size] : live) ASSERT_ACL_OK(aclrtFree(p));
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
