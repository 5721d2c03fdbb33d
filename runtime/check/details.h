#pragma once
// Sentences about several ranks at once.

#include <string>

#include "base/fault.h"

namespace hcclrun {

std::string MismatchSentence(const Fault& fault);
std::string WindowOffsetsSentence(const Fault& fault);
std::string ExecTimeoutSentence(const Fault& fault);
std::string WindowMismatchSentence(const Fault& fault);
std::string WindowMissingSentence(const Fault& fault);
// " after HcclAllReduce #41" for the rank that a fault names; "" when it is not known.
std::string DoingWhat(const Fault& fault);

}  // namespace hcclrun
