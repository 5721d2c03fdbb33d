// Registration of symmetric windows (semantics A.2 to A.6). What needs a rank that stays away is in
// windows_missing_test.cpp.

#include <memory>

#include "ranks/windows.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

// ---- A.3 ----

RANK_TEST(Register, ChecksArgumentsInOrder) {
  Session session(ranks);
  MappedMemory memory(session.device(), 4096);
  HcclCommSymWindow window = nullptr;
  void* address = memory.data();
  const auto named = [](const char* text) { EXPECT_THAT(TakeMessages(), HasSubstr(text)); };
  TakeMessages();
  EXPECT_EQ(HcclCommSymWinRegister(nullptr, nullptr, 0, nullptr, 0), HCCL_E_PTR);
  named("comm is null");
  EXPECT_EQ(HcclCommSymWinRegister(session.comm(), nullptr, 0, nullptr, 0), HCCL_E_PTR);
  named("addr is null");
  EXPECT_EQ(HcclCommSymWinRegister(session.comm(), address, 0, nullptr, 0), HCCL_E_PTR);
  named("winHandle is null");
  EXPECT_EQ(HcclCommSymWinRegister(session.comm(), address, 0, &window, 0), HCCL_E_PARA);
  named("size is 0");
  EXPECT_EQ(HcclCommSymWinRegister(session.comm(), address, 4096, &window, 0), HCCL_E_PARA);
  named("flag is 0");
  EXPECT_EQ(HcclCommSymWinRegister(session.comm(), address, 4096, &window, 2), HCCL_E_PARA);
  named("flag is 2");
  EXPECT_EQ(HcclCommSymWinRegister(session.stream(), address, 4096, &window, 1), HCCL_E_PARA);
  named("communicator handle");
  EXPECT_EQ(window, nullptr);
}

// Steps 11 to 14 look at the address; all are local, so that nobody waits for anybody.
RANK_TEST(Register, RefusesWhatIsNoMapping) {
  if (ranks.size() == 1) return;  // step 10 comes first
  Session session(ranks);
  HcclCommSymWindow window = nullptr;
  int local = 0;
  EXPECT_EQ(Register(session.comm(), &local, 4, &window), HCCL_E_PARA) << "host memory";
  DeviceMemory plain(kGranularity);
  EXPECT_EQ(Register(session.comm(), plain.data(), 4096, &window), HCCL_E_PARA) << "aclrtMalloc";
  EXPECT_THAT(TakeMessages(), HasSubstr("aclrtMalloc memory cannot be registered"));
  void* reserved = nullptr;
  REQUIRE_OK(aclrtReserveMemAddress(&reserved, kGranularity, 0, nullptr, 1));
  EXPECT_EQ(Register(session.comm(), reserved, 4096, &window), HCCL_E_PARA)
      << "reserved, nothing mapped";
  REQUIRE_OK(aclrtReleaseMemAddress(reserved));
  MappedMemory memory(session.device(), 2 * kGranularity);
  EXPECT_EQ(Register(session.comm(), memory.data(), memory.size() + 1, &window), HCCL_E_PARA)
      << "beyond the end";
  EXPECT_EQ(Register(session.comm(), memory.data() + 1, memory.size(), &window), HCCL_E_PARA)
      << "beyond the end";
  EXPECT_THAT(TakeMessages(), HasSubstr("addr"));
  EXPECT_EQ(Register(session.comm(), memory.data() + memory.size(), 1, &window), HCCL_E_PARA)
      << "behind the end";
  // After all that the communicator's windows work.
  ASSERT_EQ(Register(session.comm(), memory.data() + 4097, 1, &window), HCCL_SUCCESS)
      << TakeMessages();
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

// A window cannot span two mappings, however adjacent (step 14).
RANK_TEST(Register, WindowLiesInOneMapping) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  void* base = nullptr;
  REQUIRE_OK(aclrtReserveMemAddress(&base, 2 * kGranularity, 0, nullptr, 1));
  aclrtPhysicalMemProp prop = {};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(session.device());
  aclrtDrvMemHandle handles[2];
  for (int i = 0; i < 2; ++i) {
    REQUIRE_OK(aclrtMallocPhysical(&handles[i], kGranularity, &prop, 0));
    REQUIRE_OK(aclrtMapMem(static_cast<char*>(base) + static_cast<size_t>(i) * kGranularity,
                           kGranularity, 0, handles[i], 0));
  }
  HcclCommSymWindow window = nullptr, other = nullptr;
  EXPECT_EQ(Register(session.comm(), base, 2 * kGranularity, &window), HCCL_E_PARA);
  EXPECT_EQ(Register(session.comm(), static_cast<char*>(base) + kGranularity - 1, 2, &window),
            HCCL_E_PARA);
  // Each alone is fine; a range across both is in neither window.
  ASSERT_EQ(Register(session.comm(), base, kGranularity, &window), HCCL_SUCCESS);
  ASSERT_EQ(Register(session.comm(), static_cast<char*>(base) + kGranularity, kGranularity, &other),
            HCCL_SUCCESS);
  HcclCommSymWindow found = nullptr;
  size_t offset = 0;
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), static_cast<char*>(base) + kGranularity - 1, 2,
                              &found, &offset),
            HCCL_E_NOT_FOUND);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(other), HCCL_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    REQUIRE_OK(aclrtUnmapMem(static_cast<char*>(base) + static_cast<size_t>(i) * kGranularity));
    REQUIRE_OK(aclrtFreePhysical(handles[i]));
  }
  REQUIRE_OK(aclrtReleaseMemAddress(base));
}

// Step 10: with one rank the address is not looked at, and nothing is ever found.
RANK_TEST(Register, OneRankGetsAnOpaqueHandle) {
  if (ranks.size() != 1) return;
  Session session(ranks, [](HcclCommConfig& config) { config.hcclSymWinMaxMemSizePerRank = 0; });
  int local = 0;
  HcclCommSymWindow window = nullptr, found = nullptr;
  size_t offset = 0;
  ASSERT_EQ(Register(session.comm(), &local, sizeof local, &window), HCCL_SUCCESS);
  EXPECT_NE(window, nullptr);
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), &local, 4, &found, &offset), HCCL_E_NOT_FOUND);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_E_PARA);
}

// A.2 and A.4: a window space of 0, or larger than the device, is found by the first registration
// and remembered.
RANK_TEST(Register, IllegalWindowSpaceIsRemembered) {
  if (ranks.size() == 1) return;
  for (uint64_t gigabytes : {uint64_t{0}, uint64_t{1} << 20, UINT64_MAX}) {
    Session session(
        ranks, [=](HcclCommConfig& config) { config.hcclSymWinMaxMemSizePerRank = gigabytes; });
    MappedMemory memory(session.device(), kGranularity);
    HcclCommSymWindow window = nullptr;
    EXPECT_EQ(Register(session.comm(), memory.data(), 4096, &window), HCCL_E_PARA) << gigabytes;
    EXPECT_THAT(TakeMessages(), HasSubstr("hcclSymWinMaxMemSizePerRank"));
    EXPECT_EQ(Register(session.comm(), memory.data(), 4096, &window), HCCL_E_PARA) << gigabytes;
    // Only windows are out of use.
    EXPECT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
  }
}

// Step 15: exhaustion fails at once and everywhere, and the communicator stays usable.
RANK_TEST(Register, ExhaustedWindowSpace) {
  if (ranks.size() != 2) return;  // a gigabyte of memory for each rank
  Session session(ranks);
  constexpr size_t kLarge = (size_t{1} << 30) - kGranularity;
  size_t free_bytes = 0, total = 0;
  REQUIRE_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  if (ranks.ExchangeValues(free_bytes)[0] < 5 * kLarge || total < 2 * kLarge) return;
  HcclCommSymWindow large = nullptr, small = nullptr, none = nullptr;
  MappedMemory first(session.device(), kLarge), second(session.device(), kGranularity),
      third(session.device(), kGranularity);
  ASSERT_EQ(Register(session.comm(), first.data(), 1, &large), HCCL_SUCCESS) << TakeMessages();
  ASSERT_EQ(Register(session.comm(), second.data(), 1, &small), HCCL_SUCCESS) << TakeMessages();
  EXPECT_EQ(Register(session.comm(), third.data(), 1, &none), HCCL_E_MEMORY);
  EXPECT_THAT(TakeMessages(), HasSubstr("raise hcclSymWinMaxMemSizePerRank"));
  EXPECT_EQ(none, nullptr);
  ASSERT_EQ(HcclCommSymWinDeregister(small), HCCL_SUCCESS);
  ASSERT_EQ(Register(session.comm(), third.data(), 1, &none), HCCL_SUCCESS)
      << "the freed range is used again";
  EXPECT_EQ(HcclCommSymWinDeregister(none), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(large), HCCL_SUCCESS);
}

// Step 18.
RANK_TEST(Register, MappedSizesMustAgree) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  const bool odd = ranks.rank() == ranks.size() - 1;
  {
    MappedMemory memory(session.device(), odd ? 2 * kGranularity : kGranularity);
    HcclCommSymWindow window = nullptr;
    EXPECT_EQ(Register(session.comm(), memory.data(), 4096, &window), HCCL_E_INTERNAL);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr("mapped size 2097152")) << "both sides are named";
    EXPECT_THAT(text, HasSubstr("mapped size 4194304"));
    EXPECT_EQ(window, nullptr);
  }
  WindowMemory afterwards(session, kGranularity);  // all failed, all can go on
}

// A.5: calls are paired by order alone, so that other orders meet at other offsets.
RANK_TEST(Register, OrderMustAgree) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory small(session.device(), kGranularity), large(session.device(), 2 * kGranularity);
  const bool odd = ranks.rank() == 0;
  HcclCommSymWindow window = nullptr;
  EXPECT_EQ(Register(session.comm(), odd ? large.data() : small.data(), 1, &window),
            HCCL_E_INTERNAL);
  EXPECT_EQ(Register(session.comm(), odd ? small.data() : large.data(), 1, &window),
            HCCL_E_INTERNAL);
  ASSERT_EQ(Register(session.comm(), small.data(), 1, &window), HCCL_SUCCESS) << TakeMessages();
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

// ---- A.6 ----

RANK_TEST(Register, SameMappingAgainGivesAnotherHandle) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  UploadValues(memory.data(), Pattern(ranks.rank(), 100));
  HcclCommSymWindow one = nullptr, two = nullptr, three = nullptr;
  ASSERT_EQ(Register(session.comm(), memory.data(), memory.size(), &one), HCCL_SUCCESS);
  ASSERT_EQ(Register(session.comm(), memory.data() + 4096, 10, &two), HCCL_SUCCESS);
  ASSERT_EQ(Register(session.comm(), memory.data(), memory.size(), &three), HCCL_SUCCESS);
  EXPECT_NE(one, two);
  EXPECT_NE(two, three);
  EXPECT_NE(one, three);
  const uint32_t peer = (ranks.rank() + 1) % ranks.size();
  void *from_one = nullptr, *from_two = nullptr;
  ASSERT_EQ(HcclSymWinGetPeerPointer(one, 0, peer, &from_one), HCCL_SUCCESS);
  ASSERT_EQ(HcclSymWinGetPeerPointer(two, 0, peer, &from_two), HCCL_SUCCESS);
  EXPECT_EQ(from_one, from_two) << "both describe the whole mapping";
  // The window lives until its last handle.
  ranks.Meet();
  ASSERT_EQ(HcclCommSymWinDeregister(one), HCCL_SUCCESS);
  ASSERT_EQ(HcclCommSymWinDeregister(three), HCCL_SUCCESS);
  HcclCommSymWindow found = nullptr;
  size_t offset = 0;
  ASSERT_EQ(HcclCommSymWinGet(session.comm(), memory.data(), 4, &found, &offset), HCCL_SUCCESS);
  EXPECT_EQ(found, two);
  EXPECT_EQ(DownloadValues<uint32_t>(from_two, 100), Pattern(peer, 100));
  ranks.Meet();
  ASSERT_EQ(HcclCommSymWinDeregister(two), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data(), 4, &found, &offset), HCCL_E_NOT_FOUND);
}

RANK_TEST(Register, RepeatedHereNewThere) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory first(session.device(), kGranularity), second(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr, other = nullptr;
  ASSERT_EQ(Register(session.comm(), first.data(), 1, &window), HCCL_SUCCESS);
  EXPECT_EQ(Register(session.comm(), ranks.rank() == 0 ? first.data() : second.data(), 1, &other),
            HCCL_E_INTERNAL);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

// The trap of A.6: offsets and sizes agree, the memory does not.
RANK_TEST(Register, NewMappingAtTheOffsetOfAFormerOne) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory first(session.device(), kGranularity), second(session.device(), kGranularity);
  HcclCommSymWindow windows[2] = {}, third = nullptr;
  for (HcclCommSymWindow& window : windows)
    ASSERT_EQ(Register(session.comm(), first.data(), 1, &window), HCCL_SUCCESS);
  ASSERT_EQ(HcclCommSymWinDeregister(windows[0]), HCCL_SUCCESS);
  const bool twice = ranks.rank() == 1;
  if (twice) {
    ASSERT_EQ(HcclCommSymWinDeregister(windows[1]), HCCL_SUCCESS);
  }
  EXPECT_EQ(Register(session.comm(), twice ? second.data() : first.data(), 1, &third),
            HCCL_E_INTERNAL);
  EXPECT_THAT(TakeMessages(), HasSubstr("round"));
  if (!twice) {
    EXPECT_EQ(HcclCommSymWinDeregister(windows[1]), HCCL_SUCCESS);
  }
}

// Windows of two communicators are independent views of the same bytes.
RANK_TEST(Register, OneMappingInTwoCommunicators) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  {
    MappedMemory filler(session.device(), kGranularity), memory(session.device(), kGranularity);
    UploadValues(memory.data(), Pattern(ranks.rank(), 10));
    HcclCommSymWindow a = nullptr, b = nullptr, c = nullptr;
    ASSERT_EQ(Register(session.comm(), filler.data(), 1, &a), HCCL_SUCCESS);
    ASSERT_EQ(Register(session.comm(), memory.data(), 1, &b), HCCL_SUCCESS);
    ASSERT_EQ(Register(other, memory.data(), 1, &c), HCCL_SUCCESS);
    const uint32_t peer = ranks.size() - 1 - ranks.rank();
    for (HcclCommSymWindow window : {b, c}) {
      void* pointer = nullptr;
      ASSERT_EQ(HcclSymWinGetPeerPointer(window, 0, peer, &pointer), HCCL_SUCCESS);
      EXPECT_EQ(DownloadValues<uint32_t>(pointer, 10), Pattern(peer, 10));
    }
    ranks.Meet();
    EXPECT_EQ(HcclCommSymWinDeregister(b), HCCL_SUCCESS);
    HcclCommSymWindow found = nullptr;
    size_t offset = 0;
    EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data(), 4, &found, &offset),
              HCCL_E_NOT_FOUND);
    EXPECT_EQ(HcclCommSymWinGet(other, memory.data(), 4, &found, &offset), HCCL_SUCCESS);
    EXPECT_EQ(found, c);
    EXPECT_EQ(HcclCommSymWinDeregister(a), HCCL_SUCCESS);
    EXPECT_EQ(HcclCommSymWinDeregister(c), HCCL_SUCCESS);
  }
  REQUIRE_OK(HcclCommDestroy(other));
}

RANK_TEST(Register, ManyWindowsInAnyOrderOfDeregistration) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  Random random(Seed());
  struct Live {
    std::unique_ptr<MappedMemory> memory;
    HcclCommSymWindow window;
    uint32_t salt;
  };
  std::vector<Live> live;
  for (uint32_t i = 0; i < 30; ++i) {
    if (live.size() > 4 || (!live.empty() && random.OneIn(3))) {
      const size_t which = random.Below(live.size());
      ranks.Meet();  // nobody reads it any more
      ASSERT_EQ(HcclCommSymWinDeregister(live[which].window), HCCL_SUCCESS);
      live.erase(live.begin() + static_cast<ptrdiff_t>(which));
      continue;
    }
    live.push_back(
        {std::make_unique<MappedMemory>(session.device(), (1 + random.Below(3)) * kGranularity),
         nullptr, i});
    UploadValues(live.back().memory->data(), Pattern(ranks.rank(), 64, i));
    ASSERT_EQ(Register(session.comm(), live.back().memory->data(), 1, &live.back().window),
              HCCL_SUCCESS)
        << TakeMessages();
    for (const Live& l : live) {
      for (uint32_t peer = 0; peer < ranks.size(); ++peer) {
        void* pointer = nullptr;
        ASSERT_EQ(HcclSymWinGetPeerPointer(l.window, 0, peer, &pointer), HCCL_SUCCESS);
        ASSERT_EQ(DownloadValues<uint32_t>(pointer, 64), Pattern(peer, 64, l.salt));
      }
    }
  }
  ranks.Meet();
  for (const Live& l : live) EXPECT_EQ(HcclCommSymWinDeregister(l.window), HCCL_SUCCESS);
}

}  // namespace
}  // namespace hcclrun::testing
