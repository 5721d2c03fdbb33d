#pragma once
// Whether the ranks of a communicator should yield while they wait, or sleep at once.
//
// A yield that comes back late, by a time slice, says that somebody computes on this processor.
// That may be another rank between two operations: then the next waits are short again, and to
// sleep in them would make operations many times slower. Or it is a foreign program, which takes
// whole slices from everybody who yields to it, and sleeping is many times quicker. So a rank that
// finds several operations with late yields has all ranks sleep for a while, and compares the time
// of an operation in both modes. Is it much shorter, they go on sleeping, longer each time, as long
// as that is still so afterwards; if not, the rank waits for more late yields before it tries again.
//
// The arithmetic of that, of one rank, without a clock and without shared memory: times are of
// NowNs(), `done` counts the operations that the rank is done with. Not thread-safe.

#include <cstdint>

namespace hcclrun {

class WaitMode {
 public:
  // A yield of this rank came back late; `late`: operations in which one of any rank has, so far,
  // with this one. Returns until when all ranks shall sleep; 0: go on.
  int64_t Late(int64_t now_ns, uint64_t done, uint64_t late);
  // Ranks sleep until `until_ns`, which is later than now, whoever has said so.
  void Sleeping(int64_t until_ns, int64_t now_ns);
  // The word says that nobody sleeps any more: as Late(), if this rank has said it.
  int64_t Over(int64_t now_ns, uint64_t done);

  // What this rank has said or adopted last.
  int64_t until_ns() const { return until_ns_; }

  static constexpr int64_t kLongestSleepNs = 800'000'000;

 private:
  enum class State { kYields, kTries, kSleeps };
  static constexpr int64_t kMs = 1'000'000;
  static constexpr int64_t kTryNs = 5 * kMs, kLongestTryNs = 40 * kMs, kFirstSleepNs = 50 * kMs;
  static constexpr int64_t kForgetNs = 500 * kMs;  // late yields further apart have no connection
  static constexpr int64_t kWorthNs = 20'000;      // quicker operations are quick enough
  static constexpr uint64_t kFewLate = 3, kManyLate = 64, kUnknown = UINT64_MAX;

  void Begin(int64_t now_ns, uint64_t done, uint64_t late);
  int64_t PerOperation(int64_t now_ns, uint64_t done) const;
  bool Gains(int64_t now_ns, uint64_t done) const;
  void FailedToGain();

  State state_ = State::kYields;
  bool begun_ = false;  // the next three are the start of what is measured
  int64_t begin_ns_ = 0;
  uint64_t begin_done_ = 0;
  uint64_t begin_late_ = 0;  // operations with a late yield before; kUnknown: all but the next one
  int64_t last_late_ns_ = 0;
  uint64_t late_to_try_ = kFewLate;
  int64_t yielding_ns_ = 0;  // per operation, before the try; 0: another rank has tried
  int64_t sleep_ns_ = kFirstSleepNs;
  int64_t until_ns_ = 0;
};

}  // namespace hcclrun
