#pragma once
// Threads of the library's own. They take no signals: those belong to the program's threads. All
// but the ones that a thread gets for what it does itself, since host functions of the program run
// in some.

#include <pthread.h>
#include <signal.h>

#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fault.h"

namespace hcclrun {

// Starts `body` in *thread, which the caller joins or detaches. kSystem or kHostMemory when there is no thread to
// be had; `body` is destroyed then.
template <class Body>
Fault StartQuietThread(Body body, std::thread* thread) {
  sigset_t all, before;
  sigfillset(&all);
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited
  Fault fault;
  try {
    *thread = std::thread(std::move(body));
  } catch (const std::system_error& e) {
    fault = Fault(FaultKind::kSystem, {uint64_t(e.code().value())}, "start a thread");
  } catch (const std::bad_alloc&) {
    fault = Fault(FaultKind::kHostMemory, {0});
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return fault;
}

}  // namespace hcclrun
