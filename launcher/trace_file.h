#pragma once
// The history as a file for Perfetto (ui.perfetto.dev) or chrome://tracing: JSON of the Trace Event
// Format. A process per rank; in it a lane per thread, on which calls are marks, and a lane per
// stream, on which operations wait and run. Arrows lead from a call to its operation, and from the
// call of the rank that came last to the operations that it set free.

#include <string>

#include "launcher/job_history.h"

namespace hcclrun {

// Pure. One event a line.
std::string TraceJson(const JobHistory& history);

// Bytes that the links of one rank carry for an operation by the usual convention, as a multiple of
// the rank's larger buffer: 2 (n - 1) / n for AllReduce. 1 where there is none.
double BusFactor(Op op, uint32_t ranks);

}  // namespace hcclrun
