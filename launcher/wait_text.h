#pragma once
// What a rank's threads and streams do and wait for, in words; pure. Ranks are numbered as in
// launcher/call_text.h.

#include <string>

#include "launcher/job_history.h"

namespace hcclrun {

// Whether "since 4.0 s" is said. Ranks whose texts are equal without do the same.
enum class Times { kTold, kLeftOut };

// A stream waits if it has tasks and has said what for, a thread if it is in a call. What has ended
// waits for nothing.
bool StreamWaits(const RankHistory& rank, const RecordedWaiter& stream);
bool ThreadWaits(const RankHistory& rank, const RecordedWaiter& thread);

// What a thread or stream waits for, to follow its name: "is at HcclAllReduce #41 of communicator
// world (1024 fp32, sum) and waits for rank 3 since 4.0 s"; empty when it waits for nothing.
std::string StreamText(const JobHistory& history, int rank, const RecordedWaiter& stream,
                       Times times = Times::kTold);
std::string ThreadText(const JobHistory& history, int rank, const RecordedWaiter& thread,
                       Times times = Times::kTold);

// What a rank does, to follow its number: "is outside the library since 4.1 s, after ..."; `thread`
// is the one that is asked about, 0: any.
std::string DoingText(const JobHistory& history, int rank, uint64_t thread,
                      Times times = Times::kTold);

// That of all its threads and streams.
std::string RankText(const JobHistory& history, int rank, Times times = Times::kTold);

}  // namespace hcclrun
