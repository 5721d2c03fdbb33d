#pragma once
// Which path an operation takes: straight between registered windows, or through the HCCL buffers
// (semantics A.10). A rank decides about itself; the operation takes the window path only if every
// rank says so.

#include <cstdint>
#include <string>

#include "comm/communicator.h"

namespace hcclrun {

struct PathChoice {
  bool window = false;  // items 1-7 hold on this rank
  // They hold, but this rank's buffers overlap so that the input must be staged.
  bool unsafe = false;
  const char* reason = "";  // the first item that does not hold, for explanations
};

// Strict determinism (semantics C.4) concerns this reduction: it has algorithms of its own on
// hardware, which use no windows. Results are deterministic here in any case.
bool IsStrict(const Communicator& comm, const OpRequest& request);
// What those algorithms cannot do is refused, as on hardware.
Fault CheckStrict(const Communicator& comm, const OpRequest& request);

PathChoice ChoosePath(Communicator& comm, const OpRequest& request, const Buffer& in,
                      const Buffer& out);

// HCCLRUN_EXPLAIN=1: one line on standard error.
void Explain(Communicator& comm, const OpRequest& request, uint64_t sequence,
             const PathChoice& choice);

}  // namespace hcclrun
