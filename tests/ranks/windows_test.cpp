// Symmetric windows once they are registered: lookup, peer pointers, deregistration, lifetime
// (semantics A.1, A.7 to A.9).

#include <algorithm>

#include "ranks/windows.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

// ---- A.7, A.9 ----

RANK_TEST(Deregister, HandlesAreCheckedAndDieOnce) {
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  ASSERT_EQ(Register(session.comm(), memory.data(), 1, &window), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclCommSymWinDeregister(session.comm()), HCCL_E_PARA);
  EXPECT_EQ(HcclCommSymWinDeregister(memory.data()), HCCL_E_PARA);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_E_PARA);
  void* pointer = nullptr;
  EXPECT_EQ(HcclSymWinGetPeerPointer(window, 0, 0, &pointer), HCCL_E_PARA);
}

// Local: the others still have the window.
RANK_TEST(Deregister, OtherRanksKeepTheirs) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  UploadValues(memory.data(), Pattern(ranks.rank(), 20));
  HcclCommSymWindow window = nullptr;
  ASSERT_EQ(Register(session.comm(), memory.data(), 1, &window), HCCL_SUCCESS);
  if (ranks.rank() == 0) {
    ASSERT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  }
  ranks.Meet();
  if (ranks.rank() != 0) {
    void* pointer = nullptr;
    ASSERT_EQ(HcclSymWinGetPeerPointer(window, 0, 0, &pointer), HCCL_SUCCESS);
    EXPECT_EQ(DownloadValues<uint32_t>(pointer, 20), Pattern(0, 20));
  }
  ranks.Meet();
  if (ranks.rank() != 0) {
    EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  }
}

// The window keeps its memory when the user gives it up first (A.7); what is mapped at the address
// next is not it.
RANK_TEST(Deregister, WindowOutlivesItsMapping) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  UploadValues(memory.data(), Pattern(ranks.rank(), 20));
  HcclCommSymWindow window = nullptr;
  ASSERT_EQ(Register(session.comm(), memory.data(), memory.size(), &window), HCCL_SUCCESS);
  memory.UnmapAndFree();
  // Memory of the same size that would take the freed range.
  MappedMemory next(session.device(), kGranularity);
  UploadValues(next.data(), Pattern(ranks.rank(), 20, 1));
  ranks.Meet();
  const uint32_t peer = (ranks.rank() + 1) % ranks.size();
  void* pointer = nullptr;
  ASSERT_EQ(HcclSymWinGetPeerPointer(window, 0, peer, &pointer), HCCL_SUCCESS);
  EXPECT_EQ(DownloadValues<uint32_t>(pointer, 20), Pattern(peer, 20));
  ranks.Meet();
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

RANK_TEST(Deregister, OtherMemoryAtTheAddressIsNoWindow) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  void* base = nullptr;
  REQUIRE_OK(aclrtReserveMemAddress(&base, kGranularity, 0, nullptr, 1));
  aclrtPhysicalMemProp prop = {};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(session.device());
  HcclCommSymWindow windows[2] = {};
  for (int turn = 0; turn < 2; ++turn) {
    aclrtDrvMemHandle handle = nullptr;
    REQUIRE_OK(aclrtMallocPhysical(&handle, kGranularity, &prop, 0));
    REQUIRE_OK(aclrtMapMem(base, kGranularity, 0, handle, 0));
    const auto all_gather = [&] {
      return HcclAllGather(base, static_cast<char*>(base) + 4096, 4, HCCL_DATA_TYPE_INT8,
                           session.comm(), session.stream());
    };
    if (turn == 1) {  // the first window is still registered
      ASSERT_EQ(all_gather(), HCCL_SUCCESS);
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      EXPECT_EQ(session.LastPath(), HCCLRUN_PATH_BUFFERED);
    }
    ASSERT_EQ(Register(session.comm(), base, 1, &windows[turn]), HCCL_SUCCESS) << TakeMessages();
    ASSERT_EQ(all_gather(), HCCL_SUCCESS);
    ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
    EXPECT_EQ(session.LastPath(), HCCLRUN_PATH_WINDOW);
    REQUIRE_OK(aclrtUnmapMem(base));
    REQUIRE_OK(aclrtFreePhysical(handle));
  }
  EXPECT_EQ(HcclCommSymWinDeregister(windows[0]), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(windows[1]), HCCL_SUCCESS);
  REQUIRE_OK(aclrtReleaseMemAddress(base));
}

// A.9.
RANK_TEST(Deregister, AfterTheCommunicatorIsGone) {
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  ASSERT_EQ(Register(other, memory.data(), 1, &window), HCCL_SUCCESS);
  REQUIRE_OK(HcclCommDestroy(other));
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_E_PARA);
  void* pointer = nullptr;
  EXPECT_EQ(HcclSymWinGetPeerPointer(window, 0, 0, &pointer), HCCL_E_PARA);
}

// Ranks destroy at different times; a late rank's view of the others' windows stays valid.
RANK_TEST(Deregister, LateRankStillReadsADestroyedPeersWindow) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  MappedMemory memory(session.device(), kGranularity);
  UploadValues(memory.data(), Pattern(ranks.rank(), 20));
  HcclCommSymWindow window = nullptr;
  ASSERT_EQ(Register(other, memory.data(), 1, &window), HCCL_SUCCESS);
  const bool late = ranks.rank() == ranks.size() - 1;
  if (!late) REQUIRE_OK(HcclCommDestroy(other));
  ranks.Meet();
  if (late) {
    void* pointer = nullptr;
    ASSERT_EQ(HcclSymWinGetPeerPointer(window, 0, 0, &pointer), HCCL_SUCCESS);
    EXPECT_EQ(DownloadValues<uint32_t>(pointer, 20), Pattern(0, 20));
  }
  ranks.Meet();
  if (late) REQUIRE_OK(HcclCommDestroy(other));
}

// ---- A.8 ----

RANK_TEST(Lookup, ChecksArgumentsInOrder) {
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr, found = nullptr;
  size_t offset = 0;
  void *pointer = nullptr, *address = memory.data();
  ASSERT_EQ(Register(session.comm(), address, 1, &window), HCCL_SUCCESS);
  const auto named = [](const char* text) { EXPECT_THAT(TakeMessages(), HasSubstr(text)); };
  TakeMessages();
  EXPECT_EQ(HcclCommSymWinGet(nullptr, nullptr, 0, nullptr, nullptr), HCCL_E_PTR);
  named("comm is null");
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), nullptr, 0, nullptr, nullptr), HCCL_E_PTR);
  named("ptr is null");
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), address, 0, nullptr, nullptr), HCCL_E_PTR);
  named("winHandle is null");
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), address, 0, &found, nullptr), HCCL_E_PTR);
  named("offset is null");
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), address, 0, &found, &offset), HCCL_E_PARA);
  named("size is 0");
  EXPECT_EQ(HcclSymWinGetPeerPointer(nullptr, 0, 0, nullptr), HCCL_E_PTR);
  named("winHandle is null");
  EXPECT_EQ(HcclSymWinGetPeerPointer(window, 0, 0, nullptr), HCCL_E_PTR);
  named("ptr is null");
  EXPECT_EQ(HcclSymWinGetPeerPointer(window, 0, ranks.size(), &pointer), HCCL_E_PARA);
  named("peerRank is");
  if (ranks.size() > 1) {
    EXPECT_EQ(HcclSymWinGetPeerPointer(window, kGranularity, 0, &pointer), HCCL_E_PARA);
    named("offset is");
    EXPECT_EQ(HcclSymWinGetPeerPointer(window, kGranularity - 1, 0, &pointer), HCCL_SUCCESS);
  }
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

// Offsets count from the start of the mapping, and the whole mapping is the window, whatever was
// registered of it.
RANK_TEST(Lookup, OffsetsCountFromTheMapping) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), 2 * kGranularity);
  HcclCommSymWindow window = nullptr, second = nullptr, found = nullptr;
  ASSERT_EQ(Register(session.comm(), memory.data() + 10000, 100, &window), HCCL_SUCCESS);
  ASSERT_EQ(Register(session.comm(), memory.data(), 100, &second), HCCL_SUCCESS);
  size_t offset = 0;
  for (size_t at : {size_t{0}, size_t{1}, size_t{10000}, size_t{10100}, 2 * kGranularity - 8}) {
    ASSERT_EQ(HcclCommSymWinGet(session.comm(), memory.data() + at, 8, &found, &offset),
              HCCL_SUCCESS)
        << at;
    EXPECT_EQ(found, window) << "the earliest valid one";
    EXPECT_EQ(offset, at);
  }
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data(), memory.size(), &found, &offset),
            HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data() + 1, memory.size(), &found, &offset),
            HCCL_E_NOT_FOUND);
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data() + memory.size(), 1, &found, &offset),
            HCCL_E_NOT_FOUND);
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data() - 1, 1, &found, &offset),
            HCCL_E_NOT_FOUND);
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), &offset, sizeof offset, &found, &offset),
            HCCL_E_NOT_FOUND);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  ASSERT_EQ(HcclCommSymWinGet(session.comm(), memory.data() + 7, 8, &found, &offset), HCCL_SUCCESS);
  EXPECT_EQ(found, second);
  EXPECT_EQ(offset, 7u);
  EXPECT_EQ(HcclCommSymWinDeregister(second), HCCL_SUCCESS);
}

// Ranks may have the mapping at another place of their heap and of their address space.
RANK_TEST(PeerPointer, ReadsAndWritesEveryPeer) {
  Session session(ranks);
  DeviceMemory shift((1 + ranks.rank()) * 3 * kGranularity);
  void* hole = nullptr;
  REQUIRE_OK(aclrtReserveMemAddress(&hole, (1 + ranks.rank()) * kGranularity, 0, nullptr, 1));
  WindowMemory memory(session, kGranularity);
  constexpr size_t kWords = 1000, kBytes = kWords * 4;
  UploadValues(memory.data() + 64, Pattern(ranks.rank(), kWords));
  ranks.Meet();
  for (uint32_t peer = 0; peer < ranks.size(); ++peer) {
    void* pointer = nullptr;
    ASSERT_EQ(HcclSymWinGetPeerPointer(memory.window(), 64, peer, &pointer), HCCL_SUCCESS);
    // By acl copy to the host, by acl copy between devices, and by plain loads.
    EXPECT_EQ(DownloadValues<uint32_t>(pointer, kWords), Pattern(peer, kWords));
    DeviceMemory copy(kBytes);
    REQUIRE_OK(aclrtMemcpy(copy.data(), kBytes, pointer, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_EQ(DownloadValues<uint32_t>(copy.data(), kWords), Pattern(peer, kWords));
    const auto* words = static_cast<const uint32_t*>(pointer);
    EXPECT_EQ(std::vector<uint32_t>(words, words + kWords), Pattern(peer, kWords));
  }
  ranks.Meet();
  // Everybody writes a word of its own to everybody, half of them by acl copies, half by stores.
  const uint32_t mine = 1000 + ranks.rank();
  for (uint32_t peer = 0; peer < ranks.size(); ++peer) {
    void* pointer = nullptr;
    ASSERT_EQ(HcclSymWinGetPeerPointer(memory.window(), 64 + ranks.rank() * 4, peer, &pointer),
              HCCL_SUCCESS);
    if (peer % 2) {
      Upload(pointer, &mine, sizeof mine);
    } else {
      REQUIRE_OK(
          aclrtMemcpyAsync(pointer, 4, &mine, 4, ACL_MEMCPY_HOST_TO_DEVICE, session.stream()));
    }
  }
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  ranks.Meet();
  std::vector<uint32_t> expected = Pattern(ranks.rank(), kWords);
  for (uint32_t peer = 0; peer < ranks.size(); ++peer) expected[peer] = 1000 + peer;
  EXPECT_EQ(DownloadValues<uint32_t>(memory.data() + 64, kWords), expected);
  ranks.Meet();
  REQUIRE_OK(aclrtReleaseMemAddress(hole));
}

// A.1: own memory is reachable through the user's address and as the own rank's peer pointer.
RANK_TEST(PeerPointer, OwnRankIsAnAlias) {
  Session session(ranks);
  WindowMemory memory(session, kGranularity);
  void* pointer = nullptr;
  ASSERT_EQ(HcclSymWinGetPeerPointer(memory.window(), 128, ranks.rank(), &pointer), HCCL_SUCCESS);
  UploadValues(memory.data() + 128, Pattern(ranks.rank(), 8));
  EXPECT_EQ(DownloadValues<uint32_t>(pointer, 8), Pattern(ranks.rank(), 8));
  UploadValues(pointer, Pattern(ranks.rank(), 8, 5));
  EXPECT_EQ(DownloadValues<uint32_t>(memory.data() + 128, 8), Pattern(ranks.rank(), 8, 5));
}

RANK_TEST(PeerPointer, IsRefusedOnceTheWindowIsGone) {
  Session session(ranks);
  void* memory = nullptr;
  REQUIRE_OK(HcclMemAlloc(&memory, kGranularity));
  HcclCommSymWindow window = nullptr, again = nullptr;
  ASSERT_EQ(HcclCommSymWinRegister(session.comm(), memory, kGranularity, &window, 1), HCCL_SUCCESS);
  ASSERT_EQ(HcclCommSymWinRegister(session.comm(), memory, kGranularity, &again, 1), HCCL_SUCCESS);
  const uint32_t peer = (ranks.rank() + 1) % ranks.size();
  void* pointer = nullptr;
  int32_t value = 0;
  if (ranks.size() > 1) {
    ASSERT_EQ(HcclSymWinGetPeerPointer(window, 64, peer, &pointer), HCCL_SUCCESS);
    ASSERT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
    ranks.Meet();
    EXPECT_EQ(aclrtMemcpy(&value, 4, pointer, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    ASSERT_EQ(HcclCommSymWinDeregister(again), HCCL_SUCCESS);
    ranks.Meet();  // also where another rank of this process has the same range
    EXPECT_EQ(aclrtMemcpy(&value, 4, pointer, 4, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    EXPECT_THAT(
        TakeMessages(),
        ::testing::HasSubstr("it lies at offset 64 of a rank's part of a symmetric window (" +
                             std::to_string(kGranularity) + " bytes at "));
    // What is registered there afterwards is for use.
    ASSERT_EQ(HcclCommSymWinRegister(session.comm(), memory, kGranularity, &window, 1),
              HCCL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(&value, 4, pointer, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    ranks.Meet();
  }
  REQUIRE_OK(HcclMemFree(memory));
}

// ---- Memory ----

RANK_TEST(Memory, OfHcommMemAllocCanBeRegistered) {
  Session session(ranks);
  void* memory = nullptr;
  ASSERT_EQ(HcclMemAlloc(&memory, 5000), HCCL_SUCCESS) << TakeMessages();
  HcclCommSymWindow window = nullptr;
  ASSERT_EQ(Register(session.comm(), memory, 5000, &window), HCCL_SUCCESS) << TakeMessages();
  UploadValues<int32_t>(memory, {1, 2, 3});
  ASSERT_EQ(HcclAllReduce(memory, static_cast<char*>(memory) + 256, 3, HCCL_DATA_TYPE_INT32,
                          HCCL_REDUCE_SUM, session.comm(), session.stream()),
            HCCL_SUCCESS);
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(session.LastPath(), ranks.size() > 1 ? HCCLRUN_PATH_WINDOW : HCCLRUN_PATH_BUFFERED);
  EXPECT_EQ(DownloadValues<int32_t>(static_cast<char*>(memory) + 256, 3)[2],
            static_cast<int32_t>(3 * ranks.size()));
  ASSERT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  EXPECT_EQ(HcclMemFree(memory), HCCL_SUCCESS);
  EXPECT_EQ(HcclMemFree(nullptr), HCCL_SUCCESS);
  EXPECT_EQ(HcclMemAlloc(nullptr, 1), HCCL_E_PTR);
  EXPECT_EQ(HcclMemAlloc(&memory, 0), HCCL_E_PARA);
  TakeMessages();
  EXPECT_EQ(HcclMemFree(&window), HCCL_E_RUNTIME);
  const std::string told = TakeMessages();
  EXPECT_EQ(told.find("HcclMemFree: "), 0u) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << "told once: " << told;
}

// Equal window offsets are what counts: heaps and addresses of the ranks may differ.
RANK_TEST(Memory, WindowsAtDifferentHeapOffsets) {
  Session session(ranks);
  DeviceMemory shift((1 + ranks.rank()) * 3 * kGranularity);
  Arena arena(session, Path::kWindow, uint64_t{1} << 16, 21);
  Random random(Seed());
  for (Op op : {Op::kAllGather, Op::kReduceScatter, Op::kAllReduce, Op::kAllToAll}) {
    Call call;
    call.op = op;
    call.type = DataType::kInt32;
    call.ranks = ranks.size();
    call.count = 100;
    const Job job = RandomLayout(random, call, arena, false);
    arena.Run(call, job.in, job.out, session.comm(), session.stream());
    ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
    EXPECT_EQ(session.LastPath(), ExpectedPath(call, Path::kWindow));
  }
  ASSERT_TRUE(arena.Check());
}

}  // namespace
}  // namespace hcclrun::testing
