#pragma once
// What the ranks did and wait for, as plain data: the launcher's private copy of the flight
// recorder (shm/recorder.h) at one moment. Everything that reports say comes from here. The numbers
// come from memory that ranks can write: names and enumerations are looked up with care, and
// nothing is used as an index unchecked.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collective/types.h"
#include "shm/job_page.h"
#include "shm/recorder.h"

namespace hcclrun {

// Times are NowNs(), 0 = not yet. In a copy of the recorder called <= posted <= started <=
// finished, and nobody has started before all have posted.
struct RecordedCall {
  uint64_t number = 0;
  OperationRecord::Kind kind = OperationRecord::kCollective;
  uint64_t sequence = 0, count = 0, bytes = 0;
  uint64_t in_window = UINT64_MAX, out_window = UINT64_MAX;
  int64_t called_ns = 0, posted_ns = 0, started_ns = 0, finished_ns = 0;
  uint32_t comm = 0, stream = 0, call = 0;
  int32_t thread = 0;
  uint32_t peer = kNoPeer;
  uint32_t fault = 0;
  uint8_t op = kNoOp, dtype = 0, reduce_op = 0, flags = 0;
  PathTaken path = PathTaken::kUnknown;
  uint8_t reason = 0;  // see RankHistory::reason()

  bool transfer() const {
    return kind == OperationRecord::kSend || kind == OperationRecord::kReceive;
  }
  bool collective() const { return kind == OperationRecord::kCollective; }
  bool reduces() const { return collective() && IsReduction(static_cast<Op>(op)); }
  bool uses_windows() const { return collective() && UsesWindows(static_cast<Op>(op)); }
  bool has_counts() const { return collective() && IsVOperation(static_cast<Op>(op)); }
  bool over() const { return kind == OperationRecord::kLocal || finished_ns != 0 || fault != 0; }
};

struct RecordedCommunicator {
  uint32_t id = 0;
  bool alive = false;
  uint64_t key = 0;
  uint32_t rank = 0, size = 0;
  uint64_t called = 0;
  uint64_t stage_bytes = 0;
  uint32_t servers = 1;
  std::string name;           // as texts show it (base/speaker.h)
  std::string whole_name;     // as HcclGetCommName says, cut
  std::vector<int> expected;  // ranks of the job that are to be members; empty: not known
};

struct RecordedWaiter {
  uint64_t id = 0;  // of the stream, or the thread
  WaitKind kind = WaitKind::kNothing;
  int64_t since_ns = 0;
  uint64_t sequence = 0, target = 0;
  uint32_t comm = 0, detail = 0;
  uint32_t call = 0;
  bool inside = false;
  int64_t entered_ns = 0;  // the call, or left it
  uint64_t queued = 0, completed = 0;
  uint32_t missing = 0;
  std::vector<uint32_t> ranks;  // the first of the missing ones
};

struct RankHistory {
  int32_t pid = 0;
  int32_t library_pid = 0;  // 0 = has not loaded the library
  bool started = false, ended = false, stopped = false;
  bool library_gone = false;  // the process that used the library has ended
  bool vanished = false;      // likewise, and not through exit()
  std::string end;  // "exit code 3", "SIGKILL"; empty while it runs
  uint64_t calls_recorded = 0;
  std::vector<RecordedCall> calls;  // the last ones, ascending
  std::vector<RecordedCommunicator> communicators;
  std::vector<RecordedWaiter> streams, threads;
  std::vector<std::string> reasons;

  // Why the call did not take the window path; "" when nothing spoke against it.
  const std::string& reason(const RecordedCall& call) const;
  const RecordedCommunicator* communicator(uint32_t id) const;
  const RecordedWaiter* stream(uint64_t id) const;
  const RecordedWaiter* thread(uint64_t id) const;
};

class JobHistory {
 public:
  int64_t start_ns = 0, now_ns = 0;
  std::vector<RankHistory> ranks;

  // The rank of the job that is rank `member` of the communicator, and its record of it.
  struct Member {
    int rank = -1;
    const RecordedCommunicator* communicator = nullptr;
  };
  Member MemberOf(uint64_t key, uint32_t member) const;
  // Some of its members are threads of one rank of the job, whose number then says too little.
  bool HasThreadsAsRanks(uint64_t key) const;
  const RecordedCall* FindCall(int rank, uint32_t comm, OperationRecord::Kind kind,
                               uint64_t sequence, uint32_t peer = kNoPeer) const;
  const RankHistory& rank(int number) const { return ranks[static_cast<size_t>(number)]; }

 private:
  // By key and rank of the communicator: the rank of the job, and the place in its list. Made by
  // the first look-up, after which communicators must not change.
  using Place = std::pair<size_t, size_t>;
  struct Members {
    std::unordered_map<uint32_t, Place> places;
    bool threads = false;
  };
  const Members* MembersOf(uint64_t key) const;
  mutable std::unordered_map<uint64_t, Members> members_;
};

// What the recorder holds; what only the launcher knows of its ranks is left empty.
JobHistory CopyHistory(const RecorderLayout& layout, size_t ranks, char* base);

// Makes the times of each operation consistent (RecordedCall): they come from the clocks of several
// processors, and who finds an operation done by others has not noted its beginning.
void SettleTimes(JobHistory* history);

}  // namespace hcclrun
