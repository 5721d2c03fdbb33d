#pragma once
// Sentences about several ranks at once.

#include <string>

#include "base/fault.h"
#include "comm/details.h"

namespace hcclrun {

// Where a rank stands, to follow its number: "(last call HcclAllReduce #2)".
std::string Where(const RankPosition& position);

// "HcclAllReduce(count 4, fp32, sum)"
std::string CallText(const Descriptor& descriptor);

// Of a fault that all ranks have the same to tell of: where the first has told it, in place of the
// whole sentence; "" when this rank is the first.
std::string ToldElsewhere(const Fault& fault);

std::string MismatchSentence(const Fault& fault);
std::string WindowOffsetsSentence(const Fault& fault);
// The waits: `still` is for a wait that goes on, else it has ended by its time-out.
std::string ExecTimeoutSentence(const Fault& fault, bool still = false);
std::string WindowMismatchSentence(const Fault& fault);
std::string WindowMissingSentence(const Fault& fault, bool still = false);
// " after HcclAllReduce #41" for the rank that a fault names; "" when it is not known.
std::string DoingWhat(const Fault& fault);
// "rank 3 (pid 4711)", for the rank that a fault names.
std::string WhoLeft(const Fault& fault);
// "operation #42 of communicator world", in which this rank found that out.
std::string OperationIn(const Fault& fault);
std::string RankExitedSentence(const Fault& fault);

}  // namespace hcclrun
