#pragma once
// The client side of the rendezvous: from a root info to the mapped control block and heaps
// of all ranks.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fault.h"
#include "comm/control_block.h"
#include "comm/peer_heaps.h"
#include "comm/rendezvous.h"
#include "comm/root_info.h"
#include "shm/memory_object.h"

namespace hcclrun {

struct Membership {
  MemoryObject object;  // the control block; its table of channels gets pages as pairs need them
  std::shared_ptr<boost::interprocess::mapped_region> control;
  ControlView view;
  std::vector<std::shared_ptr<MappedHeap>> heaps;  // by rank
};

// Blocks until all ranks are there and everybody has mapped everything, or nobody has a
// communicator (semantics D.2). `hello` carries this rank's part; its secret and magic are filled
// in here. `heap_fd` is the own heap's descriptor.
Result<Membership> JoinRendezvous(const RootInfo& info, Hello hello, int heap_fd);

// The same for a derived root info, as long as it takes: whoever comes first serves it, and when
// that process ends before the communicator is made, somebody else does. Join() runs on one thread,
// the rest may be called from others meanwhile.
class DerivedJoin {
 public:
  DerivedJoin(const RootInfo& info, Hello hello, int heap_fd);
  // Until everybody has come. A refusal is final.
  Result<Membership> Join();
  // Ends Join(), which returns a fault.
  void Cancel();
  // kRanksMissing with who has come; a fault without lists when the server does not answer in time.
  Fault WhoIsMissing(int64_t waited_ms);

 private:
  void Open(int socket);
  void Close();

  const RootInfo info_;
  Hello hello_;
  const int heap_fd_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  int socket_ = -1;        // guarded by mutex_: connected, owned by Join()
  bool all_came_ = false;  // guarded by mutex_: the server takes no questions any more
  uint64_t answers_ = 0;   // guarded by mutex_: arrivals received
  Fault arrivals_;         // guarded by mutex_: the last
  std::condition_variable answered_;
};

}  // namespace hcclrun
