#pragma once
// Recorded calls in words. A "rank" is one of the job, as in the labels of output, unless the words
// say "of communicator ...".

#include <string>

#include "launcher/job_history.h"

namespace hcclrun {

// "HcclAllReduce #41 of communicator world", "HcclSend: send #3 to rank 1 of communicator tp (rank
// 5 of the job)", "HcclCommSymWinDeregister of communicator world after 2 operations".
std::string Text(const JobHistory& history, int rank, const RecordedCall& call);
// The same with count, type, reduction and root: "... (1024 fp32, sum)".
std::string TextWithFacts(const JobHistory& history, int rank, const RecordedCall& call);
// Without number and facts: "HcclAllReduce of communicator world".
std::string KindText(const JobHistory& history, int rank, const RecordedCall& call);

// Of a rank of a communicator that has been named: "rank 5 (rank 1 of the communicator)", or "rank
// 1" when it has the same number in the job. One that has left no note, or is a thread of several
// in a process, is "rank 1 of the communicator".
std::string MemberText(const JobHistory& history, const RecordedCommunicator& c, uint32_t member);

// "communicator world"; "a communicator" when it is not known any more.
std::string CommunicatorText(const RankHistory& rank, uint32_t comm);
// "4.1 s"
std::string Seconds(int64_t ns);

}  // namespace hcclrun
