#pragma once
// Packets between the launcher and the rank shim, the process that mpirun starts in place of each
// rank of an MPI program (rank_shim.h). They travel over the job's lifeline socket; the first one
// has a magic number of its own.
//
//   shim: ShimHello      -> launcher: ShimWelcome with the rank's stdin, stdout and stderr
//   shim: ShimReport kStarted (pid) or kNotStarted (exit code and why)
//   shim: ShimReport kEnded (wait status)
//   launcher, at any time: ShimOrder kSignal (number)
//   launcher: ShimOrder kLeave      -> the shim exits
// The end of the connection means on either side that the other one died. Both ends are the same
// binary, so the layout needs no version.

#include <cstdint>

namespace hcclrun {

inline constexpr uint64_t kShimMagic = 0x6863636c73686d31;  // "hcclshm1"

struct ShimHello {
  uint64_t magic;
  int32_t rank;
  int32_t size;  // as MPI sees it, 0 = not told
  int32_t pid;
  char secret[64];  // hex, padded with NUL
};

struct ShimWelcome {
  uint64_t magic;
  // 0 = welcome with descriptors, 1 = wrong secret, 2 = rank out of range or taken
  uint32_t status;
};

struct ShimReport {
  enum Kind : uint32_t { kStarted = 1, kNotStarted = 2, kEnded = 3 };
  uint32_t kind;
  int32_t value;  // pid, the exit code that a shell would give, or wait status
  char why[512];  // with kNotStarted: the sentence for the user, padded with NUL
};

struct ShimOrder {
  enum Kind : uint32_t { kSignal = 1, kLeave = 2 };
  uint32_t kind;
  int32_t signal;
};

}  // namespace hcclrun
