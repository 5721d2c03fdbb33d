#include "comm/stall.h"

#include "base/clock.h"
#include "base/settings.h"

namespace hcclrun {
namespace {

// Written once, by check/ when the library is loaded; before any communicator exists.
std::atomic<StallTeller> g_tell{nullptr};

}  // namespace

void SetStallTeller(StallTeller tell) { g_tell.store(tell, std::memory_order_release); }

void TellStall(const Fault& fault) {
  if (StallTeller tell = g_tell.load(std::memory_order_acquire)) tell(fault);
}

bool StallWatch::Due(int64_t waiting_since_ns) {
  const int64_t limit_ms = Settings::Get().stall_note_ms;
  if (limit_ms == 0 || NowNs() - waiting_since_ns < limit_ms * 1'000'000) return false;
  return !told_.exchange(true, std::memory_order_relaxed);  // a flag of its own, orders nothing
}

}  // namespace hcclrun
