// Sentences of faults: what they say of values, and that none leaves its reader without advice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/call.h"
#include "base/not_allowed.h"
#include "base/speaker.h"
#include "check/answer.h"
#include "check/details.h"
#include "check/fault_table.h"
#include "check/report.h"
#include "collective/types.h"
#include "comm/details.h"

namespace hcclrun {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Sentences, NegativeArgumentsAreShownAsTheyWereGiven) {
  EXPECT_EQ(SentenceOf(Fault(FaultKind::kBadValue, {uint64_t(int64_t{-2}), 1, 8}, "height")),
            "height is -2; it must lie between 1 and 8");
  EXPECT_THAT(
      SentenceOf(Fault(FaultKind::kBadEnum, {uint64_t(int64_t{-1}), 0, 3}, "op")),
      HasSubstr("op is -1, which its enumeration does not have; it must lie between 0 and 3"));
}

TEST(Sentences, ASingleLegalValueIsNoRange) {
  EXPECT_EQ(SentenceOf(Fault(FaultKind::kBadValue, {5, 4, 4}, "recvCount")),
            "recvCount is 5; it must be 4");
  EXPECT_EQ(SentenceOf(Fault(FaultKind::kBadValue, {5, 0, 0}, "flags")),
            "flags is 5; it must be 0");
}

TEST(Sentences, AReasonOfItsOwnStandsAlone) {
  EXPECT_EQ(SentenceOf(NotAllowed("recvBuf equals sendBuf; pass two separate buffers")),
            "recvBuf equals sendBuf; pass two separate buffers");
}

TEST(Sentences, ExhaustionTellsUseFromPeak) {
  const uint64_t mib = 1 << 20;
  const std::string s = SentenceOf(Fault(
      FaultKind::kMemoryExhausted, {8 * mib, 2 * mib, mib, 30 * mib, 32 * mib, 31 * mib}, "X"));
  EXPECT_THAT(s, HasSubstr("30 MiB of 32 MiB are in use (at most 31 MiB were)"));
  EXPECT_THAT(s, HasSubstr("raise X"));
}

TEST(Sentences, NoMemoryOfUnknownSizeIsNotZeroBytes) {
  EXPECT_THAT(SentenceOf(Fault(FaultKind::kHostMemory, {0})), Not(HasSubstr("0 bytes")));
}

TEST(Speaker, IsTheRankOfTheJobOrThatOfTheCommunicator) {
  const Speaker world = {2, 4, "world"}, part = {1, 2, "tp"}, unmade = {1, 3, ""};
  EXPECT_EQ(WhoSpeaks(world, 2, 4), "rank 2");
  EXPECT_EQ(WhoSpeaks(part, 3, 4), "rank 3 (rank 1 of communicator tp)");
  EXPECT_EQ(WhoSpeaks(part, 1, 4), "rank 1 (rank 1 of communicator tp)");
  EXPECT_EQ(WhoSpeaks({}, 3, 4), "rank 3");
  // Threads of a job's only process, and processes that nobody has numbered.
  EXPECT_EQ(WhoSpeaks(world, 0, 1), "rank 2 of communicator world");
  EXPECT_EQ(WhoSpeaks({}, 0, 1), "rank 0");
  EXPECT_EQ(WhoSpeaks({0, 1, "alone"}, 0, 1), "rank 0");
  EXPECT_EQ(WhoSpeaks(world, -1, 0), "rank 2 of communicator world");
  EXPECT_EQ(WhoSpeaks(unmade, -1, 0), "rank 1 of 3");
  EXPECT_EQ(WhoSpeaks({}, -1, 0), "");
  EXPECT_EQ(WhoSpeaks({3, kSomeRanks, ""}, -1, 0), "rank 3");
  EXPECT_EQ(WhoSpeaks({3, kSomeRanks, ""}, 3, 4), "rank 3");
  EXPECT_EQ(WhoSpeaks({3, kSomeRanks, ""}, 1, 4), "rank 1 (rank 3)");
}

TEST(Speaker, ThoseOfLiveCommunicatorsAndTheLatestAreKnown) {
  const uint32_t first = AddSpeaker({5, 8, "first"});
  EXPECT_EQ(SpeakerOf(first).communicator, "first");
  uint32_t last = 0;
  for (uint32_t i = 0; i < 2 * kKeptSpeakers; i++) {
    last = AddSpeaker({i % kKeptSpeakers, kKeptSpeakers, "more"});
    RetireSpeaker(last);
  }
  EXPECT_EQ(SpeakerOf(first).communicator, "first");  // its communicator lives
  RetireSpeaker(first);
  EXPECT_EQ(SpeakerOf(first).communicator, "first");
  for (uint32_t i = 0; i < kKeptSpeakers; i++) {
    last = AddSpeaker({i, kKeptSpeakers, "more"});
    RetireSpeaker(last);
  }
  EXPECT_EQ(SpeakerOf(first).ranks, 0u);
  EXPECT_EQ(SpeakerOf(last).rank, kKeptSpeakers - 1);
  EXPECT_EQ(SpeakerOf(0).ranks, 0u);
  EXPECT_EQ(SpeakerOf(last + 1).ranks, 0u);
}

TEST(Speaker, NamesThatNobodyGaveAreShort) {
  EXPECT_EQ(ShownName("127.0.0.1%hcclrun_60000_3_4711.173692313.0"), "unnamed-1@4711");
  EXPECT_EQ(ShownName("127.0.0.1%hcclrun_60000_3_4711.173692313.1_sub_5"), "unnamed-2@4711_sub_5");
  EXPECT_EQ(ShownName("127.0.0.1%hcclrun_60000_0_1f3a.0"), "unnamed-1");  // --shared-root-info
  for (const char* given : {"", "world", "127.0.0.1%hcclrun_60000_", "127.0.0.1%hcclrun_60000_0",
                            "127.0.0.1%hcclrun_60000_0_", "127.0.0.1%hcclrun_60000_0_4711",
                            "10.0.0.1%eth0_60000_0_4711.173692313.0"})
    EXPECT_EQ(ShownName(given), given);
}

TEST(Answer, NoExceptionLeavesACall) {
  const auto answer = [](auto body) {
    return AnswerCall(CallId::HcclBarrier, false, &ApiCall::Hccl, body);
  };
  EXPECT_EQ(answer([]() -> Fault { throw std::bad_alloc(); }), 3);
  EXPECT_EQ(answer([]() -> Fault {
              throw std::system_error(std::make_error_code(std::errc::too_many_files_open));
            }),
            4);
  EXPECT_EQ(answer([]() -> Fault { throw 5; }), 4);
  EXPECT_EQ(answer([] { return Fault::None(); }), 0);
}

// What to do stands behind a semicolon, or is the sentence itself.
TEST(Sentences, EveryKindGivesAdvice) {
  for (int k = 1; k <= static_cast<int>(FaultKind::kInternal); ++k) {
    const auto kind = static_cast<FaultKind>(k);
    EXPECT_EQ(RowOf(kind).kind, kind);
    switch (kind) {
      case FaultKind::kRepeatedInit:  // nothing is wrong
      case FaultKind::kRepeatedFinalize:
      case FaultKind::kNotInitialised:  // these name what is missing
      case FaultKind::kNoContext:
      case FaultKind::kEnvironment:  // their texts carry it
      case FaultKind::kNotSupported:
      case FaultKind::kForeignHandle:
      case FaultKind::kRendezvousRefused:
      case FaultKind::kRankTable:
      case FaultKind::kConfigInvalid:
      case FaultKind::kCommBroken:
      case FaultKind::kCopyKind:
      case FaultKind::kRuntimeCall:
      case FaultKind::kWindowNotFound:  // an expected answer
      case FaultKind::kMismatch:        // these need their details
      case FaultKind::kExecTimeout:
      case FaultKind::kRankDied:
      case FaultKind::kTransferMismatch:
      case FaultKind::kTransferTimeout:
      case FaultKind::kTransferGone:
      case FaultKind::kWindowMismatch:
      case FaultKind::kWindowMissingRank:
      case FaultKind::kWindowOffsets:
        continue;
      default:
        EXPECT_THAT(SentenceOf(Fault(kind, {5, 6, 7, 8, 9}, "parameter")),
                    AnyOf(HasSubstr("; "), HasSubstr("allocate it with"), HasSubstr("(destMax)"),
                          HasSubstr("but the communicator's device"), HasSubstr("reaches beyond"),
                          HasSubstr("which a symmetric window needs"),
                          HasSubstr("in one reservation of aclrtReserveMemAddress"),
                          HasSubstr("never created here"), HasSubstr("HCCLRUN_DEVICE_COUNT"),
                          HasSubstr("ACL_EVENT_TIME_LINE")))
            << k;
    }
  }
}

TEST(Sentences, AnOperationAndARegistrationThatWaitForEachOther) {
  auto detail = std::make_shared<OpDetail>();
  detail->communicator = "world";
  detail->ranks = 3;
  detail->sequence = 40;
  for (uint32_t r = 0; r < 3; r++) {
    OpDetail::Call call{};
    call.position.rank = r;
    call.posted = r == 1;
    call.position.issued = call.posted ? 41 : 40;
    call.position.windows = call.posted ? 1 : 2;
    call.position.call =
        static_cast<uint32_t>(call.posted ? CallId::HcclBarrier : CallId::HcclCommSymWinRegister);
    call.descriptor.call = call.position.call;
    detail->calls.push_back(call);
  }
  Fault fault(FaultKind::kExecTimeout, {40, 1500});
  fault.detail = detail;
  EXPECT_THAT(SentenceOf(fault),
              HasSubstr("waited 1.5 s; rank 1 is there, missing: ranks 0,2 (last call "
                        "HcclCommSymWinRegister #2); HcclCommSymWinRegister #2 waits for rank 1"));
}

// Of one operation of communicator "tp"; ranks that have not posted have destroyed the
// communicator.
std::shared_ptr<OpDetail> Detail(const std::vector<bool>& posted) {
  auto detail = std::make_shared<OpDetail>();
  detail->communicator = "tp";
  detail->ranks = static_cast<uint32_t>(posted.size());
  detail->sequence = 63;
  for (uint32_t r = 0; r < posted.size(); r++) {
    OpDetail::Call call{};
    call.position.rank = r;
    call.position.call = static_cast<uint32_t>(CallId::HcclAllReduce);
    call.position.issued = 63;
    call.position.state = posted[r] ? RankState::kAlive : RankState::kDestroyed;
    call.posted = posted[r];
    call.descriptor.op = static_cast<uint8_t>(r == 2 ? Op::kBarrier : Op::kAllReduce);
    call.descriptor.call =
        static_cast<uint32_t>(r == 2 ? CallId::HcclBarrier : CallId::HcclAllReduce);
    call.descriptor.count = 16;
    call.descriptor.dtype = static_cast<uint8_t>(DataType::kFp32);
    detail->calls.push_back(call);
  }
  return detail;
}

TEST(Sentences, ADestroyedCommunicatorIsNotARankThatHasLeft) {
  Fault fault(FaultKind::kRankExited, {0, 77, 63});
  fault.detail = Detail({false});
  EXPECT_THAT(SentenceOf(fault),
              HasSubstr("rank 0 (pid 77) has destroyed the communicator after its call of "
                        "HcclAllReduce #63, but operation #64 of communicator tp needs it"));
}

TEST(Sentences, ATransferThatWasGivenUpIsNoOperationThatNobodyHasCalled) {
  Fault fault(FaultKind::kExecTimeout, {63, 0, 1 + 1});
  fault.detail = Detail({false, false});
  EXPECT_EQ(SentenceOf(fault),
            "communicator tp is out of use: rank 1 has given up a send or receive after "
            "HCCL_EXEC_TIMEOUT; see its message");
  fault.n[2] = 0;
  EXPECT_THAT(SentenceOf(fault), HasSubstr("; no rank is there, missing: ranks 0-1 ("));
}

// One stands still between the call and its arrival, say.
TEST(Sentences, ARegistrationThatAllHaveCalledMissesNobody) {
  auto detail = std::make_shared<WindowDetail>();
  detail->communicator = "tp";
  for (uint32_t r = 0; r < 2; r++) {
    WindowDetail::Call call{};
    call.position.rank = r;
    call.came = true;
    detail->calls.push_back(call);
  }
  Fault fault(FaultKind::kWindowMissingRank, {0, 1000});
  fault.detail = detail;
  EXPECT_EQ(SentenceOf(fault),
            "registration #1 of communicator tp waited 1.0 s although all ranks have called it: one "
            "of them has given up before the others came, or is very slow; windows of this "
            "communicator are out of use now");
}

TEST(Sentences, TheFirstRankToTellTellsAll) {
  auto detail = Detail({true, true, true});
  detail->own_rank = 1;
  Fault fault(FaultKind::kMismatch, {63});
  fault.detail = detail;
  EXPECT_EQ(ToldElsewhere(fault), "");
  detail->claim_telling = [] { return kNoRank; };
  EXPECT_EQ(ToldElsewhere(fault), "");
  detail->claim_telling = [] { return 2u; };
  EXPECT_EQ(ToldElsewhere(fault),
            "operation #64 of communicator tp differs between ranks; this rank called "
            "HcclAllReduce(count 16, fp32, sum). The message of rank 2 has the whole of it");
}

TEST(Sentences, CallsThatAreShiftedByOneAreCalledThat) {
  auto detail = Detail({true, true, true});
  detail->shift = Shift{60, {0, 1}, {2}, false};
  Fault fault(FaultKind::kMismatch, {63});
  fault.detail = detail;
  EXPECT_THAT(SentenceOf(fault),
              HasSubstr("ranks 0-1 called HcclAllReduce(count 16, fp32, sum); rank 2 called "
                        "HcclBarrier; rank 2 seems to have left a call out (before, #61 was like "
                        "the call of ranks 0-1, #62 like that of rank 2); the operation failed"));
  EXPECT_THAT(SentenceOf(fault), HasSubstr(". It was called in stream 0 by ranks 0-2"));
  detail->shift = Shift{60, {2}, {0, 1}, false};
  EXPECT_THAT(SentenceOf(fault), HasSubstr("; rank 2 seems to have made a call too many ("));
  detail->shift->either = true;
  EXPECT_THAT(SentenceOf(fault), HasSubstr("; the calls of rank 2 seem to be shifted by one"));
}

}  // namespace
}  // namespace hcclrun
