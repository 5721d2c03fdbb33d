#pragma once
// Where the processes of one job with faults meet, besides what is tested: the driver
// (step_faults.cpp), which makes it and reads it, the ranks (stepping_rank.cpp) and the steps in
// their core (steps.cpp). Shared memory, all zero at first, opened through HCCLRUN_STEP_BOARD.

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace hcclrun::testing {

inline constexpr int kBoardRanks = 8;
inline constexpr int kBoardRounds = 64;

enum class RankEnd : uint32_t { kNone = 0, kFinished = 1, kFailed = 2, kWrong = 3 };

struct StepBoard {
  struct Rank {
    std::atomic<int32_t> pid;
    std::atomic<RankEnd> end;  // stored last
    std::atomic<int64_t> at_ns;
    char text[4096];  // what its library says of the failure, or what is wrong
  };
  std::atomic<int64_t> doomed_ns;  // when the fault happened; 0: not (yet)
  std::atomic<int32_t> doomed_pid;
  std::atomic<uint32_t> lost;                  // the rank will not go on: nobody waits for its end
  std::atomic<uint32_t> ended;                 // ranks that have an end
  std::atomic<uint32_t> rounds[kBoardRounds];  // ranks that have come to the end of a round
  Rank ranks[kBoardRanks];

  static int64_t Now() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  }

  // Null without the variable.
  static StepBoard* Open() {
    const char* path = std::getenv("HCCLRUN_STEP_BOARD");
    if (!path) return nullptr;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return nullptr;
    void* memory = mmap(nullptr, sizeof(StepBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? nullptr : static_cast<StepBoard*>(memory);
  }
};

}  // namespace hcclrun::testing
