// A rank that goes through every step of the protocols once or more, and checks its results:
//
//   stepping_rank work    makes communicators, registers a window, calls collectives small and large, on
//                         both paths, several at once, sends and receives, has a mismatch, and destroys
//                         everything
//   stepping_rank threads the ranks are threads of this process, made by HcclCommInitAll
//   stepping_rank giveup  calls collectives and transfers that one rank gives up at once
//
// Exits with 7 when a call fails that should not, with 9 when a result is wrong. What happened is
// written to the board. A rank that has come to its end waits for the others: what they say must be
// about the fault and not about this rank's exit.

#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "faults/step_board.h"

namespace {

using hcclrun::testing::RankEnd;
using hcclrun::testing::StepBoard;

constexpr int64_t kPatienceNs = 20'000'000'000;

StepBoard* board;
uint32_t rank, size;

template <class Condition>
void Await(Condition over) {
  const int64_t begin = StepBoard::Now();
  const timespec nap = {0, 500'000};
  while (!over() && StepBoard::Now() - begin < kPatienceNs) nanosleep(&nap, nullptr);
}

[[noreturn]] void End(RankEnd end, const char* text) {
  StepBoard::Rank& mine = board->ranks[rank];
  std::snprintf(mine.text, sizeof mine.text, "%s", text);
  mine.at_ns.store(StepBoard::Now());
  mine.end.store(end);
  board->ended.fetch_add(1);
  Await([] { return board->ended.load() + board->lost.load() >= size; });
  std::exit(end == RankEnd::kFinished ? 0 : end == RankEnd::kFailed ? 7 : 9);
}

void Check(int code, const char* call) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  char text[sizeof board->ranks[0].text];
  std::snprintf(text, sizeof text, "%s returned %d: %s", call, code, why ? why : "no message");
  End(RankEnd::kFailed, text);
}

#define CHECK(call) Check(static_cast<int>(call), #call)

void Expect(bool good, const char* what) {
  if (!good) End(RankEnd::kWrong, what);
}

HcclComm NewCommunicator() {
  HcclRootInfo info;
  if (rank == 0) CHECK(HcclGetRootInfo(&info));
  CHECK(hcclrunShareRootInfo(&info));
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, &info, rank, &comm));
  return comm;
}

void Fill(float* values, uint64_t count, float value) {
  for (uint64_t i = 0; i < count; i++) values[i] = value;
}

bool All(const float* values, uint64_t count, float value) {
  for (uint64_t i = 0; i < count; i++) {
    if (values[i] != value) return false;
  }
  return true;
}

float Sum() { return static_cast<float>(size * (size + 1) / 2); }

void ExpectSums(float* values, uint64_t count, HcclComm comm, aclrtStream stream) {
  Fill(values, count, static_cast<float>(rank + 1));
  CHECK(HcclAllReduce(values, values, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  Expect(All(values, count, Sum()), "a sum");
}

void Work() {
  HcclComm comm = NewCommunicator();
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  constexpr size_t kBytes = size_t{4} << 20;
  void *memory = nullptr, *plain = nullptr;
  CHECK(HcclMemAlloc(&memory, kBytes));
  CHECK(aclrtMalloc(&plain, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  HcclCommSymWindow window = nullptr;
  CHECK(HcclCommSymWinRegister(comm, memory, kBytes, &window, 1));

  auto* values = static_cast<float*>(memory);
  for (uint64_t count : {uint64_t{4}, uint64_t{20'000}, uint64_t{40'000}, uint64_t{500'000}})
    ExpectSums(values, count, comm, stream);
  for (uint64_t count : {uint64_t{100}, uint64_t{500'000}})
    ExpectSums(static_cast<float*>(plain), count, comm, stream);

  // Several under way.
  for (uint64_t i = 0; i < 6; i++) Fill(values + i * 5'000, 5'000, static_cast<float>(rank + 1));
  for (uint64_t i = 0; i < 6; i++) {
    CHECK(HcclAllReduce(values + i * 5'000, values + i * 5'000, i % 2 ? 5'000 : 8,
                        HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  }
  CHECK(aclrtSynchronizeStream(stream));
  for (uint64_t i = 0; i < 6; i++)
    Expect(All(values + i * 5'000, i % 2 ? 5'000 : 8, Sum()), "a sum of several");

  // A ring.
  const uint32_t next = (rank + 1) % size, last = (rank + size - 1) % size;
  constexpr uint64_t kSent = 100'000;
  float* received = values + kSent;
  Fill(values, kSent, static_cast<float>(rank));
  HcclSendRecvItem items[2] = {{HCCL_SEND, values, kSent, HCCL_DATA_TYPE_FP32, next},
                               {HCCL_RECV, received, kSent, HCCL_DATA_TYPE_FP32, last}};
  CHECK(HcclBatchSendRecv(items, 2, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  Expect(All(received, kSent, static_cast<float>(last)), "a receive");

  // A mismatch fails on all ranks and leaves the communicator usable. (4000: no exchange.)
  for (uint64_t odd : {uint64_t{5}, uint64_t{4'000}}) {
    CHECK(HcclAllReduce(values, values, rank == 0 ? odd : 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                        comm, stream));
    const int code = aclrtSynchronizeStream(stream);
    Expect(code != 0, "a mismatch succeeded");
    const char* why = aclGetRecentErrMsg();
    if (!why || !std::strstr(why, "count")) {
      char text[sizeof board->ranks[0].text];
      std::snprintf(text, sizeof text, "a mismatch returned %d: %s", code,
                    why ? why : "no message");
      End(RankEnd::kFailed, text);
    }
  }
  CHECK(HcclBarrier(comm, stream));
  CHECK(aclrtSynchronizeStream(stream));

  // A communicator that is made of it.
  uint32_t members[hcclrun::testing::kBoardRanks];
  for (uint32_t r = 0; r < size; r++) members[r] = r;
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  HcclComm sub = nullptr;
  CHECK(HcclCreateSubCommConfig(&comm, size, members, 1, rank, &config, &sub));
  ExpectSums(static_cast<float*>(plain), 300, sub, stream);
  CHECK(HcclCommDestroy(sub));

  CHECK(HcclCommSymWinDeregister(window));
  CHECK(HcclCommDestroy(comm));
  CHECK(HcclMemFree(memory));
  CHECK(aclrtFree(plain));
  CHECK(aclrtDestroyStream(stream));
}

void Threads() {
  constexpr int kThreads = 3;
  constexpr uint64_t kMost = 100'000;
  int32_t devices[kThreads];
  for (int i = 0; i < kThreads; i++) devices[i] = i;
  HcclComm comms[kThreads];
  CHECK(HcclCommInitAll(kThreads, devices, comms));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&comms, i] {
      CHECK(aclrtSetDevice(i));
      aclrtStream stream = nullptr;
      CHECK(aclrtCreateStream(&stream));
      void* memory = nullptr;
      CHECK(aclrtMalloc(&memory, kMost * 4, ACL_MEM_MALLOC_HUGE_FIRST));
      auto* values = static_cast<float*>(memory);
      for (uint64_t count : {uint64_t{4}, uint64_t{5'000}, kMost}) {
        Fill(values, count, static_cast<float>(i + 1));
        CHECK(HcclAllReduce(values, values, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[i],
                            stream));
        CHECK(aclrtSynchronizeStream(stream));
        Expect(All(values, count, kThreads * (kThreads + 1) / 2), "a sum of threads");
      }
      CHECK(aclrtFree(memory));
      CHECK(aclrtDestroyStream(stream));
      CHECK(HcclCommDestroy(comms[i]));
      CHECK(aclrtResetDevice(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Calls what one rank gives up at once, or while its bytes move. Whose call succeeds has the right result; what a rank puts
// into its buffers afterwards stays there, whatever the others still do.
void GiveUp() {
  constexpr uint64_t kMost = 500'000;
  constexpr float kReused = -1;
  void *in_memory = nullptr, *out_memory = nullptr;
  CHECK(aclrtMalloc(&in_memory, kMost * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&out_memory, kMost * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  auto *in = static_cast<float*>(in_memory), *out = static_cast<float*>(out_memory);
  int round = 0;
  for (uint64_t count : {uint64_t{2}, uint64_t{20'000}, kMost}) {
    for (bool transfer : {false, true}) {
      HcclComm comm = NewCommunicator();
      aclrtStream stream = nullptr;
      CHECK(aclrtCreateStream(&stream));
      const uint32_t giver = round % 2 ? 0 : size - 1, peer = (giver + 1) % size;
      const bool sends = rank == (round % 3 ? giver : peer),
                 takes_part = !transfer || rank == giver || rank == peer;
      const bool has_result = takes_part && (!transfer || !sends);
      const float result = transfer ? 1 : static_cast<float>(size);
      Fill(in, count, 1);
      int code = 0;  // refused already, when it has been given up before
      if (!transfer) {
        code = HcclAllReduce(in, out, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
      } else if (takes_part) {
        const uint32_t other = rank == giver ? peer : giver;
        code = sends ? HcclSend(in, count, HCCL_DATA_TYPE_FP32, other, comm, stream)
                     : HcclRecv(out, count, HCCL_DATA_TYPE_FP32, other, comm, stream);
      }
      // Of a long message when both ends are moving it, perhaps.
      if (rank == giver && transfer && count == kMost && code == 0)
        (void)aclrtSynchronizeStreamWithTimeout(stream, 1);
      if (rank == giver) CHECK(aclrtStreamAbort(stream));
      if (code == 0) code = aclrtSynchronizeStream(stream);
      if (rank != giver && code == 0 && has_result)
        Expect(All(out, count, result), "the result of an operation that another rank gave up");
      Fill(out, count, kReused);
      board->rounds[round].fetch_add(1);
      Await([&] { return board->rounds[round].load() + board->lost.load() >= size; });
      Expect(All(out, count, kReused), "a buffer that was given back has been written to");
      round++;
      CHECK(HcclCommDestroy(comm));
      CHECK(aclrtDestroyStream(stream));
    }
  }
  CHECK(aclrtFree(in_memory));
  CHECK(aclrtFree(out_memory));
}

}  // namespace

int main(int argc, char** argv) {
  board = StepBoard::Open();
  if (argc != 2 || !board) return 2;
  rank = static_cast<uint32_t>(hcclrunRank());
  size = static_cast<uint32_t>(hcclrunSize());
  board->ranks[rank].pid.store(getpid());
  CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
  std::strcmp(argv[1], "giveup") == 0    ? GiveUp()
  : std::strcmp(argv[1], "threads") == 0 ? Threads()
                                         : Work();
  CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
  End(RankEnd::kFinished, "");
}
