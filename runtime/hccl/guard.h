#pragma once
// What every HCCL entry point does around its body: refuse in a forked child, note the call, turn
// the fault into a result code, let no exception out; and that a message about a communicator says
// whose it is.

#include <utility>

#include "base/call.h"
#include "base/fault.h"
#include "base/fork_guard.h"
#include "check/answer.h"
#include "comm/comm_table.h"
#include "hccl/hccl_types.h"

namespace hcclrun {

template <class Body>
HcclResult Guarded(CallId id, Body body, bool noted = true) noexcept {
  if (InForkedChild()) return HCCL_E_UNAVAIL;
  return static_cast<HcclResult>(AnswerCall(id, noted, &ApiCall::Hccl, std::move(body)));
}

// Of a call about `comm`, which may be no communicator, or one no more when the body has been run.
template <class Body>
HcclResult Guarded(CallId id, HcclComm comm, Body body, bool noted = true) noexcept {
  return Guarded(
      id,
      [&]() -> Fault {
        Fault fault = body();
        if (fault) [[unlikely]]
          fault.SaidBy(SpeakerOfCommunicator(comm));
        return fault;
      },
      noted);
}

inline Fault Null(const char* parameter) { return Fault(FaultKind::kNullArgument, parameter); }

}  // namespace hcclrun
