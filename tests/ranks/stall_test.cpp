// Waits that become long are told while they go on, once per communicator, by one rank for all. Run
// with HCCLRUN_STALL_NOTE below a second. For processes: the notes are read from standard error.

#include <unistd.h>

#include <string>
#include <thread>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Standard error of this process, as a pipe.
class Stderr {
 public:
  Stderr() : old_(dup(STDERR_FILENO)) {
    REQUIRE_OK(pipe(pipe_));
    dup2(pipe_[1], STDERR_FILENO);
    close(pipe_[1]);
  }
  ~Stderr() {
    Restore();
    close(pipe_[0]);
  }
  // Blocks until a line has been written.
  std::string Line() {
    std::string line;
    char c;
    while (read(pipe_[0], &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  // What else was written.
  std::string Rest() {
    Restore();
    std::string rest;
    char c;
    while (read(pipe_[0], &c, 1) == 1) rest += c;
    return rest;
  }

 private:
  void Restore() {
    if (old_ < 0) return;
    dup2(old_, STDERR_FILENO);
    close(old_);
    old_ = -1;
  }
  int old_;
  int pipe_[2];
};

RANK_TEST(Stall, CollectiveNamesTheMissingRankOnce) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory memory(4096);
  auto all_reduce = [&] {
    return HcclAllReduce(memory.data(), memory.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                         s.comm(), s.stream());
  };
  const uint32_t last = s.size() - 1;
  if (s.rank() == 0) {
    Stderr error;
    for (int i = 0; i < 2; ++i) {
      if (i == 0) ranks.Meet();  // those in the middle have called
      ASSERT_EQ(all_reduce(), HCCL_SUCCESS);
      if (i == 0) {
        const std::string note = error.Line();
        EXPECT_THAT(note, HasSubstr("operation #1 of communicator"));
        EXPECT_THAT(note, HasSubstr("has waited"));
        EXPECT_THAT(note, HasSubstr("missing: rank " + std::to_string(last) +
                                    " (no call on this communicator yet)"));
      }
      ranks.Meet();
      EXPECT_EQ(s.Synchronize(), 0);
    }
    EXPECT_EQ(error.Rest(), "");
  } else {
    for (int i = 0; i < 2; ++i) {
      HcclResult result = HCCL_SUCCESS;
      if (s.rank() != last) result = all_reduce();
      if (i == 0) ranks.Meet();
      ranks.Meet();
      if (s.rank() == last) result = all_reduce();
      EXPECT_EQ(result, HCCL_SUCCESS);
      EXPECT_EQ(s.Synchronize(), 0);
    }
  }
}

RANK_TEST(Stall, TransferNamesItsPeer) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory memory(4096);
  if (s.rank() == 0) {
    Stderr error;
    ASSERT_EQ(HcclSend(memory.data(), 4, HCCL_DATA_TYPE_INT32, 1, s.comm(), s.stream()),
              HCCL_SUCCESS);
    const std::string note = error.Line();
    EXPECT_THAT(note, HasSubstr("transfer #1 from rank 0 to rank 1"));
    EXPECT_THAT(note, HasSubstr("has called 0 receives from rank 0"));
    ranks.Meet();
    EXPECT_EQ(s.Synchronize(), 0);
  } else {
    ranks.Meet();
    if (s.rank() == 1) {
      ASSERT_EQ(HcclRecv(memory.data(), 4, HCCL_DATA_TYPE_INT32, 0, s.comm(), s.stream()),
                HCCL_SUCCESS);
    }
    EXPECT_EQ(s.Synchronize(), 0);
  }
}

// What a stream waits for in the process itself, or another one; of these the first alone.
RANK_TEST(Stall, AnEventThatNobodyRecords) {
  Session s(ranks);
  if (s.rank() != 0) return;
  aclrtStream recording = nullptr;
  REQUIRE_OK(aclrtCreateStream(&recording));
  Stderr error;
  for (bool first : {true, false}) {
    aclrtEvent event = nullptr;
    REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    ASSERT_EQ(aclrtStreamWaitEvent(s.stream(), event), 0);
    if (first) {
      const std::string note = error.Line();
      EXPECT_THAT(note, HasSubstr("a stream has waited 0."));
      EXPECT_THAT(note, HasSubstr("for an event that nobody has recorded; call aclrtRecordEvent"));
    } else {  // more than HCCLRUN_STALL_NOTE
      EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(s.stream(), 700),
                ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    }
    ASSERT_EQ(aclrtRecordEvent(event, recording), 0);
    EXPECT_EQ(s.Synchronize(), 0);
    REQUIRE_OK(aclrtDestroyEvent(event));
  }
  EXPECT_THAT(error.Rest(), Not(HasSubstr("a stream has waited")));
  REQUIRE_OK(aclrtDestroyStream(recording));
}

RANK_TEST(Stall, RegistrationNamesTheMissingRank) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  MappedMemory memory(s.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  auto enroll = [&] {
    return HcclCommSymWinRegister(s.comm(), memory.data(), memory.size(), &window, 1);
  };
  if (s.rank() == 0) {
    Stderr error;
    std::string note;
    // The note comes while the call waits; the last rank comes when rank 0 has said so.
    std::thread reader([&] {
      note = error.Line();
      ranks.Meet();
    });
    EXPECT_EQ(enroll(), HCCL_SUCCESS);
    reader.join();
    EXPECT_THAT(note, HasSubstr("registration #1"));
    EXPECT_THAT(note, HasSubstr("missing: rank " + std::to_string(s.size() - 1)));
  } else if (s.rank() == s.size() - 1) {
    ranks.Meet();
    EXPECT_EQ(enroll(), HCCL_SUCCESS);
  } else {
    std::thread meeting([&] { ranks.Meet(); });
    EXPECT_EQ(enroll(), HCCL_SUCCESS);
    meeting.join();
  }
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

}  // namespace
}  // namespace hcclrun::testing
