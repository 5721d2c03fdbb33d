// A rank whose host has no memory left in the middle of a call: what it has announced is not left for
// others to wait for.

#include <cstdlib>
#include <functional>
#include <new>
#include <vector>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace {

// How many larger allocations of this thread are to fail from now on.
thread_local int t_failing = 0;
constexpr size_t kLarger = 256;

void* Allocate(size_t bytes) {
  if (t_failing > 0 && bytes >= kLarger) {
    t_failing--;
    return nullptr;
  }
  return std::malloc(bytes ? bytes : 1);
}

}  // namespace

// Not inlined: the compiler would see free() of what operator new returned.
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = Allocate(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace hcclrun::testing {
namespace {

// Rank 0 calls first, and has to keep the operation until the others come; the first `failing` allocations
// for that fail. Then its call, or its stream, fails, and so do the others', with an error and not by a
// time-out: there is none.
void NobodyWaits(RankGroup& ranks, int failing, uint64_t count,
                 const std::function<HcclResult(Session&, char*, uint64_t)>& call) {
  Session s(ranks, [](HcclCommConfig& c) { c.hcclExecTimeOut = 0; });
  DeviceMemory memory(count * 4);
  for (int i = 0; i < 3; i++) {  // so that everything is known, and made, that a call needs
    REQUIRE_OK(call(s, memory.data(), count));
    REQUIRE_OK(s.Synchronize());
  }
  TakeMessages();
  if (s.rank() == 0) {
    t_failing = failing;
    const HcclResult code = call(s, memory.data(), count);
    const int left = t_failing;
    t_failing = 0;
    EXPECT_LT(left, failing) << "nothing was allocated: the test tests nothing";
    EXPECT_TRUE(code != HCCL_SUCCESS || s.Synchronize() != 0);
    EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("the host has no memory"));
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    EXPECT_EQ(aclrtStreamQuery(s.stream(), &status), 0);
    EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE) << "the stream still has the operation";
    ranks.Meet();
  } else {
    ranks.Meet();
    EXPECT_TRUE(call(s, memory.data(), count) != HCCL_SUCCESS || s.Synchronize() != 0);
  }
  ranks.Meet();
}

HcclResult Sum(Session& s, char* memory, uint64_t count) {
  return HcclAllReduce(memory, memory, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, s.comm(),
                       s.stream());
}

RANK_TEST(NoMemoryToKeep, AnExchange) {
  for (int failing : {1, 100}) NobodyWaits(ranks, failing, 4, Sum);
}

RANK_TEST(NoMemoryToKeep, AShortOperation) {
  for (int failing : {1, 100}) NobodyWaits(ranks, failing, 1500, Sum);
}

RANK_TEST(NoMemoryToKeep, ASend) {
  for (int failing : {1, 100}) {
    NobodyWaits(ranks, failing, 16, [](Session& s, char* memory, uint64_t count) {
      return s.rank() == 0
                 ? HcclSend(memory, count, HCCL_DATA_TYPE_FP32, 1, s.comm(), s.stream())
                 : HcclRecv(memory, count, HCCL_DATA_TYPE_FP32, 0, s.comm(), s.stream());
    });
  }
}

}  // namespace
}  // namespace hcclrun::testing
