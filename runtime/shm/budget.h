#pragma once
// How much device memory the job may commit. Under hcclrun the account lies in the job page and is
// shared by all ranks; a process on its own keeps a private one. A charge also looks at what the
// machine has left right now (MemAvailable, cgroup limit), because a memfd has no quota of its own
// and an OOM kill explains nothing.
//
// The shared account is one counter per rank: only that rank adds and subtracts, everybody
// reads the sum; the launcher zeroes the counter of a rank that has ended. Two ranks may both
// pass the check and overshoot by their two requests: the machine check of the later one, made
// after its charge is visible, bounds the damage. Relaxed order suffices, no data is published
// through the counters.

#include <atomic>
#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class Budget {
 public:
  static Budget& Get();
  // kMemoryExhausted (requested, available, 0, used, limit) when there is no room.
  Fault Charge(uint64_t bytes);
  void Refund(uint64_t bytes);
  uint64_t limit() const { return limit_; }
  uint64_t used() const;       // by all ranks of the job
  uint64_t available() const;  // what a charge of this size could still get, about

 private:
  Budget();
  std::atomic<uint64_t> own_{0};
  std::atomic<uint64_t>* mine_;  // this process' counter
  std::atomic<uint64_t>* all_;   // all counters of the job
  uint32_t count_;
  uint64_t limit_;
  bool given_;  // the limit, by the user; otherwise it is what the machine had at the start
};

// Bytes of memory that this machine and its cgroups can still give to shared memory.
uint64_t MachineMemoryAvailable();

}  // namespace hcclrun
