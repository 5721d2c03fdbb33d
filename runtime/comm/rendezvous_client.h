#pragma once
// The client side of the rendezvous: from a root info to the mapped control block and heaps of all
// ranks.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fault.h"
#include "comm/control_block.h"
#include "comm/peer_heaps.h"
#include "comm/rendezvous.h"
#include "comm/root_info.h"

namespace hcclrun {

struct Membership {
  boost::interprocess::mapped_region control;
  ControlView view;
  std::vector<std::shared_ptr<MappedHeap>> heaps;  // by rank
};

// Blocks until all ranks are there and everybody has mapped everything, or nobody has a
// communicator (semantics D.2). `hello` carries this rank's part; its secret and magic are filled
// in here. `heap_fd` is the own heap's descriptor.
Result<Membership> JoinRendezvous(const RootInfo& info, Hello hello, int heap_fd);

}  // namespace hcclrun
