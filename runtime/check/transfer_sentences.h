#pragma once
// Sentences about a send and its receive.

#include <string>

#include "base/fault.h"

namespace hcclrun {

std::string TransferMismatchSentence(const Fault& fault);
// Where the other end has told it: in place of the sentence; "" when this rank is the first.
std::string TransferToldElsewhere(const Fault& fault);
// `still`: the wait goes on, else it has ended by its time-out.
std::string TransferTimeoutSentence(const Fault& fault, bool still = false);
std::string TransferGoneSentence(const Fault& fault);

}  // namespace hcclrun
