// HcclSend, HcclRecv and HcclBatchSendRecv (semantics C.1, C.2, C.6): every element, first in first
// out per pair, items of a batch that do not wait for each other, and what happens when the ends
// differ or one of them never comes.

#include <algorithm>

#include "ranks/arena.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr auto kInt = HCCL_DATA_TYPE_INT32;

HcclSendRecvItem Item(HcclSendRecvType type, void* buf, uint64_t count, uint32_t peer,
                      HcclDataType data_type = kInt) {
  return {type, buf, count, data_type, peer};
}

// The numbers of a message, different for every pair and message.
std::vector<int32_t> Message(uint32_t from, uint32_t to, uint32_t number, uint64_t count) {
  std::vector<int32_t> values(count);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = static_cast<int32_t>(Hash(from * 1000 + to, number, i));
  return values;
}

// Neighbours 2k and 2k+1; a last rank without one takes no part.
struct Pair {
  explicit Pair(const Session& s)
      : even(s.rank() % 2 == 0), peer(even ? s.rank() + 1 : s.rank() - 1), exists(peer < s.size()) {}
  bool even;
  uint32_t peer;
  bool exists;
};

RANK_TEST(Transfers, EveryTypeAndOddSizesOfAnyAlignment) {
  Session s(ranks);
  Pair pair(s);
  if (!pair.exists) return;
  Random random(7 + std::min(s.rank(), pair.peer));
  constexpr uint64_t kBytes = 3 << 20;
  DeviceMemory memory(kBytes + 64);
  for (DataType type : kDataTypes) {
    const uint32_t elem = ElementSize(type);
    for (int trial = 0; trial < 4; ++trial) {
      const uint64_t limit = trial == 3 ? kBytes / elem : 5000;
      const uint64_t count = 1 + random.Below(limit);
      const uint64_t at = random.Below(8) * elem;
      const Bytes values = MakeValues(type, trial, std::min(s.rank(), pair.peer), count);
      if (pair.even) {
        Upload(memory.data() + at, values.data(), values.size());
        ASSERT_EQ(HcclSend(memory.data() + at, count, static_cast<HcclDataType>(type), pair.peer,
                           s.comm(), s.stream()),
                  HCCL_SUCCESS);
      } else {
        const std::vector<uint8_t> before(memory.size(), 0x5a);
        UploadValues(memory.data(), before);
        ASSERT_EQ(HcclRecv(memory.data() + at, count, static_cast<HcclDataType>(type), pair.peer,
                           s.comm(), s.stream()),
                  HCCL_SUCCESS);
      }
      ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
      if (!pair.even) {
        std::vector<uint8_t> expected(memory.size(), 0x5a);
        std::copy(values.begin(), values.end(), expected.begin() + static_cast<ptrdiff_t>(at));
        ASSERT_EQ(Download(memory.data(), memory.size()), expected)
            << std::string(Name(type)) << " x " << count;
      }
    }
  }
}

// Both ends take parts of a long message (comm/transfer_channel.h): sizes at which there is one part, or
// byte, more, and places of which none, one, or both begin with a line of memory. Nothing beside them is
// written.
RANK_TEST(Transfers, SizesAroundTheBoundariesOfParts) {
  Session s(ranks);
  Pair pair(s);
  if (!pair.exists) return;
  constexpr uint64_t kKi = 1024, kGuard = 64;
  const uint64_t sizes[] = {32 * kKi - 1,  32 * kKi,        32 * kKi + 1,  36 * kKi + 1,
                            64 * kKi - 1,  64 * kKi,        64 * kKi + 1,  72 * kKi - 1,
                            128 * kKi - 1, 128 * kKi,       128 * kKi + 1, 192 * kKi - 1,
                            192 * kKi + 1, 1024 * kKi - 63, 1024 * kKi,    2048 * kKi + 65};
  DeviceMemory memory(2049 * kKi + 2 * kGuard + 128);
  uint32_t trial = 0;
  for (uint64_t bytes : sizes) {
    for (uint64_t from_at : {0, 7}) {
      const uint64_t to_at = kGuard + trial % 3 * 7;
      const bool sends = pair.even == (trial % 2 == 0);
      std::vector<uint8_t> values(bytes);
      for (uint64_t i = 0; i < bytes; i++)
        values[i] = static_cast<uint8_t>((i * 7 + i / 251 + i / 65521 + trial) % 249);
      if (sends) {
        UploadValues(memory.data() + from_at, values);
        ASSERT_EQ(HcclSend(memory.data() + from_at, bytes, HCCL_DATA_TYPE_UINT8, pair.peer,
                           s.comm(), s.stream()),
                  HCCL_SUCCESS);
        ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
      } else {
        std::vector<uint8_t> expected(to_at + bytes + kGuard, 0xfb);
        UploadValues(memory.data(), expected);
        ASSERT_EQ(HcclRecv(memory.data() + to_at, bytes, HCCL_DATA_TYPE_UINT8, pair.peer, s.comm(),
                           s.stream()),
                  HCCL_SUCCESS);
        ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
        std::copy(values.begin(), values.end(), expected.begin() + static_cast<ptrdiff_t>(to_at));
        const std::vector<uint8_t> found = Download(memory.data(), expected.size());
        const auto [f, e] = std::mismatch(found.begin(), found.end(), expected.begin());
        ASSERT_TRUE(f == found.end())
            << bytes << " bytes from " << from_at << " to " << to_at << ": byte "
            << f - found.begin() << " is " << int{*f} << ", not " << int{*e};
      }
      trial++;
    }
  }
}

// Many messages of one pair under way at once, on two streams: the k-th send meets the k-th
// receive.
RANK_TEST(Transfers, FirstInFirstOutPerPairOverStreams) {
  Session s(ranks);
  Pair pair(s);
  if (!pair.exists) return;
  aclrtStream other;
  REQUIRE_OK(aclrtCreateStream(&other));
  constexpr uint32_t kMessages = 40, kMost = 300;
  DeviceMemory memory(kMessages * kMost * 4);
  auto place = [&](uint32_t i) { return memory.data() + i * kMost * 4; };
  const uint32_t from = pair.even ? s.rank() : pair.peer, to = pair.even ? pair.peer : s.rank();
  for (uint32_t i = 0; i < kMessages; ++i) {
    const uint64_t count = 1 + Hash(i) % kMost;
    // The ends use their streams in different patterns.
    const aclrtStream stream = i / (pair.even ? 1 : 3) % 2 ? other : s.stream();
    if (pair.even) {
      UploadValues(place(i), Message(from, to, i, count));
      ASSERT_EQ(HcclSend(place(i), count, kInt, pair.peer, s.comm(), stream), HCCL_SUCCESS);
    } else {
      ASSERT_EQ(HcclRecv(place(i), count, kInt, pair.peer, s.comm(), stream), HCCL_SUCCESS);
    }
  }
  EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
  for (uint32_t i = 0; !pair.even && i < kMessages; ++i) {
    const uint64_t count = 1 + Hash(i) % kMost;
    EXPECT_EQ(DownloadValues<int32_t>(place(i), count), Message(from, to, i, count)) << i;
  }
  REQUIRE_OK(aclrtDestroyStream(other));
}

RANK_TEST(Transfers, RingThroughAllRanksInStreamOrder) {
  Session s(ranks);
  if (s.size() < 2) return;
  const uint32_t next = (s.rank() + 1) % s.size(), before = (s.rank() + s.size() - 1) % s.size();
  constexpr uint64_t kCount = 70000;  // several parts
  DeviceMemory memory(kCount * 4);
  if (s.rank() == 0) {
    UploadValues(memory.data(), Message(0, 0, 0, kCount));
    ASSERT_EQ(HcclSend(memory.data(), kCount, kInt, next, s.comm(), s.stream()), HCCL_SUCCESS);
    ASSERT_EQ(HcclRecv(memory.data(), kCount, kInt, before, s.comm(), s.stream()), HCCL_SUCCESS);
  } else {
    ASSERT_EQ(HcclRecv(memory.data(), kCount, kInt, before, s.comm(), s.stream()), HCCL_SUCCESS);
    ASSERT_EQ(HcclSend(memory.data(), kCount, kInt, next, s.comm(), s.stream()), HCCL_SUCCESS);
  }
  ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<int32_t>(memory.data(), kCount), Message(0, 0, 0, kCount));
}

// Random batches: every rank knows all messages of the round; a rank's items are shuffled against
// its peers', but those of a pair keep their order. Some are to itself, some ranks have none.
RANK_TEST(Transfers, RandomBatches) {
  Session s(ranks);
  const uint32_t n = s.size(), me = s.rank();
  constexpr uint64_t kMost = 3000;
  for (uint32_t round = 0; round < 12; ++round) {
    Random random(100 + round);
    struct Sent {
      uint32_t from, to, number;
      uint64_t count;
    };
    std::vector<Sent> all;
    const uint64_t messages = random.Below(4 * n + 1);
    for (uint32_t i = 0; i < messages; ++i) {
      all.push_back({static_cast<uint32_t>(random.Below(n)), static_cast<uint32_t>(random.Below(n)),
                     i, 1 + random.Below(random.OneIn(5) ? 200000 : kMost)});
    }
    uint64_t bytes = 64;
    for (const Sent& m : all) bytes += m.count * 4;
    DeviceMemory out(bytes), in(bytes);
    std::vector<HcclSendRecvItem> items;
    std::vector<uint64_t> at;
    uint64_t place = 0;
    for (const Sent& m : all) {
      at.push_back(place);
      if (m.from == me) {
        UploadValues(out.data() + place, Message(m.from, m.to, m.number, m.count));
        items.push_back(Item(HCCL_SEND, out.data() + place, m.count, m.to));
      }
      if (m.to == me) items.push_back(Item(HCCL_RECV, in.data() + place, m.count, m.from));
      place += m.count * 4;
    }
    // Rotating the order of the kinds keeps the order within a pair and direction.
    if ((me + round) % 2) {
      std::stable_partition(items.begin(), items.end(), [](const HcclSendRecvItem& item) {
        return item.sendRecvType == HCCL_RECV;
      });
    } else if (me % 3 == 1) {
      std::stable_sort(items.begin(), items.end(),
                       [](const HcclSendRecvItem& a, const HcclSendRecvItem& b) {
                         return a.remoteRank > b.remoteRank;
                       });
    }
    items.push_back(Item(HCCL_SEND, nullptr, 4, 0));    // skipped
    items.push_back(Item(HCCL_RECV, in.data(), 0, 0));  // skipped
    ASSERT_EQ(HcclBatchSendRecv(items.data(), static_cast<uint32_t>(items.size()), s.comm(),
                                s.stream()),
              HCCL_SUCCESS)
        << TakeMessages();
    std::fill(items.begin(), items.end(), HcclSendRecvItem{});  // the array was read already
    ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
    for (size_t i = 0; i < all.size(); ++i) {
      const Sent& m = all[i];
      if (m.to != me) continue;
      ASSERT_EQ(DownloadValues<int32_t>(in.data() + at[i], m.count),
                Message(m.from, m.to, m.number, m.count))
          << "round " << round << " message " << i;
    }
  }
}

// A batch meets single calls of the other side, and collectives between transfers keep
// their own order.
RANK_TEST(Transfers, BatchMeetsSingleCallsBetweenCollectives) {
  Session s(ranks);
  Pair pair(s);
  constexpr uint64_t kCount = 1000;
  DeviceMemory a(kCount * 4), b(kCount * 4), sum(4);
  UploadValues<int32_t>(sum.data(), {1});
  auto all_reduce = [&] {
    ASSERT_EQ(HcclAllReduce(sum.data(), sum.data(), 1, kInt, HCCL_REDUCE_MAX, s.comm(), s.stream()),
              HCCL_SUCCESS);
  };
  if (pair.exists && pair.even) {
    UploadValues(a.data(), Message(s.rank(), pair.peer, 0, kCount));
    HcclSendRecvItem items[] = {Item(HCCL_SEND, a.data(), kCount, pair.peer),
                                Item(HCCL_RECV, b.data(), kCount, pair.peer)};
    ASSERT_EQ(HcclBatchSendRecv(items, 2, s.comm(), s.stream()), HCCL_SUCCESS);
    all_reduce();
  } else if (pair.exists) {
    UploadValues(a.data(), Message(s.rank(), pair.peer, 0, kCount));
    ASSERT_EQ(HcclRecv(b.data(), kCount, kInt, pair.peer, s.comm(), s.stream()), HCCL_SUCCESS);
    ASSERT_EQ(HcclSend(a.data(), kCount, kInt, pair.peer, s.comm(), s.stream()), HCCL_SUCCESS);
    all_reduce();
  } else {
    all_reduce();
  }
  ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
  if (pair.exists) {
    EXPECT_EQ(DownloadValues<int32_t>(b.data(), kCount), Message(pair.peer, s.rank(), 0, kCount));
  }
}

// A buffer that spans two mappings can be addressed by its owner only: both directions work.
RANK_TEST(Transfers, BuffersOverTwoMappings) {
  Session s(ranks);
  Pair pair(s);
  if (!pair.exists) return;
  void* base = nullptr;
  REQUIRE_OK(aclrtReserveMemAddress(&base, 2 * kGranularity, 0, nullptr, 1));
  aclrtPhysicalMemProp prop = {};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {static_cast<uint32_t>(s.device()), ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtDrvMemHandle handles[3];
  for (auto& handle : handles) REQUIRE_OK(aclrtMallocPhysical(&handle, kGranularity, &prop, 0));
  REQUIRE_OK(aclrtMapMem(base, kGranularity, 0, handles[2], 0));
  REQUIRE_OK(aclrtMapMem(static_cast<char*>(base) + kGranularity, kGranularity, 0, handles[0], 0));
  constexpr uint64_t kCount = 100000;
  char* scattered = static_cast<char*>(base) + kGranularity - kCount * 2;
  DeviceMemory plain(kCount * 4);
  for (int round = 0; round < 3; ++round) {
    // Round 0: the sender's is scattered; 1: the receiver's; 2: both.
    char* mine = round == 2 || (round == 0) == pair.even ? scattered : plain.data();
    const uint32_t from = pair.even ? s.rank() : pair.peer, to = pair.even ? pair.peer : s.rank();
    if (pair.even) {
      UploadValues(mine, Message(from, to, round, kCount));
      ASSERT_EQ(HcclSend(mine, kCount, kInt, pair.peer, s.comm(), s.stream()), HCCL_SUCCESS);
    } else {
      ASSERT_EQ(HcclRecv(mine, kCount, kInt, pair.peer, s.comm(), s.stream()), HCCL_SUCCESS);
    }
    ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
    if (!pair.even) {
      EXPECT_EQ(DownloadValues<int32_t>(mine, kCount), Message(from, to, round, kCount));
    }
  }
  REQUIRE_OK(aclrtUnmapMem(base));
  REQUIRE_OK(aclrtUnmapMem(static_cast<char*>(base) + kGranularity));
  for (auto& handle : handles) REQUIRE_OK(aclrtFreePhysical(handle));
  REQUIRE_OK(aclrtReleaseMemAddress(base));
}

// Both ends learn of a difference, nothing moves, and the pair stays usable.
RANK_TEST(Transfers, DifferentCountsOrTypesFailOnBothEnds) {
  Session s(ranks);
  Pair pair(s);
  if (!pair.exists) return;
  DeviceMemory memory(4096);
  const std::vector<uint8_t> before(4096, 0x77);
  auto transfer = [&](uint64_t count, HcclDataType type) {
    return pair.even ? HcclSend(memory.data(), count, type, pair.peer, s.comm(), s.stream())
                     : HcclRecv(memory.data(), count, type, pair.peer, s.comm(), s.stream());
  };
  for (int i = 0; i < 10; ++i) {
    const bool by_count = i % 2 == 0;
    UploadValues(memory.data(), before);
    ASSERT_EQ(transfer(by_count && pair.even ? 8 : 9,
                       !by_count && pair.even ? HCCL_DATA_TYPE_FP16 : HCCL_DATA_TYPE_INT16),
              HCCL_SUCCESS);
    EXPECT_NE(s.Synchronize(), 0);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr("transfer #" + std::to_string(i + 1) + " from rank "));
    EXPECT_THAT(text, HasSubstr(by_count ? "sends with HcclSend (8 elements of int16)"
                                         : "sends with HcclSend (9 elements of fp16)"));
    EXPECT_THAT(text, HasSubstr("receives with HcclRecv (9 elements of int16)"));
    EXPECT_EQ(Download(memory.data(), 4096), before);
  }
  ASSERT_EQ(transfer(9, HCCL_DATA_TYPE_INT16), HCCL_SUCCESS);
  EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
}

RANK_TEST(Transfers, ArgumentsInTheOrderOfTheSpecification) {
  Session s(ranks);
  DeviceMemory memory(4096);
  const uint32_t peer = (s.rank() + 1) % s.size();
  constexpr uint64_t kTooMany = 0x800000000;
  const auto bad_type = static_cast<HcclDataType>(99);
  struct Function {
    const char* buffer;
    HcclResult (*call)(void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream);
  };
  for (const Function& f : {Function{"sendBuf", HcclSend}, Function{"recvBuf", HcclRecv}}) {
    void* buf = memory.data();
    EXPECT_EQ(f.call(nullptr, 0, bad_type, 99, nullptr, nullptr), HCCL_SUCCESS);
    EXPECT_EQ(f.call(nullptr, kTooMany, bad_type, 1000, nullptr, nullptr), HCCL_E_PTR);
    EXPECT_THAT(TakeMessages(), HasSubstr("comm is null"));
    EXPECT_EQ(f.call(nullptr, kTooMany, bad_type, 1000, s.comm(), nullptr), HCCL_E_PTR);
    EXPECT_THAT(TakeMessages(), HasSubstr(std::string(f.buffer) + " is null"));
    EXPECT_EQ(f.call(buf, kTooMany, bad_type, 1000, s.comm(), nullptr), HCCL_E_PTR);
    EXPECT_THAT(TakeMessages(), HasSubstr("stream is null"));
    EXPECT_EQ(f.call(buf, kTooMany, bad_type, 1000, s.comm(), s.stream()), HCCL_E_PARA);
    EXPECT_EQ(f.call(buf, 4, bad_type, 1000, s.comm(), s.stream()), HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(f.call(buf, 4, kInt, s.size(), s.comm(), s.stream()), HCCL_E_PARA);
    EXPECT_THAT(TakeMessages(), HasSubstr("Rank is " + std::to_string(s.size())));
    EXPECT_EQ(f.call(buf, 4, kInt, s.rank(), s.comm(), s.stream()), HCCL_E_PARA);
    if (s.size() > 1) {
      int32_t on_the_host = 0;
      EXPECT_EQ(f.call(&on_the_host, 1, kInt, peer, s.comm(), s.stream()), HCCL_E_PARA);
      EXPECT_EQ(f.call(buf, 1025, kInt, peer, s.comm(), s.stream()), HCCL_E_PARA);
      EXPECT_THAT(TakeMessages(), HasSubstr(f.buffer));
    }
  }
  // Semantics C.4.
  for (int type : {12, 13, 14, 15, 16, 17, 18, 255}) {
    HcclDataType data_type;
    std::memcpy(&data_type, &type, sizeof data_type);
    EXPECT_EQ(HcclSend(memory.data(), 4, data_type, peer, s.comm(), s.stream()), HCCL_E_NOT_SUPPORT)
        << type;
    HcclSendRecvItem of_type = Item(HCCL_RECV, memory.data(), 4, peer, data_type);
    EXPECT_EQ(HcclBatchSendRecv(&of_type, 1, s.comm(), s.stream()), HCCL_E_NOT_SUPPORT) << type;
  }
  HcclSendRecvItem item = Item(HCCL_SEND, memory.data(), 4, s.size());
  EXPECT_EQ(HcclBatchSendRecv(nullptr, 1, nullptr, nullptr), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), HasSubstr("comm is null"));
  EXPECT_EQ(HcclBatchSendRecv(nullptr, 1, s.comm(), nullptr), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), HasSubstr("stream is null"));
  EXPECT_EQ(HcclBatchSendRecv(nullptr, 0, s.comm(), s.stream()), HCCL_E_PTR);
  EXPECT_EQ(HcclBatchSendRecv(&item, 0, s.comm(), s.stream()), HCCL_SUCCESS);
  EXPECT_EQ(HcclBatchSendRecv(&item, 1, s.comm(), s.stream()), HCCL_E_PARA);
  item.remoteRank = peer;
  item.count = kTooMany;
  EXPECT_EQ(HcclBatchSendRecv(&item, 1, s.comm(), s.stream()), HCCL_E_PARA);
  item.dataType = bad_type;
  EXPECT_EQ(HcclBatchSendRecv(&item, 1, s.comm(), s.stream()), HCCL_E_NOT_SUPPORT);
  item.buf = nullptr;
  EXPECT_EQ(HcclBatchSendRecv(&item, 1, s.comm(), s.stream()), HCCL_SUCCESS);
  item = Item(HCCL_SEND_RECV_RESERVED, memory.data(), 4, peer);
  EXPECT_EQ(HcclBatchSendRecv(&item, 1, s.comm(), s.stream()), HCCL_E_PARA);
  item = Item(HCCL_SEND, memory.data(), 4, s.rank());
  EXPECT_EQ(HcclBatchSendRecv(&item, 1, s.comm(), s.stream()), HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("own rank"));
  EXPECT_EQ(s.Synchronize(), 0) << "what is refused takes no part";
}

// HcclCommDestroy of one end: what it had called before still reaches the other, what it had not
// called is named at once.
RANK_TEST(Transfers, PeerThatDestroysItsCommunicator) {
  Session s(ranks);
  Pair pair(s);
  if (pair.exists) {
    DeviceMemory memory(4096);
    UploadValues(memory.data(), Message(s.rank(), 0, 0, 1024));
    if (pair.even) {
      ASSERT_EQ(HcclSend(memory.data(), 1024, kInt, pair.peer, s.comm(), s.stream()), HCCL_SUCCESS);
      s.DestroyCommunicator();
      ranks.Meet();
      EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
    } else {
      ranks.Meet();
      ASSERT_EQ(HcclRecv(memory.data(), 1024, kInt, pair.peer, s.comm(), s.stream()), HCCL_SUCCESS);
      EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
      EXPECT_EQ(DownloadValues<int32_t>(memory.data(), 1024), Message(pair.peer, 0, 0, 1024));
      ASSERT_EQ(HcclRecv(memory.data(), 1024, kInt, pair.peer, s.comm(), s.stream()), HCCL_SUCCESS);
      EXPECT_NE(s.Synchronize(), 0);
      EXPECT_THAT(TakeMessages(), HasSubstr("cannot come to transfer #2 from rank " +
                                            std::to_string(pair.peer)));
    }
    ranks.Meet();
  } else {
    ranks.Meet();
    ranks.Meet();
  }
}

// Of a batch whose peers are there but for one, nobody waits for ever: this rank is told who has
// gone, and the others that the communicator is out of use.
RANK_TEST(Batch, OneOfThePeersHasGone) {
  if (ranks.size() < 3) return;
  Session s(ranks);
  DeviceMemory memory(4096);
  if (s.rank() == 1) s.DestroyCommunicator();
  ranks.Meet();
  if (s.rank() == 0) {
    HcclSendRecvItem items[2] = {};
    for (uint32_t i = 0; i < 2; i++)
      items[i] = {HCCL_RECV, memory.data() + i * 2048, 16, HCCL_DATA_TYPE_INT32, i + 1};
    ASSERT_EQ(HcclBatchSendRecv(items, 2, s.comm(), s.stream()), HCCL_SUCCESS);
    EXPECT_NE(s.Synchronize(), 0);
    EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("rank 1"));
    ranks.Meet();
  } else {
    ranks.Meet();
    if (s.rank() == 2) {
      const HcclResult result =
          HcclSend(memory.data(), 16, HCCL_DATA_TYPE_INT32, 0, s.comm(), s.stream());
      EXPECT_TRUE(result != HCCL_SUCCESS || s.Synchronize() != 0);
    }
  }
  ranks.Meet();
}

}  // namespace
}  // namespace hcclrun::testing
