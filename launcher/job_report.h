#pragma once
// What a JobHistory says to a person: a few lines on the terminal; and to programs: report.json.
// Pure.

#include <string>
#include <vector>

#include "launcher/job_history.h"
#include "launcher/wait_graph.h"

namespace hcclrun {

// Who holds up whom, and deadlocks: the beginning of a report. Empty when nobody is known to.
std::vector<std::string> HoldUpLines(const WaitGraph& graph);

// Lines without their ends: who holds up whom, cycles, and what every rank is doing, ranks that do
// the same in one line. `why` is the occasion: "rank 3 gave up an operation (HCCL_EXEC_TIMEOUT)".
std::vector<std::string> ReportLines(const JobHistory& history, const WaitGraph& graph,
                                     const std::string& why);

// The whole history and the graph; docs/hcclrun.md describes the format. `verdict` is empty as long
// as the job runs.
// `later`: whose calls are told, of the same ranks, where these went on since; may be null.
std::string ReportJson(const JobHistory& history, const WaitGraph& graph, const std::string& why,
                       const std::string& verdict, const JobHistory* later = nullptr);

// Name of a FaultKind that came from shared memory: "mismatch"; "" for none.
std::string FaultName(uint32_t kind);
const char* PathName(PathTaken path);

// A sentence if that will not be possible, as far as can be told without changing the file.
std::string WhyNotWritable(const std::string& path);

// Writes the file anew, as a whole: beside it first. A sentence on failure.
std::string WriteWholeFile(const std::string& path, const std::string& text);

}  // namespace hcclrun
