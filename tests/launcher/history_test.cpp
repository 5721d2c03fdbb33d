// What reports make of a history: thresholds of hardware, what would break there, calls that differ
// between ranks, and the trace. tests/faults/report_test.cpp has real jobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/fault.h"
#include "collective/types.h"
#include "launcher/call_text.h"
#include "launcher/divergences.h"
#include "launcher/explain.h"
#include "launcher/hardware_paths.h"
#include "launcher/hardware_troubles.h"
#include "launcher/job_report.h"
#include "launcher/trace_file.h"
#include "launcher/verdict.h"
#include "launcher/wait_text.h"

namespace hcclrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = uint64_t{1} << 20, kStage = 200 * kMiB;

uint8_t OpOf(CallId call) {
  switch (call) {
    case CallId::HcclAllReduce:
      return static_cast<uint8_t>(Op::kAllReduce);
    case CallId::HcclAllGather:
      return static_cast<uint8_t>(Op::kAllGather);
    case CallId::HcclAlltoAll:
      return static_cast<uint8_t>(Op::kAllToAll);
    case CallId::HcclAlltoAllV:
      return static_cast<uint8_t>(Op::kAllToAllV);
    case CallId::HcclBroadcast:
      return static_cast<uint8_t>(Op::kBroadcast);
    case CallId::HcclBarrier:
      return static_cast<uint8_t>(Op::kBarrier);
    case CallId::HcclSend:
      return static_cast<uint8_t>(Op::kSend);
    case CallId::HcclRecv:
      return static_cast<uint8_t>(Op::kRecv);
    default:
      return kNoOp;
  }
}

// Ranks of one communicator whose calls tests add.
class Ranks : public ::testing::Test {
 protected:
  Ranks() {
    history_.start_ns = 1'000'000'000;
    history_.now_ns = 9'000'000'000;
    history_.ranks.resize(2);
    for (uint32_t r = 0; r < 2; r++) {
      RankHistory& rank = history_.ranks[r];
      rank.pid = rank.library_pid = static_cast<int32_t>(100 + r);
      rank.started = true;
      RecordedCommunicator c;
      c.id = 1;
      c.alive = true;
      c.key = 77;
      c.rank = r;
      c.size = 2;
      c.stage_bytes = kStage;
      c.name = c.whole_name = "world";
      rank.reasons = {"item 7: the input is not in a registered window"};
      rank.communicators.push_back(c);
    }
  }

  RecordedCall& Add(int rank, CallId id,
                    OperationRecord::Kind kind = OperationRecord::kCollective) {
    RankHistory& history = history_.ranks[static_cast<size_t>(rank)];
    RecordedCommunicator& c = history.communicators[0];
    RecordedCall call;
    call.number = ++history.calls_recorded;
    call.kind = kind;
    call.call = static_cast<uint32_t>(id);
    call.comm = 1;
    call.stream = 3;
    call.thread = 100 + rank;
    call.sequence = kind == OperationRecord::kCollective ? c.called++ : c.called;
    call.op = OpOf(id);
    call.count = kind == OperationRecord::kLocal ? 1 : 1024;
    call.bytes = 4096;
    call.dtype = static_cast<uint8_t>(DataType::kFp32);
    call.called_ns = 2'000'000'000 + static_cast<int64_t>(call.number) * 1'000'000 + rank * 100'000;
    if (kind != OperationRecord::kLocal) {
      call.posted_ns = call.called_ns + 1'000;
      call.started_ns = call.called_ns + 200'000;
      call.finished_ns = call.called_ns + 204'096;
      call.path = PathTaken::kWindow;
      call.in_window = 0;
      call.out_window = 4096;
    }
    history.calls.push_back(call);
    return history.calls.back();
  }

  JobHistory history_;
};

TEST(Thresholds, AreThoseOfASingleServer) {
  auto path = [](Op op, uint64_t bytes, uint32_t ranks) {
    return PathByThresholds(op, bytes, ranks, 1, kStage);
  };
  EXPECT_EQ(path(Op::kAllGather, kMiB / 2, 8), HardwarePath::kBuffered);
  EXPECT_EQ(path(Op::kAllGather, kMiB / 2 + 4, 8), HardwarePath::kDepends);
  EXPECT_EQ(path(Op::kAllGather, 2 * kMiB + 4, 8), HardwarePath::kWindow);
  EXPECT_EQ(path(Op::kAllGather, 1024, 2), HardwarePath::kDepends) << "D > 2 only";
  EXPECT_EQ(path(Op::kReduceScatter, kMiB, 8), HardwarePath::kBuffered);
  EXPECT_EQ(path(Op::kAllReduce, 4 * kMiB, 8), HardwarePath::kBuffered);
  EXPECT_EQ(path(Op::kAllReduce, 5 * kMiB, 8), HardwarePath::kDepends);
  EXPECT_EQ(path(Op::kAllReduce, 17 * kMiB, 8), HardwarePath::kWindow);
  EXPECT_EQ(path(Op::kAllToAll, 4, 8), HardwarePath::kWindow);
  EXPECT_EQ(path(Op::kBroadcast, 64 * kMiB, 8), HardwarePath::kBuffered);
}

TEST_F(Ranks, ExplainSumsUpAndSaysWhyNot) {
  for (int r = 0; r < 2; r++) {
    for (int i = 0; i < 3; i++) {
      RecordedCall& call = Add(r, CallId::HcclAllReduce);
      call.path = PathTaken::kBuffered;
      call.reason = 1;
    }
    Add(r, CallId::HcclAllGather);
  }
  EXPECT_THAT(
      ExplainLines(history_),
      ElementsAre("HcclAllReduce of communicator world (1024 fp32, sum), ranks 0-1, 3 times: "
                  "buffered path, because of item 7: the input is not in a registered window",
                  "HcclAllGather of communicator world (1024 fp32), ranks 0-1: window path; an "
                  "A3 would use the windows if its devices form double rings, else the "
                  "buffered path"));
}

TEST_F(Ranks, ExplainGroupsSizesAndRoots) {
  for (int r = 0; r < 2; r++) {
    for (uint64_t i = 0; i < 20; i++) {
      RecordedCall& v = Add(r, CallId::HcclAlltoAllV);
      v.path = PathTaken::kBuffered;
      v.count = 16 + i;
      RecordedCall& rooted = Add(r, CallId::HcclBroadcast);
      rooted.path = PathTaken::kBuffered;
      rooted.peer = i % 2;
    }
  }
  EXPECT_THAT(
      ExplainLines(history_),
      ElementsAre("HcclAlltoAllV of communicator world (16 to 35 fp32 in 20 sizes), ranks 0-1, 20 "
                  "times: buffered path, because not every rank has its buffers in windows",
                  "HcclBroadcast of communicator world (1024 fp32, roots 0-1), ranks 0-1, 20 "
                  "times: buffered path, because not every rank has its buffers in windows"));
}

TEST_F(Ranks, A3ReportFindsWhatHardwareWouldNotForgive) {
  for (int r = 0; r < 2; r++) {
    Add(r, CallId::HcclAllReduce).count = 16 * kMiB;  // input and output apart
    Add(r, CallId::HcclAllGather).in_window = static_cast<uint64_t>(r) * 4096;
    Add(r, CallId::HcclBroadcast);
    Add(r, CallId::HcclBroadcast).fault = static_cast<uint32_t>(FaultKind::kMismatch);
    Add(r, CallId::HcclCommSymWinRegister, OperationRecord::kLocal).bytes = 4096u + r;
    RecordedCall& call = Add(r, CallId::HcclAlltoAll);
    if (r == 1) {
      call.reason = 1;
      call.in_window = UINT64_MAX;
    }
  }
  Add(0, CallId::HcclBarrier).stream = 4;
  const std::string all = ::testing::PrintToString(HardwareTroubles(history_));
  EXPECT_THAT(all, HasSubstr("HcclAllReduce #1 of communicator world (16777216 fp32, sum): on the "
                             "window path an A3 overwrites the input"));
  EXPECT_THAT(all,
              HasSubstr("HcclAllGather #2 of communicator world (1024 fp32): the ranks' buffers "
                        "lie at different offsets"));
  EXPECT_THAT(all,
              HasSubstr("HcclBroadcast #4 of communicator world (1024 fp32): the ranks' calls do "
                        "not match; an A3 compares only the first"));
  EXPECT_THAT(all,
              HasSubstr("HcclCommSymWinRegister #1 of communicator world (4096 on rank 0, 4097 "
                        "on rank 1): the ranks pass different sizes"));
  EXPECT_THAT(all,
              HasSubstr("HcclAlltoAll #5 of communicator world (1024 fp32): only some ranks have "
                        "their buffers in windows (not rank 1)"));
  EXPECT_THAT(all, HasSubstr("on rank 0: its communicator is used in several streams"));
}

TEST_F(Ranks, A3ReportKnowsWhichMismatchesHardwareCompares) {
  auto mismatch = [this](CallId of_0, CallId of_1) {
    for (int r = 0; r < 2; r++)
      Add(r, r == 0 ? of_0 : of_1).fault = static_cast<uint32_t>(FaultKind::kMismatch);
  };
  mismatch(CallId::HcclBroadcast, CallId::HcclBroadcast);
  mismatch(CallId::HcclBroadcast, CallId::HcclBroadcast);
  mismatch(CallId::HcclBroadcast, CallId::HcclBarrier);
  const std::string all = ::testing::PrintToString(HardwareTroubles(history_));
  EXPECT_THAT(all, HasSubstr("HcclBroadcast #1 of communicator world (1024 fp32): the ranks' calls "
                             "do not match; on an A3 the first call of its kind is refused"));
  EXPECT_THAT(all, HasSubstr("HcclBroadcast #2 of communicator world (1024 fp32): the ranks' calls "
                             "do not match; an A3 compares only the first"));
  EXPECT_THAT(all, HasSubstr("HcclBroadcast #3 of communicator world (1024 fp32): the ranks call "
                             "different operations"));
}

// The rings of the ranks hold different parts of their pasts.
TEST_F(Ranks, A3ReportComparesRegistrationsByTheirNumbers) {
  for (int r = 0; r < 2; r++) {
    for (uint64_t number = r == 0 ? 5 : 6; number < 8; number++) {
      RecordedCall& call = Add(r, CallId::HcclCommSymWinRegister, OperationRecord::kLocal);
      call.count = number;
      call.bytes = 4096 * number;
    }
  }
  EXPECT_THAT(HardwareTroubles(history_), IsEmpty());
  history_.ranks[1].calls.back().bytes = 1;
  EXPECT_THAT(HardwareTroubles(history_),
              ElementsAre(HasSubstr("HcclCommSymWinRegister #7 of communicator world (28672 on "
                                    "rank 0, 1 on rank 1)")));
}

TEST_F(Ranks, A3ReportSaysHowAHangWouldEnd) {
  Add(0, CallId::HcclAllReduce).started_ns = 0;
  history_.ranks[0].calls.back().finished_ns = 0;
  RecordedWaiter w;
  w.id = 3;
  w.kind = WaitKind::kCollective;
  w.comm = 1;
  w.queued = 1;
  w.missing = 1;
  w.ranks = {1};
  history_.ranks[0].streams.push_back(w);
  EXPECT_THAT(
      HardwareHang(FindWaits(history_)),
      ElementsAre("rank 0 waits for rank 1, which is outside the library: an A3 would wait "
                  "as well, until HCCL_EXEC_TIMEOUT (1836 s unless it is set), and end in a "
                  "notify time-out that does not say who is missing"));
}

TEST_F(Ranks, A3ReportIsSilentAboutWhatIsRight) {
  for (int r = 0; r < 2; r++) {
    Add(r, CallId::HcclCommSymWinRegister, OperationRecord::kLocal).bytes = 4096;
    Add(r, CallId::HcclAllReduce).out_window = 0;
    Add(r, CallId::HcclCommSymWinDeregister, OperationRecord::kLocal);
  }
  EXPECT_THAT(HardwareTroubles(history_), IsEmpty());
  EXPECT_THAT(Divergences(history_), IsEmpty());
}

TEST_F(Ranks, LocalCallsThatDifferAreTold) {
  for (int r = 0; r < 2; r++) {
    Add(r, CallId::HcclCommSymWinRegister, OperationRecord::kLocal);
    if (r == 1) Add(r, CallId::HcclCommSymWinDeregister, OperationRecord::kLocal);
    Add(r, CallId::HcclAllReduce);
    if (r == 0) Add(r, CallId::HcclCommSymWinDeregister, OperationRecord::kLocal);
  }
  EXPECT_THAT(
      Divergences(history_),
      ElementsAre("the ranks of communicator world differ in local calls that all should make "
                  "together; call 2 is HcclCommSymWinDeregister after 0 operations on rank 1, "
                  "HcclCommSymWinDeregister after 1 operation on rank 0"));
}

TEST_F(Ranks, TraceHasALanePerRankAndStreamAndArrows) {
  for (int r = 0; r < 2; r++) {
    Add(r, CallId::HcclAllReduce);
    RecordedCall& transfer = Add(r, r == 0 ? CallId::HcclSend : CallId::HcclRecv,
                                 r == 0 ? OperationRecord::kSend : OperationRecord::kReceive);
    transfer.sequence = 0;
    transfer.peer = static_cast<uint32_t>(1 - r);
    transfer.path = PathTaken::kDirect;
  }
  const nlohmann::json trace = nlohmann::json::parse(TraceJson(history_));
  std::set<std::string> lanes;
  std::map<int64_t, int> arrows;  // ends by id
  int operations = 0;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    const std::string kind = event["ph"];
    if (kind == "M" && event["name"] == "thread_name")
      lanes.insert(event["pid"].dump() + event["args"]["name"].get<std::string>());
    if (kind == "s" || kind == "f") arrows[event["id"].get<int64_t>()]++;
    if (kind == "X" && event["cat"] == "operation") {
      operations++;
      EXPECT_TRUE(event["args"].contains("path"));
      EXPECT_DOUBLE_EQ(event["args"]["algbw GB/s"].get<double>(), 1.0);
      EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 4.096);
    }
  }
  EXPECT_THAT(lanes, ElementsAre("0stream 3", "0thread 100", "1stream 3", "1thread 101"));
  EXPECT_EQ(operations, 4);
  // Of each operation from its call; of those of rank 0 from the call of rank 1, which came last.
  EXPECT_EQ(arrows.size(), 6u);
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, 2) << id;
}

// Perfetto draws what overlaps in one lane wrongly.
TEST_F(Ranks, SlicesOfALaneDoNotOverlap) {
  for (int r = 0; r < 2; r++) {
    for (int i = 0; i < 4; i++) {  // calls in quick succession, and transfers of a batch
      const bool sends = (i + r) % 2 == 0;
      RecordedCall& call = i < 2 ? Add(r, CallId::HcclAllReduce)
                                 : Add(r, CallId::HcclBatchSendRecv,
                                       sends ? OperationRecord::kSend : OperationRecord::kReceive);
      call.called_ns = 2'000'000'000 + i * 50 + (i < 2 ? 0 : 100'000);
      call.posted_ns = call.called_ns + 20;
      call.started_ns = call.called_ns + 10'000;
      call.finished_ns = call.called_ns + 20'000 + i;
      call.peer = i < 2 ? kNoPeer : static_cast<uint32_t>(1 - r);
    }
    RecordedCall& late = Add(r, CallId::HcclAllReduce);
    late.started_ns = late.finished_ns = 0;
  }
  const nlohmann::json trace = nlohmann::json::parse(TraceJson(history_));
  std::map<std::pair<int, uint64_t>, std::vector<std::pair<double, double>>> lanes;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double begin = event["ts"], length = event["dur"];
    lanes[{event["pid"], event["tid"]}].push_back({begin, begin + length});
  }
  EXPECT_EQ(lanes.size(), 2 * (1 + 2u)) << "a thread, a stream, and what runs beside it";
  for (auto& [lane, slices] : lanes) {
    std::sort(slices.begin(), slices.end());
    for (size_t i = 1; i < slices.size(); i++)
      EXPECT_LE(slices[i - 1].second, slices[i].first + 1e-6) << lane.second;
  }
}

TEST_F(Ranks, TimesOfAnOperationAreMadeConsistent) {
  // Rank 1 posted last, by a clock that is ahead; rank 0 found the operation done.
  RecordedCall& zero = Add(0, CallId::HcclAllReduce);
  zero.called_ns = 1'900;
  zero.posted_ns = 2'000;
  zero.started_ns = 0;
  zero.finished_ns = 2'500;
  RecordedCall& one = Add(1, CallId::HcclAllReduce);
  one.called_ns = 2'610;
  one.posted_ns = 2'600;
  one.started_ns = 2'400;
  one.finished_ns = 2'500;
  RecordedCall& alone = Add(0, CallId::HcclAllReduce);  // rank 1 has not come
  alone.started_ns = alone.finished_ns = 0;
  SettleTimes(&history_);
  for (const RankHistory& rank : history_.ranks) {
    const RecordedCall& call = rank.calls[0];
    EXPECT_LE(call.called_ns, call.posted_ns);
    EXPECT_LE(call.posted_ns, call.started_ns);
    EXPECT_LE(call.started_ns, call.finished_ns);
    EXPECT_GE(call.started_ns, 2'600) << "when the last rank posted";
  }
  EXPECT_EQ(history_.ranks[0].calls[1].started_ns, 0);
  EXPECT_EQ(history_.ranks[0].calls[1].finished_ns, 0);
}

// A communicator whose ranks 0 and 1 are ranks 1 and 0 of the job.
TEST_F(Ranks, SaysWhoseNumbersItMeans) {
  history_.ranks[0].communicators[0].rank = 1;
  history_.ranks[1].communicators[0].rank = 0;
  RecordedCall& send = Add(0, CallId::HcclSend, OperationRecord::kSend);
  send.peer = 0;
  send.sequence = 0;
  EXPECT_EQ(Text(history_, 0, send),
            "HcclSend: send #1 to rank 0 of communicator world (rank 1 of the job)");
  RecordedCall& broadcast = Add(0, CallId::HcclBroadcast);
  broadcast.peer = 1;
  EXPECT_EQ(TextWithFacts(history_, 0, broadcast),
            "HcclBroadcast #1 of communicator world (1024 fp32, root 1, which is rank 0 of the "
            "job)");
  const RecordedCommunicator& c = history_.ranks[0].communicators[0];
  EXPECT_EQ(MemberText(history_, c, 0), "rank 1 (rank 0 of the communicator)");
  EXPECT_EQ(MemberText(history_, c, 7), "rank 7 of the communicator");
}

// Of a sub-communicator it is known who should come.
TEST_F(Ranks, NamesMembersThatHaveNotComeAsWellAsItCan) {
  RecordedCommunicator part;
  part.id = 2;
  part.key = 78;
  part.rank = 0;
  part.size = 2;
  part.name = "part";
  part.expected = {0, 1};
  history_.ranks.resize(3);
  history_.ranks[0].communicators.push_back(part);
  RecordedWaiter w;
  w.id = 100;
  w.inside = true;
  w.call = static_cast<uint32_t>(CallId::HcclAllReduce);
  w.kind = WaitKind::kMembers;
  w.comm = 2;
  history_.ranks[0].threads.push_back(w);
  WaitGraph graph = FindWaits(history_);
  ASSERT_EQ(graph.stragglers.size(), 1u);
  EXPECT_EQ(graph.stragglers[0].rank, 1);
  EXPECT_EQ(EdgeText(graph, graph.edges[0]),
            "rank 0 is in HcclAllReduce of communicator part, and rank 1 has not made it");
  history_.ranks[0].communicators.back().expected.clear();
  graph = FindWaits(history_);
  ASSERT_EQ(graph.stragglers.size(), 1u);
  EXPECT_EQ(graph.stragglers[0].doing,
            "rank 1 of communicator part, as which nobody has made it so far");
}

// A program with a thread for each device: one rank of the job, all ranks of a communicator.
TEST_F(Ranks, ThreadsThatAreRanksAreToldApart) {
  history_.ranks.resize(1);
  RankHistory& process = history_.ranks[0];
  RecordedCommunicator second = process.communicators[0];
  second.id = 2;
  second.rank = 1;
  process.communicators.push_back(second);
  for (uint64_t id : {100, 101}) {
    RecordedWaiter thread;
    thread.id = id;
    process.threads.push_back(thread);
    Add(0, CallId::HcclAllReduce);
    process.calls.back().comm = static_cast<uint32_t>(id - 99);
    process.calls.back().thread = static_cast<int32_t>(id);
    process.calls.back().sequence = 0;
  }
  Add(0, CallId::HcclAllReduce).sequence = 1;
  process.calls.back().started_ns = process.calls.back().finished_ns = 0;
  RecordedWaiter w;
  w.id = 3;
  w.kind = WaitKind::kCollective;
  w.comm = 1;
  w.sequence = 1;
  w.queued = 1;
  w.missing = 1;
  w.ranks = {1};
  process.streams.push_back(w);
  process.communicators[1].called = 1;
  const WaitGraph graph = FindWaits(history_);
  ASSERT_EQ(graph.edges.size(), 1u);
  EXPECT_EQ(EdgeText(graph, graph.edges[0]),
            "stream 3 of rank 0 is at HcclAllReduce #2 of communicator world, rank 1 of the "
            "communicator has not called it");
  EXPECT_THAT(HoldUpLines(graph),
              ElementsAre("rank 0 itself waits for thread 101 of rank 0, which is outside the "
                          "library, after HcclAllReduce #1 of communicator world"));
}

TEST_F(Ranks, ARankThatHasEndedWasInTheCallThatHadNotReturned) {
  RecordedWaiter w;
  w.id = 100;
  w.inside = true;
  w.call = static_cast<uint32_t>(CallId::aclrtMemcpy);
  history_.ranks[0].threads.push_back(w);
  Add(0, CallId::HcclAllReduce);
  history_.ranks[0].vanished = true;
  history_.ranks[0].end = "SIGSEGV";
  EXPECT_EQ(RankText(history_, 0),
            "has ended (SIGSEGV) in aclrtMemcpy, after HcclAllReduce #1 of communicator world");
}

// The flight recorder itself, in memory of this process.
class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    page_->ranks = 2;
    RecorderLayout layout = RecorderLayout::For(2, false);
    layout.operations = 64;
    layout.offset = (sizeof(JobPage) + 4095) & ~uint64_t{4095};
    layout.SetStart(ClockReading::Take());
    page_->recorder = layout;
    Recorder::Attach(RecorderView::At(memory_.get(), layout, 1));
  }
  JobHistory Copy() { return CopyHistory(page_->recorder, page_->ranks, memory_.get()); }

  static constexpr size_t kBytes = size_t{4} << 20;
  struct Free {
    void operator()(void* memory) const { free(memory); }
  };
  std::unique_ptr<char, Free> memory_{static_cast<char*>(aligned_alloc(4096, kBytes))};
  JobPage* page_ = new (memset(memory_.get(), 0, kBytes)) JobPage();
};

TEST_F(RecorderTest, KeepsTheLastOperationsAndTheirTimes) {
  const uint32_t comm = Recorder::AddCommunicator(5, "world", 1, 2, 4096);
  OperationFacts facts;
  facts.comm = comm;
  facts.call = static_cast<uint32_t>(CallId::HcclAllReduce);
  const int64_t before_ns = NowNs();
  OperationNote first, note;
  for (uint64_t i = 0; i < 200; i++) {
    facts.sequence = i;
    note = Recorder::Operation(facts);
    if (i == 0) first = note;
    note.Posted(note.BeforePost());
    note.Started();
    note.Finished(NowNs(), PathTaken::kWindow);
  }
  first.Failed(1);  // its place belongs to another one now
  const JobHistory history = Copy();
  EXPECT_TRUE(history.ranks[0].calls.empty());
  const RankHistory& rank = history.ranks[1];
  EXPECT_EQ(rank.calls_recorded, 200u);
  ASSERT_EQ(rank.calls.size(), 64u);
  for (size_t i = 0; i < 64; i++) {
    const RecordedCall& call = rank.calls[i];
    EXPECT_EQ(call.number, 137 + i);
    EXPECT_EQ(call.sequence, 136 + i);
    EXPECT_EQ(call.fault, 0u);
    EXPECT_EQ(call.path, PathTaken::kWindow);
    EXPECT_LE(call.called_ns, call.posted_ns);
    EXPECT_LE(call.posted_ns, call.started_ns);
    // Clocks of two kinds, compared over a short time.
    EXPECT_GT(call.called_ns, before_ns - 1'000'000'000);
    EXPECT_LE(call.called_ns, history.now_ns);
  }
  EXPECT_EQ(Text(history, 1, rank.calls.back()), "HcclAllReduce #200 of communicator world");
}

TEST_F(RecorderTest, AWaiterSaysWhatForUntilItGoesOn) {
  Waiter* stream = Recorder::AddStream(7);
  ASSERT_NE(stream, nullptr);
  stream->queued.store(2);
  Waiting waiting;
  waiting.kind = WaitKind::kCollective;
  for (uint32_t r = 0; r < 40; r++) waiting.AddMissing(r);
  Recorder::Wait(stream, waiting);
  JobHistory history = Copy();
  ASSERT_EQ(history.ranks[1].streams.size(), 1u);
  EXPECT_EQ(history.ranks[1].streams[0].id, 7u);
  EXPECT_EQ(history.ranks[1].streams[0].kind, WaitKind::kCollective);
  EXPECT_EQ(history.ranks[1].streams[0].missing, 40u);
  EXPECT_EQ(history.ranks[1].streams[0].ranks.size(), size_t{Waiter::kListed});
  Recorder::Go(stream);
  EXPECT_EQ(Copy().ranks[1].streams[0].kind, WaitKind::kNothing);
  Recorder::Release(stream);
  EXPECT_TRUE(Copy().ranks[1].streams.empty());
}

TEST_F(RecorderTest, CommunicatorsOfOneKeyAreToldApart) {
  OperationFacts facts;
  facts.call = static_cast<uint32_t>(CallId::HcclAllReduce);
  const uint32_t destroy = static_cast<uint32_t>(CallId::HcclCommDestroy);
  for (uint32_t r = 0; r < 2; r++) {
    Recorder::Attach(RecorderView::At(memory_.get(), page_->recorder, r));
    for (uint64_t operations : {3, 1}) {  // one after the other
      const uint32_t comm = Recorder::AddCommunicator(5, "table", r, 2, 4096);
      facts.comm = comm;
      for (facts.sequence = 0; facts.sequence < operations; facts.sequence++) {
        Recorder::Operation(facts);
        Recorder::Communicator(comm)->called.store(facts.sequence + 1);
      }
      Recorder::Local(comm, destroy);
      Recorder::EndCommunicator(comm);
      // What cannot be made, as with a root info that has been used.
      if (r == 0) Recorder::EndCommunicator(Recorder::AddCommunicator(5, "table", r, 2, 4096));
    }
  }
  const JobHistory history = Copy();
  EXPECT_THAT(Divergences(history), IsEmpty());
  const uint64_t first = history.ranks[0].communicators[0].key;
  EXPECT_EQ(first, history.ranks[1].communicators[0].key);
  EXPECT_EQ(history.ranks[0].communicators[2].key, history.ranks[1].communicators[1].key);
  EXPECT_NE(first, history.ranks[1].communicators[1].key);
  EXPECT_FALSE(history.HasThreadsAsRanks(first));
}

TEST_F(RecorderTest, ACallThatHasNotReturnedHasItsOwnNumberOrNone) {
  const RecorderView mine = RecorderView::At(memory_.get(), page_->recorder, 1);
  Waiter& thread = mine.threads[0];
  RankActivity activity{};
  OperationFacts facts;
  facts.call = static_cast<uint32_t>(CallId::HcclAllReduce);
  facts.sequence = 40;
  Recorder::Operation(facts);
  thread.owner.store(static_cast<uint64_t>(gettid()));
  thread.call.store(facts.call);
  thread.inside.store(1);
  thread.entered.store(Recorder::Now(mine) + 1);
  activity.call.store(facts.call);
  activity.inside.store(1);
  activity.sequence.store(41);
  RankNote note;
  note.CopyActivity(activity);
  note.CopyNumber(mine);
  EXPECT_FALSE(note.numbered);
  facts.sequence = 41;
  facts.called = thread.entered.load();
  Recorder::Operation(facts);
  note.CopyNumber(mine);
  EXPECT_TRUE(note.numbered);
  EXPECT_EQ(note.sequence, 42u);
}

TEST_F(RecorderTest, TextsShowAShortFormOfNamesThatNobodyGave) {
  Recorder::AddCommunicator(5, "127.0.0.1%hcclrun_60000_0_4711.173692313.0", 1, 2, 4096);
  const JobHistory history = Copy();
  EXPECT_EQ(history.ranks[1].communicators[0].name, "unnamed-1@4711");
  EXPECT_EQ(history.ranks[1].communicators[0].whole_name,
            "127.0.0.1%hcclrun_60000_0_4711.173692313.0");
}

// Whatever ranks wrote, a report is text.
TEST_F(Ranks, GarbageIsSurvived) {
  RecordedCall& call = Add(0, CallId::kNone);
  call.call = 0xdeadbeef;
  call.comm = 99;
  call.dtype = 200;
  call.reduce_op = 200;
  call.peer = 0xfffffffe;
  call.kind = OperationRecord::kSend;
  history_.ranks[0].communicators[0].whole_name = "\xff\"\n";
  history_.ranks[0].communicators[0].size = 0xffffffff;
  RecordedWaiter w;
  w.id = 3;
  w.kind = WaitKind::kTurn;
  w.comm = 1;
  w.sequence = 7;
  w.queued = 1;
  w.target = 5;
  history_.ranks[0].streams.push_back(w);
  const WaitGraph graph = FindWaits(history_);
  ReportLines(history_, graph, "");
  EXPECT_TRUE(nlohmann::json::accept(ReportJson(history_, graph, "", "")));
  EXPECT_TRUE(nlohmann::json::accept(TraceJson(history_)));
  HardwareTroubles(history_);
  ExplainLines(history_);
  Divergences(history_);
}

}  // namespace
}  // namespace hcclrun
