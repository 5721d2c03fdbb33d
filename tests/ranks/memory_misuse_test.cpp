// What programs do wrong with memory: every mistake is told, with the allocation and the call, and
// nothing crashes. Run without and with HCCLRUN_STRICT, which refuses what hardware accepts
// although it is wrong.

#include <acl/acl_rt_memory_soma.h>
#include <alloca.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "support/gate.h"
#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool Strict() {
  const char* strict = std::getenv("HCCLRUN_STRICT");
  return strict && std::strcmp(strict, "1") == 0;
}

std::string ToldBy(const std::function<void()>& body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

// The refusal of an AllReduce of four numbers from `good` to memory at `buffer`.
std::string Refusal(const Session& s, const DeviceMemory& good, void* buffer) {
  TakeMessages();
  EXPECT_EQ(HcclAllReduce(good.data(), buffer, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, s.comm(),
                          s.stream()),
            HCCL_E_PARA);
  return TakeMessages();
}

RANK_TEST(MemoryMisuse, BeyondAnAllocation) {
  Session s(ranks);
  DeviceMemory memory(64);
  TakeMessages();
  EXPECT_EQ(HcclAllReduce(memory.data(), memory.data(), 17, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                          s.comm(), s.stream()),
            HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(),
              AllOf(HasSubstr("HcclAllReduce: sendBuf ("), HasSubstr(", 68 bytes)"),
                    HasSubstr("beyond its allocation by 4 bytes, which is 64 bytes at 0x"),
                    HasSubstr("aclrtMalloc #")));
}

RANK_TEST(MemoryMisuse, FreedMemory) {
  Session s(ranks);
  const DeviceMemory good(64);
  void* memory = nullptr;
  REQUIRE_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  REQUIRE_OK(aclrtFree(memory));
  const auto gone =
      AllOf(HasSubstr("is not device memory any more"), HasSubstr("offset 16 of aclrtMalloc #"),
            HasSubstr("4096 bytes"), HasSubstr("which aclrtFree has given back"));
  EXPECT_THAT(Refusal(s, good, static_cast<char*>(memory) + 16), gone);
  float value = 0;
  EXPECT_NE(aclrtMemcpy(&value, 4, static_cast<char*>(memory) + 16, 4, ACL_MEMCPY_DEVICE_TO_HOST),
            0);
  EXPECT_THAT(TakeMessages(), gone);
}

RANK_TEST(MemoryMisuse, FreedTwiceOrInTheMiddle) {
  Session s(ranks);
  void* memory = nullptr;
  REQUIRE_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(aclrtFree(static_cast<char*>(memory) + 32), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(TakeMessages(),
              AllOf(HasSubstr("aclrtFree: devPtr ("), HasSubstr("offset 32 of aclrtMalloc #")));
  REQUIRE_OK(aclrtFree(memory));
  EXPECT_EQ(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(
      TakeMessages(),
      HasSubstr("which aclrtFree has given back; use it only before that, and give it back once"));
}

RANK_TEST(MemoryMisuse, UnmappedMemory) {
  Session s(ranks);
  const DeviceMemory good(64);
  void* memory = nullptr;
  REQUIRE_OK(HcclMemAlloc(&memory, 4096));
  REQUIRE_OK(HcclMemFree(memory));
  EXPECT_THAT(Refusal(s, good, memory),
              AllOf(HasSubstr("of HcclMemAlloc #"), HasSubstr("which HcclMemFree has given back")));
  EXPECT_EQ(HcclMemFree(memory), HCCL_E_RUNTIME);
  EXPECT_THAT(TakeMessages(), HasSubstr("which HcclMemFree has given back; give memory back once"));
  // Calls that take host memory, too, do not take it for that.
  int host[16] = {};
  EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemsetAsync(memory, 64, 0, 64, s.stream()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(host, 64, memory, 64, ACL_MEMCPY_DEFAULT), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(good.data(), 64, memory, 64, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  TakeMessages();
  EXPECT_EQ(aclrtMemcpy(host, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(TakeMessages(), HasSubstr("which HcclMemFree has given back"));
  void* reservation = nullptr;
  REQUIRE_OK(aclrtReserveMemAddress(&reservation, 2 << 20, 0, nullptr, 0));
  EXPECT_THAT(Refusal(s, good, reservation),
              HasSubstr("where nothing is mapped; map memory there with aclrtMapMem"));
  REQUIRE_OK(aclrtReleaseMemAddress(reservation));
}

RANK_TEST(MemoryMisuse, HostMemory) {
  Session s(ranks);
  const DeviceMemory good(64);
  void* const local = alloca(16);  // AddressSanitizer has the arrays elsewhere
  EXPECT_THAT(Refusal(s, good, local), HasSubstr("lies on this thread's stack"));
  void* pinned = nullptr;
  REQUIRE_OK(aclrtMallocHost(&pinned, 256));
  EXPECT_THAT(Refusal(s, good, static_cast<char*>(pinned) + 8),
              AllOf(HasSubstr("is host memory, at offset 8 of aclrtMallocHost (256 bytes at 0x"),
                    HasSubstr("aclrtMemcpy")));
  REQUIRE_OK(aclrtFreeHost(pinned));
  std::vector<float> heap(4);
  EXPECT_THAT(Refusal(s, good, heap.data()),
              HasSubstr("is not device memory; allocate it with aclrtMalloc"));
}

RANK_TEST(MemoryMisuse, MemoryOfAnotherDevice) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  const DeviceMemory good(64);
  const int32_t other = s.device() == 0 ? 1 : 0;
  void* memory = nullptr;
  std::thread([&] {
    REQUIRE_OK(aclrtSetDevice(other));
    REQUIRE_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  }).join();
  EXPECT_THAT(Refusal(s, good, memory), HasSubstr("is memory of device " + std::to_string(other)));
  REQUIRE_OK(aclrtFree(memory));
  std::thread([&] { REQUIRE_OK(aclrtResetDevice(other)); }).join();
}

RANK_TEST(MemoryMisuse, PartialOverlap) {
  Session s(ranks);
  DeviceMemory memory(4096);
  char* at = static_cast<char*>(memory.data());
  HcclResult result = HCCL_SUCCESS;
  TakeMessages();
  std::string told = ToldBy([&] {
    result =
        HcclAllReduce(at, at + 32, 16, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, s.comm(), s.stream());
  });
  EXPECT_EQ(result, Strict() ? HCCL_E_PARA : HCCL_SUCCESS);
  EXPECT_THAT(told, AllOf(HasSubstr("HcclAllReduce: the input (0x"), HasSubstr(", 64 bytes)"),
                          HasSubstr("aclrtMalloc #"), HasSubstr("overlap in 32 bytes at 0x")));
  EXPECT_EQ(s.Synchronize(), 0);
  // Exactly in place is fine, on every rank in its own block.
  told = ToldBy([&] {
    EXPECT_EQ(HcclAllReduce(at, at, 16, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, s.comm(), s.stream()),
              HCCL_SUCCESS);
    EXPECT_EQ(HcclAllGather(at + 64 * s.rank(), at, 16, HCCL_DATA_TYPE_FP32, s.comm(), s.stream()),
              HCCL_SUCCESS);
    EXPECT_EQ(s.Synchronize(), 0);
  });
  EXPECT_EQ(told, "");
}

RANK_TEST(MemoryMisuse, OverlapInABatch) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory memory(4096);
  char* at = static_cast<char*>(memory.data());
  const uint32_t next = (s.rank() + 1) % s.size(), before = (s.rank() + s.size() - 1) % s.size();
  HcclSendRecvItem items[2] = {{HCCL_SEND, at, 16, HCCL_DATA_TYPE_FP32, next},
                               {HCCL_RECV, at + 60, 16, HCCL_DATA_TYPE_FP32, before}};
  HcclResult result = HCCL_SUCCESS;
  const std::string told =
      ToldBy([&] { result = HcclBatchSendRecv(items, 2, s.comm(), s.stream()); });
  EXPECT_EQ(result, Strict() ? HCCL_E_PARA : HCCL_SUCCESS);
  EXPECT_THAT(told, HasSubstr("overlap in 4 bytes at 0x"));
  EXPECT_EQ(s.Synchronize(), 0);
}

// Queues an operation behind a gate and gives its memory back.
void GiveBackInFlight(RankGroup& ranks, const std::function<void*()>& allocate,
                      const std::function<int(void*)>& free,
                      const std::vector<std::string>& words) {
  Session s(ranks);
  void* memory = allocate();
  DeviceMemory result(64);
  UploadValues(memory, std::vector<int32_t>(4, 1));
  std::string told;
  {
    Gate gate(s.stream());
    ASSERT_EQ(HcclAllReduce(memory, result.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            s.comm(), s.stream()),
              HCCL_SUCCESS);
    told = ToldBy([&] { EXPECT_EQ(free(memory), 0); });
    gate.Unlock();
    EXPECT_EQ(s.Synchronize(), Strict() ? ACL_ERROR_RT_DEVICE_MEM_ERROR : 0) << TakeMessages();
  }
  for (const std::string& word : words) EXPECT_THAT(told, HasSubstr(word));
  EXPECT_THAT(told, HasSubstr("while HcclAllReduce #1 of communicator "));
  EXPECT_EQ(DownloadValues<int32_t>(result.data(), 4),
            std::vector<int32_t>(4, static_cast<int32_t>(s.size())));
}

RANK_TEST(MemoryMisuse, FreedInFlight) {
  GiveBackInFlight(
      ranks,
      [] {
        void* memory = nullptr;
        REQUIRE_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
        return memory;
      },
      [](void* memory) {
        const int code = aclrtFree(memory);
        void* next = nullptr;  // does not get what is still in use
        REQUIRE_OK(aclrtMalloc(&next, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
        REQUIRE_OK(aclrtMemset(next, 4096, 0x77, 4096));
        REQUIRE_OK(aclrtFree(next));
        return code;
      },
      {"aclrtFree gives back aclrtMalloc #", "4096 bytes"});
}

RANK_TEST(MemoryMisuse, UnmappedInFlight) {
  GiveBackInFlight(
      ranks,
      [] {
        void* memory = nullptr;
        REQUIRE_OK(HcclMemAlloc(&memory, 4096));
        return memory;
      },
      [](void* memory) {
        const int code = HcclMemFree(memory);
        void* next = nullptr;
        REQUIRE_OK(HcclMemAlloc(&next, 4096));
        REQUIRE_OK(aclrtMemset(next, 4096, 0x77, 4096));
        REQUIRE_OK(HcclMemFree(next));
        return code;
      },
      {"HcclMemFree gives back HcclMemAlloc #"});
}

RANK_TEST(MemoryMisuse, HostMemoryFreedUnderACopy) {
  Session s(ranks);
  DeviceMemory device(1 << 20);
  void* host = nullptr;
  REQUIRE_OK(aclrtMallocHost(&host, 1 << 20));
  std::memset(host, 0x21, 1 << 20);
  std::string told;
  {
    Gate gate(s.stream());
    REQUIRE_OK(aclrtMemcpyAsync(device.data(), 1 << 20, host, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE,
                                s.stream()));
    told = ToldBy([&] { EXPECT_EQ(aclrtFreeHost(host), 0); });
    gate.Unlock();
    EXPECT_EQ(s.Synchronize(), Strict() ? ACL_ERROR_RT_DEVICE_MEM_ERROR : 0);
  }
  EXPECT_THAT(told, AllOf(HasSubstr("aclrtFreeHost gives back aclrtMallocHost (1048576 bytes"),
                          HasSubstr("while copy in stream ")));
  EXPECT_EQ(Download(device.data(), 16), std::vector<uint8_t>(16, 0x21));
}

RANK_TEST(MemoryMisuse, WindowDeregisteredInFlight) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  MappedMemory memory(s.device(), 1 << 20);
  HcclCommSymWindow first = nullptr, second = nullptr;
  REQUIRE_OK(HcclCommSymWinRegister(s.comm(), memory.data(), memory.size(), &first, 1));
  REQUIRE_OK(HcclCommSymWinRegister(s.comm(), memory.data(), memory.size(), &second, 1));
  std::string told;
  {
    Gate gate(s.stream());
    ASSERT_EQ(HcclAllReduce(memory.data(), memory.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            s.comm(), s.stream()),
              HCCL_SUCCESS);
    // The first handle is not the last of the window's.
    EXPECT_EQ(ToldBy([&] { REQUIRE_OK(HcclCommSymWinDeregister(second)); }), "");
    told = ToldBy([&] { REQUIRE_OK(HcclCommSymWinDeregister(first)); });
  }
  EXPECT_THAT(told, AllOf(HasSubstr("HcclCommSymWinDeregister gives back a symmetric window"),
                          HasSubstr("while HcclAllReduce #1 of communicator ")));
  // The handle is none any more.
  void* peer = nullptr;
  EXPECT_EQ(HcclSymWinGetPeerPointer(second, 0, 0, &peer), HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("has been destroyed"));
}

RANK_TEST(MemoryMisuse, CommunicatorDestroyedInFlight) {
  Session s(ranks);
  HcclComm comm = s.NewCommunicator();
  DeviceMemory memory(64);
  std::string told;
  {
    Gate gate(s.stream());
    ASSERT_EQ(HcclAllReduce(memory.data(), memory.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            comm, s.stream()),
              HCCL_SUCCESS);
    told = ToldBy([&] { EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS); });
    ranks.Meet();
  }
  EXPECT_THAT(told, AllOf(HasSubstr("HcclCommDestroy: of communicator "),
                          HasSubstr(" 1 operations are queued and not done, the last one is #1")));
  EXPECT_EQ(HcclAllReduce(memory.data(), memory.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, s.stream()),
            HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("has been destroyed"));
}

RANK_TEST(MemoryMisuse, OrderlyProgramsAreNotWarned) {
  Session s(ranks);
  EXPECT_EQ(ToldBy([&] {
              HcclComm comm = s.NewCommunicator();
              void *device = nullptr, *host = nullptr, *window = nullptr;
              REQUIRE_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
              REQUIRE_OK(aclrtMallocHost(&host, 4096));
              REQUIRE_OK(HcclMemAlloc(&window, 4096));
              REQUIRE_OK(aclrtMemset(device, 4096, 0, 4096));
              REQUIRE_OK(HcclAllReduce(device, window, 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                       comm, s.stream()));
              REQUIRE_OK(aclrtMemcpyAsync(host, 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST,
                                          s.stream()));
              REQUIRE_OK(s.Synchronize());
              REQUIRE_OK(HcclMemFree(window));
              REQUIRE_OK(aclrtFreeHost(host));
              REQUIRE_OK(aclrtFree(device));
              REQUIRE_OK(HcclCommDestroy(comm));
            }),
            "");
}

// ---- with HCCLRUN_STRICT ----

template <class T>
std::vector<T> Words(const void* device, size_t count) {
  return DownloadValues<T>(device, count);
}

RANK_TEST(Strict, ContentsThatNobodyWroteAreRecognised) {
  if (!Strict()) return;
  Session s(ranks);
  DeviceMemory fresh(64);
  EXPECT_EQ(Words<uint32_t>(fresh.data(), 16), std::vector<uint32_t>(16, 0xffffa110));
  void* mapped = nullptr;
  REQUIRE_OK(HcclMemAlloc(&mapped, 64));
  EXPECT_EQ(Words<uint32_t>(mapped, 16), std::vector<uint32_t>(16, 0xffffa110));
  REQUIRE_OK(HcclMemFree(mapped));
}

RANK_TEST(Strict, SoAreThoseOfMemoryPools) {
  if (!Strict()) return;
  Session s(ranks);
  aclrtMemPoolProps props = {};
  props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = s.rank();
  aclrtMemPool pool = nullptr;
  REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
  uint64_t keep = 1 << 20;
  REQUIRE_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &keep));
  void *memory = nullptr, *again = nullptr;
  REQUIRE_OK(aclrtMemPoolMallocAsync(&memory, 64, pool, s.stream()));
  EXPECT_EQ(Words<uint32_t>(memory, 16), std::vector<uint32_t>(16, 0xffffa110));
  UploadValues(memory, std::vector<int32_t>(16, 1));
  REQUIRE_OK(aclrtMemPoolFreeAsync(memory, s.stream()));
  EXPECT_EQ(s.Synchronize(), 0);
  EXPECT_EQ(Words<uint32_t>(memory, 16), std::vector<uint32_t>(16, 0xffffdead));
  REQUIRE_OK(aclrtMemPoolMallocAsync(&again, 64, pool, s.stream()));
  EXPECT_EQ(again, memory);
  EXPECT_EQ(Words<uint32_t>(again, 16), std::vector<uint32_t>(16, 0xffffa110));
  REQUIRE_OK(aclrtMemPoolFreeAsync(again, s.stream()));
  EXPECT_EQ(s.Synchronize(), 0);
  REQUIRE_OK(aclrtMemPoolDestroy(pool));
}

// A receive buffer holds nothing of before once the stream has come to the operation.
RANK_TEST(Strict, ReceiveBuffersArePoisoned) {
  if (!Strict() || ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory in(64), out(64);
  UploadValues(in.data(), std::vector<int32_t>(16, 1));
  UploadValues(out.data(), std::vector<int32_t>(16, 9));
  if (s.rank() == 0) {
    ASSERT_EQ(HcclAllReduce(in.data(), out.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            s.comm(), s.stream()),
              HCCL_SUCCESS);
    // Small operations begin in the call.
    EXPECT_EQ(Words<uint32_t>(out.data(), 4), std::vector<uint32_t>(4, 0xffffbad0));
    EXPECT_EQ(Words<uint32_t>(static_cast<char*>(out.data()) + 16, 1)[0], 9u)
        << "behind the output";
    ranks.Meet();
  } else {
    ranks.Meet();
    ASSERT_EQ(HcclAllReduce(in.data(), out.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            s.comm(), s.stream()),
              HCCL_SUCCESS);
  }
  EXPECT_EQ(s.Synchronize(), 0);
  EXPECT_EQ(Words<int32_t>(out.data(), 4), std::vector<int32_t>(4, static_cast<int32_t>(s.size())));
}

RANK_TEST(Strict, InputsOfWindowReductionsAreConsumed) {
  if (!Strict() || ranks.size() == 1) return;
  Session s(ranks);
  WindowMemory memory(s, 1 << 20);
  UploadValues(memory.data(), std::vector<int32_t>(4, 1));
  ASSERT_EQ(HcclAllReduce(memory.data(), memory.data() + 4096, 4, HCCL_DATA_TYPE_INT32,
                          HCCL_REDUCE_SUM, s.comm(), s.stream()),
            HCCL_SUCCESS);
  EXPECT_EQ(s.Synchronize(), 0);
  EXPECT_EQ(Words<uint32_t>(memory.data(), 4), std::vector<uint32_t>(4, 0xffffc10b));
  EXPECT_EQ(Words<int32_t>(memory.data() + 4096, 4),
            std::vector<int32_t>(4, static_cast<int32_t>(s.size())));
}

}  // namespace
}  // namespace hcclrun::testing
