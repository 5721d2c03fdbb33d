#include "shm/stall.h"

#include "base/clock.h"
#include "base/settings.h"

namespace hcclrun {
namespace {

// Written once, by check/ when the library is loaded; before anything can wait.
std::atomic<const StallTellers*> g_tellers{nullptr};

StallWatch g_streams;  // of the process

}  // namespace

void SetStallTellers(const StallTellers* tellers) {
  g_tellers.store(tellers, std::memory_order_release);
}

void TellStall(const Fault& fault) {
  if (const StallTellers* tellers = g_tellers.load(std::memory_order_acquire))
    tellers->ranks(fault);
}

bool StallWatch::Due(int64_t waiting_since_ns) {
  const int64_t limit_ms = Settings::Get().stall_note_ms;
  if (limit_ms == 0 || NowNs() - waiting_since_ns < limit_ms * 1'000'000) return false;
  return !told_.exchange(true, std::memory_order_relaxed);  // a flag of its own, orders nothing
}

void StreamStall::Note(Waiter* waiter, const Waiting& wait) {
  Recorder::Wait(waiter, wait);
  if (since_ns_ == 0) {
    since_ns_ = NowNs();
  } else if (g_streams.Due(since_ns_)) {
    if (const StallTellers* tellers = g_tellers.load(std::memory_order_acquire))
      tellers->stream(wait, (NowNs() - since_ns_) / 1'000'000);
  }
}

}  // namespace hcclrun
