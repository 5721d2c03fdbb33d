#pragma once
// The paragraph that says how a job ended. Every sentence of it is in verdict.cpp; this is pure:
// facts in, text out.

#include <cstdint>
#include <string>
#include <vector>

#include "shm/job_page.h"

namespace hcclrun {

// What was known of a rank at the moment of the first failure. The fields of the library come from
// shared memory that ranks can write: copied once, and never trusted to be in range.
struct RankNote {
  bool started = false;
  bool ended = false;
  int32_t pid = 0;            // of the process that the launcher started
  int32_t library_pid = 0;    // of the process that loaded the library, 0 = none did
  bool library_gone = false;  // that process has ended
  bool stopped = false;       // by a signal: state T
  uint32_t call = 0;          // CallId
  bool inside = false;
  uint64_t sequence = 0;
  bool numbered =
      true;  // the collective that has not returned has `sequence` as its number already
  uint32_t waiting = 0;
  int32_t waiting_for = -1;
  // Why a call failed because of another rank, or of calls that differ, if one did.
  std::string blame;
  bool blames_another = false;

  void CopyActivity(const RankActivity& activity);
  // Afterwards: of a collective that has not returned, whether it has got a number, and which.
  void CopyNumber(const RecorderView& recorded);
};

struct VerdictFacts {
  enum class Cause {
    kRankFailed,   // rank, status
    kTimeout,      // timeout_text
    kSignalled,    // signal: sent to the launcher
    kRankRefused,  // rank, detail: could not be started
    kMpi,          // detail: mpirun failed, or the program is MPI and was not started by mpirun
  };
  Cause cause = Cause::kRankFailed;
  int rank = -1;
  int status = 0;  // as wait() reports it
  int signal = 0;
  std::string timeout_text;  // "2.5"
  std::string detail;
  std::vector<RankNote> ranks;
  int failed_afterwards = 0;  // on their own
  int ended_by_us = 0;
  bool as_asked = false;       // --kill names this rank
  bool out_of_memory = false;  // the kernel killed a process for lack of memory while the job ran
  // A rank whose library process vanished before the failure above, though the rank's own process
  // went on; -1 = none.
  int vanished_rank = -1;
  std::string log_directory;
  int exit_code = 1;
};

// One paragraph, without a newline at its end.
std::string Verdict(const VerdictFacts& facts);

// Of a wait status: the code itself, or 128 + signal.
int ExitCodeOf(int status);

}  // namespace hcclrun
