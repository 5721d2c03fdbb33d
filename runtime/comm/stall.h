#pragma once
// A wait that has become long is told while it goes on: the user of a hanging program should not
// have to wait for the time-out to learn who is missing. The facts are those of the time-out's
// fault; check/, which has the sentences, installs the teller.

#include <atomic>
#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

using StallTeller = void (*)(const Fault&);
void SetStallTeller(StallTeller tell);
// n[1] of the fault is the time waited so far, in milliseconds. Any thread.
void TellStall(const Fault& fault);

// Of one communicator: only its first long wait is told. Threads of several streams may ask.
class StallWatch {
 public:
  // True once, for the first wait longer than HCCLRUN_STALL_NOTE.
  bool Due(int64_t waiting_since_ns);

 private:
  std::atomic<bool> told_{false};
};

}  // namespace hcclrun
