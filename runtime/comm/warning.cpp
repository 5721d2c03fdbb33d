#include "comm/warning.h"

#include <atomic>

namespace hcclrun {
namespace {

std::atomic<WarningTeller> g_teller{nullptr};

}  // namespace

void SetWarningTeller(WarningTeller tell) { g_teller.store(tell, std::memory_order_release); }

void TellWarning(CallId call, const Fault& fault) {
  if (WarningTeller tell = g_teller.load(std::memory_order_acquire)) tell(call, fault);
}

}  // namespace hcclrun
