// Heaps: commitment, re-use, exhaustion within a small budget, and the memory map on top.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "device/device.h"
#include "device/device_memory.h"
#include "device/heap.h"
#include "device/heap_header.h"
#include "device/memory_map.h"
#include "shm/budget.h"

namespace hcclrun {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Before the first use of the library in this program.
const bool kConfigured = [] {
  setenv("HCCLRUN_MEMORY", "64M", 1);
  setenv("HCCLRUN_HBM_SIZE", "256M", 1);
  return true;
}();

std::unique_ptr<Heap> NewHeap(uint64_t size = 128 * kMiB) {
  Result<std::unique_ptr<Heap>> heap = Heap::CreateSized(size);
  EXPECT_TRUE(heap.ok());
  return std::move(*heap);
}

uint64_t PagesOf(Heap& heap) {
  struct stat st;
  fstat(heap.object().fd(), &st);
  return uint64_t(st.st_blocks) * 512;
}

TEST(Heap, HeaderSaysWhoItIs) {
  auto heap = NewHeap();
  auto* header = reinterpret_cast<HeapHeader*>(heap->base());
  EXPECT_EQ(header->identity.magic, kHeapMagic);
  EXPECT_EQ(header->identity.uid, heap->uid());
  EXPECT_EQ(header->identity.size, heap->size());
  EXPECT_NE(NewHeap()->uid(), heap->uid());
}

TEST(Heap, AllocationIsCommittedAndAlignedAndNeverAtOffsetZero) {
  auto heap = NewHeap();
  uint64_t before = PagesOf(*heap);
  Result<uint64_t> at = heap->Allocate(3 * kMiB, kGranule);
  ASSERT_TRUE(at.ok());
  EXPECT_GE(*at, kGranule);
  EXPECT_EQ(*at % kGranule, 0u);
  EXPECT_GE(PagesOf(*heap), before + 3 * kMiB);
  memset(heap->base() + *at, 1, 3 * kMiB);
}

TEST(Heap, FreeKeepsPagesAndReuseChargesNothing) {
  auto heap = NewHeap();
  Result<uint64_t> first = heap->Allocate(4 * kMiB, kGranule);
  heap->Free(*first);
  uint64_t charged = Budget::Get().used(), pages = PagesOf(*heap);
  Result<uint64_t> second = heap->Allocate(4 * kMiB, kGranule);
  EXPECT_EQ(*second, *first);
  EXPECT_EQ(Budget::Get().used(), charged);
  EXPECT_EQ(PagesOf(*heap), pages);
  heap->Free(*second);
  heap->Free(*second);  // ignored
  EXPECT_EQ(heap->used_bytes(), 0u);
}

TEST(Heap, UncommittedRangesGetPagesPieceByPiece) {
  auto heap = NewHeap();
  Result<uint64_t> at = heap->AllocateUncommitted(32 * kMiB, kGranule);
  ASSERT_TRUE(at.ok());
  uint64_t before = heap->committed_bytes();
  EXPECT_FALSE(heap->Commit(*at + kMiB, kMiB));
  EXPECT_EQ(heap->committed_bytes(), before + kMiB);
  EXPECT_FALSE(heap->Commit(*at, 2 * kMiB)) << "half of it has pages";
  EXPECT_EQ(heap->committed_bytes(), before + 2 * kMiB);
  EXPECT_TRUE(heap->Commit(heap->size(), 1)) << "beyond the heap";
  heap->Free(*at);
}

TEST(Heap, ExhaustedBudgetIsAFaultWithAllOperands) {
  auto heap = NewHeap();
  Result<uint64_t> held = heap->Allocate(16 * kMiB, kGranule);
  ASSERT_TRUE(held.ok());
  Result<uint64_t> at = heap->Allocate(60 * kMiB, kGranule);
  ASSERT_FALSE(at.ok());
  const Fault& fault = at.fault();
  EXPECT_EQ(fault.kind, FaultKind::kMemoryExhausted);
  EXPECT_EQ(fault.n[0], 60 * kMiB) << "requested";
  EXPECT_LE(fault.n[1], 48 * kMiB) << "free";
  EXPECT_LE(fault.n[2], fault.n[1]) << "largest block";
  EXPECT_GE(fault.n[3], 16 * kMiB) << "in use by the job";
  EXPECT_LT(fault.n[3], 60 * kMiB) << "without what was refused";
  EXPECT_EQ(fault.n[4], 64 * kMiB) << "budget";
  EXPECT_NE(fault.text.find("HCCLRUN_MEMORY"), std::string::npos);
  heap->Free(*held);
}

TEST(Heap, ExhaustedAddressSpaceNamesItsSetting) {
  auto heap = NewHeap(16 * kMiB);
  Result<uint64_t> at = heap->Allocate(20 * kMiB, kGranule);
  ASSERT_FALSE(at.ok());
  EXPECT_EQ(at.fault().kind, FaultKind::kMemoryExhausted);
  EXPECT_EQ(at.fault().text, "HCCLRUN_HBM_SIZE");
  EXPECT_FALSE(heap->Allocate(UINT64_MAX - 5, kGranule).ok());
}

TEST(Heap, KeptPagesNeverCauseARefusal) {
  auto heap = NewHeap();
  // Free pages in pieces that no single request can use as they are.
  std::vector<uint64_t> held;
  for (int i = 0; i < 20; i++) held.push_back(*heap->Allocate(2 * kMiB, kGranule));
  Result<uint64_t> fence = heap->Allocate(kDevicePage, kDevicePage);
  ASSERT_TRUE(fence.ok());
  for (uint64_t at : held) heap->Free(at);
  Result<uint64_t> large = heap->Allocate(50 * kMiB, kGranule);
  EXPECT_TRUE(large.ok()) << "40 MiB of kept pages must be given back for it";
  if (large.ok()) heap->Free(*large);
  heap->Free(*fence);
}

TEST(Heap, BudgetReturnsWithTheHeapsPages) {
  uint64_t before = Budget::Get().used();
  auto heap = NewHeap();
  uint64_t at = *heap->Allocate(40 * kMiB, kGranule);
  heap->Free(at);
  auto other = NewHeap();
  (void)other;
  EXPECT_LE(Budget::Get().used(), before + 64 * kMiB);
}

TEST(Heap, RandomUseKeepsContentsApart) {
  auto heap = NewHeap(64 * kMiB);
  std::map<uint64_t, std::pair<uint64_t, unsigned char>> live;  // offset -> size, mark
  std::mt19937 random(11);
  for (int step = 0; step < 3000; step++) {
    if (live.empty() || random() % 2) {
      uint64_t size = 1 + random() % (300 * 1024);
      Result<uint64_t> at = heap->Allocate(size, kDevicePage);
      if (!at.ok()) {
        ASSERT_EQ(at.fault().kind, FaultKind::kMemoryExhausted);
        continue;
      }
      unsigned char mark = static_cast<unsigned char>(random());
      memset(heap->base() + *at, mark, size);
      ASSERT_TRUE(live.emplace(*at, std::make_pair(size, mark)).second);
    } else {
      auto victim = std::next(live.begin(), random() % live.size());
      auto [size, mark] = victim->second;
      const char* bytes = heap->base() + victim->first;
      ASSERT_EQ(static_cast<unsigned char>(bytes[0]), mark);
      ASSERT_EQ(static_cast<unsigned char>(bytes[size - 1]), mark);
      heap->Free(victim->first);
      live.erase(victim);
    }
  }
}

class MemoryMapTest : public ::testing::Test {
 protected:
  void SetUp() override { device_ = *Device::Get(0); }
  Device* device_;
};

TEST_F(MemoryMapTest, FindsAllocationsByInteriorAddress) {
  char* base = static_cast<char*>(*MallocDevice(device_, 1000));
  MemoryInfo info = FindMemory(base + 999);
  EXPECT_EQ(info.kind, MemoryKind::kAllocation);
  EXPECT_EQ(info.base, base);
  EXPECT_EQ(info.size, 1000u);
  EXPECT_EQ(info.device, device_);
  EXPECT_EQ(info.heap_offset, uint64_t(base - device_->heap().base()));
  EXPECT_EQ(FindMemory(base + 1000).kind, MemoryKind::kNone) << "the user asked for 1000 bytes";
  EXPECT_TRUE(IsVacantDeviceAddress(base + 1000));
  FreeDevice(base);
  EXPECT_EQ(FindMemory(base).kind, MemoryKind::kNone);
  EXPECT_TRUE(IsVacantDeviceAddress(base));
  int local;
  EXPECT_FALSE(IsVacantDeviceAddress(&local));
}

TEST_F(MemoryMapTest, IdentityIsNeverReused) {
  void* first = *MallocDevice(device_, 4096);
  uint64_t identity = FindMemory(first).identity;
  FreeDevice(first);
  void* second = *MallocDevice(device_, 4096);
  EXPECT_EQ(second, first);
  EXPECT_NE(FindMemory(second).identity, identity);
  FreeDevice(second);
}

TEST_F(MemoryMapTest, ResolveRangeGivesOffsetsAndChecksExtents) {
  char* base = static_cast<char*>(*MallocDevice(device_, 10000));
  bool scattered = true;
  Result<HeapRange> range = ResolveRange(base + 100, 9900, "sendBuf", &scattered);
  ASSERT_TRUE(range.ok());
  EXPECT_FALSE(scattered);
  EXPECT_EQ(range->offset, uint64_t(base + 100 - device_->heap().base()));
  Result<HeapRange> beyond = ResolveRange(base + 100, 9901, "sendBuf", &scattered);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.fault().kind, FaultKind::kOutsideAllocation);
  EXPECT_EQ(beyond.fault().n[1], 9901u);
  EXPECT_EQ(beyond.fault().n[3], 10000u);
  EXPECT_EQ(beyond.fault().text, "sendBuf");
  int local;
  Result<HeapRange> host = ResolveRange(&local, 4, "recvBuf", &scattered);
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.fault().kind, FaultKind::kNotDeviceMemory);
  FreeDevice(base);
}

TEST_F(MemoryMapTest, PeerViewsCountAsDeviceMemoryThatOnlyThisProcessCanUse) {
  alignas(4096) static char view[8192];
  AddPeerView(view, sizeof view);
  bool scattered = false;
  Result<HeapRange> range = ResolveRange(view + 8, 16, "src", &scattered);
  ASSERT_TRUE(range.ok());
  EXPECT_TRUE(scattered);
  EXPECT_TRUE(CheckDeviceRange(view + 8000, 1000, "src")) << "beyond the view";
  RemovePeerView(view);
  EXPECT_EQ(FindMemory(view).kind, MemoryKind::kNone);
}

}  // namespace
}  // namespace hcclrun
