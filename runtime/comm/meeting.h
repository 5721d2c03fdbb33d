#pragma once
// A communicator that is made without an exchange - from a rank table, or of ranks of another
// communicator - exists on its rank at once, and meets the other members behind the caller's back
// (semantics D.4, D.6). What needs them waits: the first operation, the first window. A member that
// does not come fails that call after the connect timeout, and not the communicator: the call may
// be repeated.
//
// One thread per meeting runs the rendezvous; it ends when the communicator is made,
// refused or destroyed.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fault.h"
#include "comm/rendezvous_client.h"

namespace hcclrun {

class Communicator;

// Of a sub-communicator: where its members come from.
struct Ancestry {
  std::weak_ptr<Communicator> parent;
  std::vector<uint32_t> ranks;  // in the parent, by sub rank; empty: there is no parent
};

class Meeting {
 public:
  // `comm` owns the meeting. `heap_fd` lives as long as the process.
  Meeting(Communicator* comm, const RootInfo& info, const Hello& hello, int heap_fd,
          Ancestry ancestry);
  ~Meeting();  // End()
  Fault Start();

  // Waits until the communicator has its members. Any thread.
  Fault Await();
  // The end of a meeting that failed for good; no fault while it goes on or after success.
  Fault Outcome();
  // Gives the meeting up; threads in Await() come back with a fault.
  void End();

 private:
  void Run();
  Fault Hopeless(bool* left);
  Fault MissingFault(int64_t waited_ms);

  Communicator* const comm_;
  const Ancestry ancestry_;
  DerivedJoin join_;
  std::thread thread_;
  std::mutex mutex_;
  bool done_ = false;  // guarded by mutex_
  Fault outcome_;      // guarded by mutex_
  std::condition_variable changed_;
};

}  // namespace hcclrun
