// The worker thread of a stream.
//
// It cares for a stream that has tasks and no driver. Waking a sleeping thread costs the waker a
// system call and the processor a switch, and in the common case a host thread comes and drives: so
// after a cheap start the worker is only asked to look (Wake::kSoon). A looking worker sleeps in
// short turns; it takes the role when the stream had tasks and no driver for one whole turn, during
// which nobody took the role either. While it looks, asking it again costs nothing. Where host
// threads keep taking the role its looks are in vain and become rarer. It falls into real sleep
// when it found nothing to do for kLooks turns.
//
// Workers are detached and hold a reference to their stream. At the end of the process they simply
// stop: what they use (tables, heaps) is never destroyed. All signals are blocked in them, so that
// the program's handlers run in its own threads.

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/log.h"
#include "base/quiet_thread.h"
#include "device/context.h"
#include "device/stream.h"

namespace hcclrun {
namespace {
constexpr std::chrono::microseconds kTurn{500}, kLongestTurn{4000};
constexpr int kLooks = 20;
}  // namespace

void Stream::TellWorker(Wake wake) {
  if (worker_state_ == Worker::kNone && !StartWorker()) return;
  if (worker_state_ == Worker::kUnavailable) return;
  if (wake == Wake::kNow) worker_now_ = true;
  if (worker_state_ == Worker::kAsleep || wake == Wake::kNow) worker_.notify_one();
}

void Stream::Kick() {
  Lock lock(mutex_);
  if (!tasks_.empty() && !driven_) TellWorker(Wake::kNow);
}

bool Stream::StartWorker() {
  worker_state_ = Worker::kLooking;
  std::thread worker;
  if (StartQuietThread([self = shared_from_this()] { self->WorkerLoop(); }, &worker)) {
    worker_state_ = Worker::kUnavailable;
    Tell(LogLevel::kWarning,
         "no thread can be started for a stream; its tasks run only inside synchronise calls (see "
         "ulimit -u)");
    return false;
  }
  worker.detach();
  return true;
}

void Stream::WorkerLoop() {
  char name[16];
  snprintf(name, sizeof name, "hcclrun-s%u", id_);
  pthread_setname_np(pthread_self(), name);
  Context::SetCurrentId(context_id_);  // for calls of the program's host functions
  Lock lock(mutex_);
  bool pending = false;  // undriven tasks at the last look
  uint64_t turns = 0;    // turns_ at the last look
  int idle = 0;
  std::chrono::microseconds turn = kTurn;
  for (;;) {
    bool undriven = !tasks_.empty() && !driven_;
    if (undriven && (worker_now_ || closed_ || (pending && turns == turns_))) {
      worker_now_ = false;
      Drive(lock, Driver::kWorker, UINT64_MAX, Deadline::Never());
      pending = false;
      idle = 0;
      continue;
    }
    if (closed_ && completed_ == queued_) return;
    if (!undriven) worker_now_ = false;
    turn = turns != turns_ ? std::min(turn * 2, kLongestTurn) : kTurn;
    pending = undriven;
    turns = turns_;
    idle = undriven ? 0 : idle + 1;
    if (idle <= kLooks) {
      worker_state_ = Worker::kLooking;
      worker_.wait_for(lock, turn);
    } else {
      worker_state_ = Worker::kAsleep;
      worker_.wait(lock);
      worker_state_ = Worker::kLooking;
      idle = 0;
    }
  }
}

}  // namespace hcclrun
