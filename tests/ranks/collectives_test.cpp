// Every collective on every path against the naive reference, byte for byte.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "hcclrun/launch.h"
#include "ranks/arena.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

constexpr Path kMemories[] = {Path::kWindow, Path::kBuffered};
constexpr uint64_t kSmallArena = uint64_t{96} << 10;

// All calls that exist, with a count of its own each.
std::vector<Call> AllCalls(uint32_t ranks, Random& random) {
  std::vector<Call> calls;
  for (Op op : kOperations) {
    for (DataType type : kDataTypes) {
      for (ReduceOp reduce : kReductions) {
        Call call;
        call.op = op;
        call.type = type;
        call.reduce = reduce;
        call.ranks = ranks;
        const bool reduces = op == Op::kReduceScatter || op == Op::kAllReduce || op == Op::kReduce;
        if (!Supported(call) || (!reduces && reduce != ReduceOp::kSum)) continue;
        call.root = static_cast<uint32_t>(random.Below(ranks));
        call.count = 1 + random.Below(300);
        calls.push_back(call);
      }
    }
  }
  return calls;
}

void PutAndRun(Arena& arena, const Job& job, uint64_t seed, HcclComm comm, aclrtStream stream) {
  const uint32_t ranks = job.call.ranks;
  const bool blocks = job.call.op == Op::kReduceScatter || job.call.op == Op::kAllToAll ||
                      job.call.op == Op::kScatter;
  arena.Put(job.call.type, seed, job.call.count * (blocks ? ranks : 1), job.in, stream);
  arena.Run(job.call, job.in, job.out, comm, stream);
}

RANK_TEST(Collectives, EveryTypeAndReductionOnBothPaths) {
  Session session(ranks);
  for (Path memory : kMemories) {
    Random random(Seed() + 1);
    Arena arena(session, memory, kSmallArena, 1);
    for (const Call& call : AllCalls(ranks.size(), random)) {
      const Job job = RandomLayout(random, call, arena, false);
      PutAndRun(arena, job, random.Next(), session.comm(), session.stream());
      ASSERT_EQ(session.Synchronize(), 0) << Describe(call) << "\n" << TakeMessages();
      ASSERT_EQ(session.LastPath(), ExpectedPath(call, memory)) << Describe(call);
    }
    ASSERT_TRUE(arena.Check());
  }
}

RANK_TEST(Collectives, InPlace) {
  Session session(ranks);
  for (Path memory : kMemories) {
    Random random(Seed() + 2);
    Arena arena(session, memory, kSmallArena, 2);
    for (const Call& call : AllCalls(ranks.size(), random)) {
      if (call.op == Op::kAllToAll) continue;  // refused (semantics C.3)
      PutAndRun(arena, RandomLayout(random, call, arena, true), random.Next(), session.comm(),
                session.stream());
      ASSERT_EQ(session.Synchronize(), 0) << Describe(call) << "\n" << TakeMessages();
      if (call.op == Op::kAllReduce) {
        ASSERT_EQ(session.LastPath(), ExpectedPath(call, memory)) << Describe(call);
      }
    }
    ASSERT_TRUE(arena.Check());
  }
}

// Counts around what loops, vectors and cache lines divide, and none at all.
RANK_TEST(Collectives, CountsThatNothingDivides) {
  Session session(ranks);
  const uint64_t counts[] = {0,  1,  2,  3,  7,   8,   15,  16,  17,  31,
                             33, 63, 64, 65, 127, 129, 255, 257, 1021};
  for (Path memory : kMemories) {
    Random random(Seed() + 3);
    Arena arena(session, memory, uint64_t{256} << 10, 3);
    for (Op op : kOperations) {
      for (DataType type : {DataType::kInt8, DataType::kFp16, DataType::kFp32}) {
        if (ranks.size() > 8 && type != DataType::kFp16) continue;
        for (uint64_t count : counts) {
          Call call;
          call.op = op;
          call.type = type;
          call.ranks = ranks.size();
          call.root = ranks.size() - 1;
          call.count = count;
          PutAndRun(arena, RandomLayout(random, call, arena, false), random.Next(), session.comm(),
                    session.stream());
        }
      }
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      ASSERT_TRUE(arena.Check());
    }
  }
}

// More than the HCCL buffers take at once: several rounds through them.
RANK_TEST(Collectives, LargerThanTheHcclBuffer) {
  if (ranks.size() > 4 && ranks.size() != 8) return;  // the models of many ranks take long
  Session session(ranks, [](HcclCommConfig& config) { config.hcclBufferSize = 1; });
  // Bytes, of all blocks together; a round takes half a buffer.
  // What is accumulated in fp32 depends no more on the parts than anything else does.
  const bool fp32 = AccumulatorSet() == Accumulator::kFp32;
  const uint64_t total = ranks.size() > 4 || fp32 ? 600'000 : 1'300'000;
  bool bf16 = false;
  for (Path memory : kMemories) {
    Random random(Seed() + 4);
    Arena arena(session, memory, total * 2 + 4000, 4);
    for (Op op : kOperations) {
      Call call;
      call.op = op;
      bf16 = !bf16;
      call.type = !fp32 ? DataType::kInt32 : bf16 ? DataType::kBf16 : DataType::kFp16;
      call.ranks = ranks.size();
      call.root = static_cast<uint32_t>(random.Below(ranks.size()));
      const bool whole = op == Op::kAllReduce || op == Op::kBroadcast || op == Op::kReduce;
      call.count =
          (total - random.Below(1000)) / (whole ? 1 : ranks.size()) / ElementSize(call.type);
      PutAndRun(arena, RandomLayout(random, call, arena, random.OneIn(2) && op != Op::kAllToAll),
                random.Next(), session.comm(), session.stream());
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
    }
    ASSERT_TRUE(arena.Check());
  }
}

// 64 MB and one element in the larger buffer, every operation on both paths: the streaming stores
// and the many rounds of large sizes. Not against the reference, which would take minutes: element
// i of rank r is i * 7 + r, whole or as a sum. Runs alone, with HCCLRUN_TEST_LARGE set.
RANK_TEST(Large, SixtyFourMegabytesAndOneElement) {
  if (!std::getenv("HCCLRUN_TEST_LARGE")) return;
  Session session(ranks);
  const uint32_t n = ranks.size(), me = ranks.rank();
  const uint64_t most = (uint64_t{64} << 20) / 4 + 1, block = most / n | 1;
  const uint64_t bytes = block * n * 4 + 4096;
  std::vector<int32_t> host(bytes / 4);
  for (Path memory : kMemories) {
    std::unique_ptr<WindowMemory> windows[2];
    std::unique_ptr<DeviceMemory> plain[2];
    char* at[2];
    for (int side = 0; side < 2; ++side) {
      if (memory == Path::kWindow) {
        windows[side] = std::make_unique<WindowMemory>(session, bytes);
        at[side] = windows[side]->data();
      } else {
        plain[side] = std::make_unique<DeviceMemory>(bytes);
        at[side] = plain[side]->data();
      }
    }
    char *in = at[0], *out = at[1] + 4;  // neither lies at the same place of a line
    for (Op op : kOperations) {
      Call call;
      call.op = op;
      call.type = DataType::kInt32;
      call.ranks = n;
      call.root = n - 1;
      if (memory == Path::kWindow && ExpectedPath(call, memory) != HCCLRUN_PATH_WINDOW) continue;
      const bool whole = op == Op::kAllReduce || op == Op::kBroadcast || op == Op::kReduce;
      call.count = whole ? most : block;
      const uint64_t all = call.count * (whole ? 1 : n);
      for (uint64_t i = 0; i < all; ++i) host[i] = static_cast<int32_t>(i * 7 + me);
      char* from = op == Op::kBroadcast ? out : in;
      REQUIRE_OK(aclrtMemcpy(from, bytes - 4, host.data(), all * 4, ACL_MEMCPY_HOST_TO_DEVICE));
      ASSERT_EQ(Enqueue(call, in, out, session.comm(), session.stream()), HCCL_SUCCESS);
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      ASSERT_EQ(session.LastPath(), ExpectedPath(call, memory)) << Describe(call);
      if (op == Op::kReduce && me != call.root) continue;
      const bool blocks_out = op == Op::kAllGather || op == Op::kAllToAll;
      const uint64_t got = op == Op::kReduceScatter || op == Op::kScatter ? block : all;
      REQUIRE_OK(aclrtMemcpy(host.data(), bytes, out, got * 4, ACL_MEMCPY_DEVICE_TO_HOST));
      const auto sum_of_ranks = static_cast<int32_t>(n * (n - 1) / 2);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < got; ++i) {
        const uint64_t r = blocks_out ? i / block : call.root, within = i % block;
        uint64_t expected = 0;
        switch (op) {
          case Op::kAllReduce:
          case Op::kReduce:
            expected = i * 7 * n + sum_of_ranks;
            break;
          case Op::kReduceScatter:
            expected = (me * block + i) * 7 * n + sum_of_ranks;
            break;
          case Op::kAllGather:
            expected = within * 7 + r;
            break;
          case Op::kBroadcast:
            expected = i * 7 + r;
            break;
          default:  // AlltoAll, Scatter: block `me` of the sender
            expected = (me * block + within) * 7 + r;
        }
        wrong += host[i] != static_cast<int32_t>(expected);
      }
      ASSERT_EQ(wrong, 0u) << Describe(call);
    }
  }
}

// Anything after anything, with results as inputs of the next operation, and no
// synchronisation in between.
RANK_TEST(Collectives, RandomStreamsOfOperations) {
  Session session(ranks);
  Random random(Seed() + 5);
  const int trials = Trials(ranks.size() > 8 ? 4 : 10);
  for (Path memory : kMemories) {
    Arena arena(session, memory, kSmallArena, 5);
    for (int trial = 0; trial < trials; ++trial) {
      Offsets last = arena.Everywhere(0);
      for (int i = 0; i < 25; ++i) {
        Job job = RandomLayout(random, RandomCall(random, ranks.size(), arena.bytes()), arena,
                               random.OneIn(3));
        const uint64_t seed = random.Next();
        if (random.OneIn(8)) {
          Call barrier;
          barrier.op = Op::kBarrier;
          barrier.ranks = ranks.size();
          arena.Run(barrier, last, last, session.comm(), session.stream());
        }
        if (random.OneIn(2)) {
          PutAndRun(arena, job, seed, session.comm(), session.stream());
        } else {
          arena.Run(job.call, job.in, job.out, session.comm(), session.stream());
        }
        last = job.out;
      }
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      ASSERT_TRUE(arena.Check()) << "trial " << trial << ", seed " << Seed();
    }
  }
}

// More operations under way than the ring of a communicator has slots, each needing the one before.
RANK_TEST(Collectives, LongChainWithoutSynchronisation) {
  Session session(ranks);
  for (Path memory : kMemories) {
    Arena arena(session, memory, kSmallArena, 6);
    Call call;
    call.op = Op::kAllReduce;
    call.type = DataType::kInt32;
    call.ranks = ranks.size();
    call.count = 13;
    for (int i = 0; i < 200; ++i) {
      arena.Run(call, arena.Everywhere(i % 2 ? 4096 : 64), arena.Everywhere(i % 2 ? 64 : 4096),
                session.comm(), session.stream());
    }
    ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
    ASSERT_TRUE(arena.Check());
  }
}

RANK_TEST(Collectives, TwoCommunicatorsOnTwoStreamsAtOnce) {
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  aclrtStream stream = nullptr;
  REQUIRE_OK(aclrtCreateStream(&stream));
  {
    Random random(Seed() + 7);
    Arena one(session, Path::kWindow, kSmallArena, 7),
        two(session, Path::kBuffered, kSmallArena, 8);
    for (int i = 0; i < 40; ++i) {
      const Job a =
          RandomLayout(random, RandomCall(random, ranks.size(), one.bytes()), one, random.OneIn(3));
      PutAndRun(one, a, random.Next(), session.comm(), session.stream());
      const Job b =
          RandomLayout(random, RandomCall(random, ranks.size(), two.bytes()), two, random.OneIn(3));
      PutAndRun(two, b, random.Next(), other, stream);
    }
    // Ranks wait in different orders.
    const bool second_first = ranks.rank() % 2 == 1;
    ASSERT_EQ(aclrtSynchronizeStream(second_first ? stream : session.stream()), 0)
        << TakeMessages();
    ASSERT_EQ(aclrtSynchronizeStream(second_first ? session.stream() : stream), 0)
        << TakeMessages();
    ASSERT_TRUE(one.Check());
    ASSERT_TRUE(two.Check());
  }
  REQUIRE_OK(aclrtDestroyStream(stream));
  REQUIRE_OK(HcclCommDestroy(other));
}

// Ranks enqueue on two independent streams in different orders; neither stream may block the other.
RANK_TEST(Collectives, IndependentStreamsInDifferentOrderPerRank) {
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  aclrtStream stream = nullptr;
  REQUIRE_OK(aclrtCreateStream(&stream));
  {
    Arena one(session, Path::kBuffered, kSmallArena, 9),
        two(session, Path::kBuffered, kSmallArena, 10);
    Call call;
    call.type = DataType::kFp32;
    call.ranks = ranks.size();
    call.count = 1000;
    const Offsets in = one.Everywhere(128), out = one.Everywhere(40000);
    for (int round = 0; round < 20; ++round) {
      for (int half = 0; half < 2; ++half) {
        if ((ranks.rank() + half) % 2 == 0) {
          one.Run(call, in, out, session.comm(), session.stream());
        } else {
          two.Run(call, out, in, other, stream);
        }
      }
      // The first thing a rank waits for is what another rank enqueued last.
      ASSERT_EQ(aclrtSynchronizeStream(ranks.rank() % 2 ? session.stream() : stream), 0)
          << TakeMessages();
    }
    ASSERT_EQ(aclrtSynchronizeStream(session.stream()), 0) << TakeMessages();
    ASSERT_EQ(aclrtSynchronizeStream(stream), 0) << TakeMessages();
    ASSERT_TRUE(one.Check());
    ASSERT_TRUE(two.Check());
  }
  REQUIRE_OK(aclrtDestroyStream(stream));
  REQUIRE_OK(HcclCommDestroy(other));
}

// One communicator, two streams, each operation behind an event of the one before (semantics C.6).
RANK_TEST(Collectives, TwoStreamsOfOneCommunicatorOrderedByEvents) {
  Session session(ranks);
  aclrtStream streams[2] = {session.stream(), nullptr};
  REQUIRE_OK(aclrtCreateStream(&streams[1]));
  std::vector<aclrtEvent> events;
  {
    Random random(Seed() + 11);
    Arena arena(session, Path::kWindow, kSmallArena, 11);
    for (int i = 0; i < 40; ++i) {
      aclrtStream stream = streams[i % 2];
      if (!events.empty()) REQUIRE_OK(aclrtStreamWaitEvent(stream, events.back()));
      const Job job = RandomLayout(random, RandomCall(random, ranks.size(), arena.bytes()), arena,
                                   random.OneIn(3));
      PutAndRun(arena, job, random.Next(), session.comm(), stream);
      events.push_back(nullptr);
      REQUIRE_OK(aclrtCreateEvent(&events.back()));
      REQUIRE_OK(aclrtRecordEvent(events.back(), stream));
    }
    ASSERT_EQ(aclrtSynchronizeStream(streams[1]), 0) << TakeMessages();
    ASSERT_EQ(aclrtSynchronizeStream(streams[0]), 0) << TakeMessages();
    ASSERT_TRUE(arena.Check());
  }
  for (aclrtEvent event : events) REQUIRE_OK(aclrtDestroyEvent(event));
  REQUIRE_OK(aclrtDestroyStream(streams[1]));
}

// Kernels between operations see finished results and can change the next inputs.
RANK_TEST(Collectives, KernelsComputeBetweenOperations) {
  Session session(ranks);
  WindowMemory memory(session, kGranularity);
  auto* value = reinterpret_cast<int32_t*>(memory.data());
  const int32_t start = static_cast<int32_t>(ranks.rank());
  Upload(value, &start, sizeof start);
  int64_t expected = ranks.rank();
  for (int i = 0; i < 5; ++i) {
    REQUIRE_OK(HcclAllReduce(value, value, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, session.comm(),
                             session.stream()));
    REQUIRE_OK(hcclrunLaunch(
        session.stream(), [](void* p) { return *static_cast<int32_t*>(p) *= 3, 0; }, value));
    expected = (expected > ranks.size() - 1 ? expected : ranks.size() - 1) * 3;
  }
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<int32_t>(value, 1)[0], expected);
}

// Floating-point sums have one value: on both paths, in every run, on every rank.
RANK_TEST(Collectives, SameBitsInEveryRunAndOnBothPaths) {
  Session session(ranks);
  constexpr uint64_t kCount = 5000;
  for (DataType type : {DataType::kFp32, DataType::kFp16, DataType::kBf16}) {
    const uint64_t bytes = kCount * ElementSize(type);
    const Bytes input = MakeValues(type, 12, ranks.rank(), kCount);
    std::vector<Bytes> results;
    WindowMemory window(session, 2 * bytes);
    DeviceMemory plain(2 * bytes);
    for (char* memory : {window.data(), plain.data(), window.data(), plain.data()}) {
      UploadValues(memory, input);
      REQUIRE_OK(HcclAllReduce(memory, memory + bytes, kCount, static_cast<HcclDataType>(type),
                               HCCL_REDUCE_SUM, session.comm(), session.stream()));
      ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
      results.push_back(Download(memory + bytes, bytes));
    }
    for (const Bytes& result : results) EXPECT_EQ(result, results[0]) << Name(type);
    const std::string mine(results[0].begin(), results[0].end());
    for (const std::string& other : ranks.Exchange(mine)) EXPECT_EQ(other, mine) << Name(type);
  }
}

// A barrier holds back what is queued behind it until every rank has reached it.
RANK_TEST(Collectives, BarrierWaitsForEveryRank) {
  Session session(ranks);
  std::atomic<int> passed{0};
  const auto note = [](void* p) { static_cast<std::atomic<int>*>(p)->store(1); };
  if (ranks.rank() != 0) {
    REQUIRE_OK(HcclBarrier(session.comm(), session.stream()));
    REQUIRE_OK(aclrtLaunchHostFunc(session.stream(), note, &passed));
  }
  ranks.Meet();
  EXPECT_EQ(passed, 0) << "rank 0 has not called HcclBarrier yet";
  ranks.Meet();
  if (ranks.rank() == 0) REQUIRE_OK(HcclBarrier(session.comm(), session.stream()));
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(passed, ranks.rank() == 0 ? 0 : 1);
}

}  // namespace
}  // namespace hcclrun::testing
