// Who says what is said: with several ranks in one process, as with processes that hcclrun has not
// started, the message alone tells which rank of which communicator it is about.
//
// All ranks share standard error, or each has its own under hcclrun: rank 0, or each, captures it while all
// do something wrong.

#include <acl/acl.h>

#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr auto kFloat = HCCL_DATA_TYPE_FP32;
constexpr auto kSum = HCCL_REDUCE_SUM;

void Name(HcclCommConfig& config, const char* name) {
  snprintf(config.hcclCommName, sizeof config.hcclCommName, "%s", name);
}

// What this rank's messages about a communicator of all ranks begin with.
std::string Me(const Session& s, const std::string& communicator) {
  const std::string rank = "hcclrun: rank " + std::to_string(s.rank());
  return s.ranks().threads() ? rank + " of communicator " + communicator + ": " : rank + ": ";
}

// The lines that all ranks write while they do this.
std::vector<std::string> Told(RankGroup& ranks, const std::function<void()>& body) {
  const bool captures = !ranks.threads() || ranks.rank() == 0;
  ranks.Meet();
  if (captures) ::testing::internal::CaptureStderr();
  ranks.Meet();
  body();
  ranks.Meet();
  const std::string mine = captures ? ::testing::internal::GetCapturedStderr() : "";
  std::vector<std::string> lines;
  for (const std::string& text : ranks.Exchange(mine)) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
  return lines;
}

// Each rank has said something that has this in it, and no other line has been written.
void ExpectOfEach(const Session& s, const std::string& communicator,
                  const std::vector<std::string>& lines, const std::string& text) {
  EXPECT_THAT(lines, AllOf(SizeIs(s.size()), Each(HasSubstr(text)),
                           Contains(StartsWith(Me(s, communicator)))));
}

RANK_TEST(Speaking, OfArgumentsAndMemory) {
  Session s(ranks, [](HcclCommConfig& c) { Name(c, "speaking"); });
  DeviceMemory memory(64);
  ExpectOfEach(s, "speaking", Told(ranks, [&] {
                 HcclAllReduce(memory.data(), memory.data(), 4, static_cast<HcclDataType>(77), kSum,
                               s.comm(), s.stream());
               }),
               "HcclAllReduce: ");
  ExpectOfEach(s, "speaking", Told(ranks, [&] {
                 float host[4];
                 HcclBroadcast(host, 4, kFloat, 0, s.comm(), s.stream());
               }),
               "HcclBroadcast: buf (");
  ExpectOfEach(s, "speaking", Told(ranks, [&] {
                 HcclBroadcast(memory.data(), 4, kFloat, s.size(), s.comm(), s.stream());
               }),
               "HcclBroadcast: root is ");
  ExpectOfEach(s, "speaking", Told(ranks, [&] {
                 HcclCommSymWindow window = nullptr;
                 HcclCommSymWinRegister(s.comm(), memory.data(), 64, &window, 1);
               }),
               "HcclCommSymWinRegister: ");
}

// A caller's check macro may repeat a call that failed; the same mistake elsewhere is another one.
RANK_TEST(Speaking, OncePerCommunicatorOfTheSameMistake) {
  Session one(ranks, [](HcclCommConfig& c) { Name(c, "one"); });
  Session other(ranks, [](HcclCommConfig& c) { Name(c, "other"); });
  DeviceMemory memory(64);
  const std::vector<std::string> lines = Told(ranks, [&] {
    for (const Session* s : {&one, &one, &other}) {
      HcclAllReduce(memory.data(), memory.data(), 4, static_cast<HcclDataType>(77), kSum,
                    s->comm(), s->stream());
    }
  });
  EXPECT_THAT(lines, AllOf(SizeIs(2 * one.size()), Contains(StartsWith(Me(one, "one"))),
                           Contains(StartsWith(Me(other, "other")))));
}

RANK_TEST(Speaking, OfCallsThatDiffer) {
  Session s(ranks, [](HcclCommConfig& c) { Name(c, "speaking"); });
  DeviceMemory memory(64);
  const std::vector<std::string> lines = Told(ranks, [&] {
    HcclAllReduce(memory.data(), memory.data(), 3 + s.rank() / (s.size() - 1), kFloat, kSum,
                  s.comm(), s.stream());
    EXPECT_NE(s.Synchronize(), 0);
  });
  ExpectOfEach(s, "speaking", lines, "operation #1 of communicator speaking differs");
  size_t in_full = 0;
  for (const std::string& line : lines) in_full += line.find("has the whole of it") == line.npos;
  EXPECT_EQ(in_full, 1u);
}

// Both ends know both calls: one tells, the other points to it.
RANK_TEST(Speaking, OfTransfersThatDiffer) {
  Session s(ranks, [](HcclCommConfig& c) { Name(c, "speaking"); });
  DeviceMemory memory(64);
  for (const uint64_t differ : {1u, 0u}) {  // in their count, in their type
    const std::vector<std::string> lines = Told(ranks, [&] {
      if (s.rank() == 0) HcclSend(memory.data(), 4, kFloat, 1, s.comm(), s.stream());
      if (s.rank() == 1)
        HcclRecv(memory.data(), 4 + differ, differ ? kFloat : HCCL_DATA_TYPE_INT32, 0, s.comm(),
                 s.stream());
      EXPECT_EQ(s.Synchronize() != 0, s.rank() < 2);
    });
    EXPECT_THAT(lines, AllOf(SizeIs(2), Each(HasSubstr(" from rank 0 to rank 1 of communicator "
                                                       "speaking differs between its ends"))));
    const std::string begin = s.rank() < 2 ? Me(s, "speaking") : "hcclrun: ";
    EXPECT_THAT(lines, Contains(StartsWith(begin)));
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("; this rank "), HasSubstr(". The message of rank "),
                                      HasSubstr("has the whole of it"))));
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("rank 0 sends with HcclSend (4 elements of fp32)"),
                                      HasSubstr("rank 1 receives with HcclRecv ("))));
  }
  ExpectSum(s.comm(), s.stream(), s.size());  // and goes on
}

RANK_TEST(Speaking, OfTimeouts) {
  Session s(ranks, [](HcclCommConfig& c) {
    Name(c, "speaking");
    c.hcclExecTimeOut = 1;
  });
  DeviceMemory memory(64);
  const std::vector<std::string> lines = Told(ranks, [&] {
    if (s.rank() + 1 == s.size()) return;
    HcclAllReduce(memory.data(), memory.data(), 4, kFloat, kSum, s.comm(), s.stream());
    EXPECT_NE(s.Synchronize(), 0);
  });
  EXPECT_THAT(lines, AllOf(SizeIs(s.size() - 1), Each(HasSubstr("aclrtSynchronizeStream: ")),
                           Each(HasSubstr("operation #1 of communicator speaking"))));
  const std::string begin = s.rank() + 1 < s.size() ? Me(s, "speaking") : "hcclrun: ";
  EXPECT_THAT(lines, Contains(StartsWith(begin)));
}

RANK_TEST(Speaking, OfWarnings) {
  Session s(ranks, [](HcclCommConfig& c) { Name(c, "speaking"); });
  DeviceMemory memory(64);
  const std::vector<std::string> lines = Told(ranks, [&] {
    EXPECT_EQ(HcclAllReduce(memory.data(), memory.data() + 4, 4, kFloat, kSum, s.comm(),
                            s.stream()),
              0);
    EXPECT_EQ(s.Synchronize(), 0);
  });
  ExpectOfEach(s, "speaking", lines, "warning: HcclAllReduce: ");
}

// A communicator that is not made has no name yet.
RANK_TEST(Speaking, OfCommunicatorsThatAreNotMade) {
  DeviceSession device(DeviceOf(ranks));
  HcclRootInfo info = {};
  const std::vector<std::string> lines = Told(ranks, [&] {
    HcclComm comm = nullptr;
    EXPECT_NE(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), 0);
  });
  const std::string rank = "rank " + std::to_string(ranks.rank());
  EXPECT_THAT(lines,
              AllOf(SizeIs(ranks.size()), Each(HasSubstr("HcclCommInitRootInfo: the root info ")),
                    Contains(StartsWith("hcclrun: " + rank +
                                        (ranks.threads() ? " of " + std::to_string(ranks.size())
                                                         : "") +
                                        ": "))));
  const std::vector<std::string> of_table = Told(ranks, [&] {
    HcclComm comm = nullptr;
    EXPECT_NE(HcclCommInitClusterInfo("/nothing.json", ranks.rank(), &comm), 0);
  });
  EXPECT_THAT(of_table, AllOf(SizeIs(ranks.size()), Each(HasSubstr("HcclCommInitClusterInfo: ")),
                              Contains(StartsWith("hcclrun: " + rank + ": "))));
}

// Ranks that are others in the job, or not all of it, are named as both; and of a name that the library has
// made a short form is shown.
RANK_TEST(Speaking, OfPartsAndOfNamesNobodyGave) {
  Session s(ranks);
  char whole[COMM_NAME_MAX_LENGTH] = {};
  REQUIRE_OK(HcclGetCommName(s.comm(), whole));
  EXPECT_THAT(whole, StartsWith("127.0.0.1%hcclrun_60000_"));
  std::vector<uint32_t> reversed;
  for (uint32_t r = s.size(); r > 0; r--) reversed.push_back(r - 1);
  HcclComm part = nullptr;
  const uint32_t mine = s.size() - 1 - s.rank();
  REQUIRE_OK(CreateSubComm(s.comm(), reversed, 7, mine, &part));
  DeviceMemory memory(64);
  const std::vector<std::string> lines = Told(ranks, [&] {
    HcclBroadcast(memory.data(), 4, kFloat, s.size(), part, s.stream());
  });
  std::vector<std::string> begins;
  const std::string rank = "rank " + std::to_string(mine) + " of communicator unnamed-";
  const std::string expected =
      ranks.threads() || mine == s.rank() ? "hcclrun: rank " + std::to_string(mine)
                                          : "hcclrun: rank " + std::to_string(s.rank()) + " (" + rank;
  EXPECT_THAT(lines, AllOf(SizeIs(s.size()), Contains(StartsWith(expected))));
  if (ranks.threads()) {
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr(rank), HasSubstr("_sub_7: "))));
  }
  REQUIRE_OK(HcclCommDestroy(part));
}

}  // namespace
}  // namespace hcclrun::testing
