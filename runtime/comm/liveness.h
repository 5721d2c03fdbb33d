#pragma once
// Notices ranks that end. A communicator watches the processes of its other ranks
// (shm/process_watch) and, at its own process' exit, says how it left, so that a peer can tell a
// clean exit from a death.
//
// A rank that is killed leaves its record in state kAlive: its watchers set the abort word. exit(n
// != 0) leaves kFailed: likewise. exit(0) leaves kExited and HcclCommDestroy kDestroyed: only
// operations that need the rank fail, when somebody waits for them (CannotPost, FirstGone).
// HcclCommDestroy does not wait for the operations called before it; a process that ends while it
// still owes some counts as if it had not destroyed the communicator.

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/control_block.h"
#include "comm/rendezvous_client.h"
#include "shm/process_watch.h"

namespace hcclrun {

class Liveness {
 public:
  Liveness(std::shared_ptr<const Membership> membership, uint32_t own_rank);
  // Watches all ranks of other processes. The membership is kept alive by the watches.
  Fault Watch();
  ~Liveness();  // after it no callback runs

 private:
  std::shared_ptr<const Membership> membership_;
  uint32_t own_rank_;
  std::vector<ProcessWatch::Id> watches_;
};

// The first rank that has left and can therefore not post operation `sequence`; kNoRank if all
// still can or have.
uint32_t CannotPost(const ControlView& view, uint64_t sequence);
// The first rank that has left its process; kNoRank if none. For waits in which every rank must
// still act.
uint32_t FirstGone(const ControlView& view);

}  // namespace hcclrun
