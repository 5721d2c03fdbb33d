#pragma once
// What would be a fault if hardware did not accept it is told, with the sentence of the fault, and
// the call goes on. check/, which has the sentences, installs the teller.

#include "base/call.h"
#include "base/fault.h"

namespace hcclrun {

using WarningTeller = void (*)(CallId, const Fault&);
void SetWarningTeller(WarningTeller tell);
// Any thread.
void TellWarning(CallId call, const Fault& fault);

}  // namespace hcclrun
