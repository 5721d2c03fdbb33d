#pragma once
// A wait that has become long is told while it goes on: the user of a hanging program should not
// have to wait for the time-out to learn who is missing. check/, which has the sentences, installs
// the tellers.

#include <atomic>
#include <cstdint>

#include "base/fault.h"
#include "shm/recorder.h"

namespace hcclrun {

struct StallTellers {
  // The facts are those of the time-out's fault, with the time waited so far in n[1], milliseconds.
  void (*ranks)(const Fault&);
  void (*stream)(const Waiting&, int64_t waited_ms);
};
void SetStallTellers(const StallTellers* tellers);  // lives as long as the process

// A wait for other ranks. Any thread.
void TellStall(const Fault& fault);

// Only the first long wait is told, of a communicator or of all StreamStalls. Several threads may ask.
class StallWatch {
 public:
  // True once, for the first wait longer than HCCLRUN_STALL_NOTE.
  bool Due(int64_t waiting_since_ns);

 private:
  std::atomic<bool> told_{false};
};

// The wait of a stream for what no rank of a communicator has to do: an event, a notify, a value.
// One of each task, used by the thread that drives its stream.
class StreamStall {
 public:
  // Again and again while the wait goes on: keeps it in the records, and tells it when it is long.
  void Note(Waiter* waiter, const Waiting& wait);

 private:
  int64_t since_ns_ = 0;
};

}  // namespace hcclrun
