#pragma once
// What a JobHistory says to a person: a few lines on the terminal; and to programs: report.json.
// Pure.

#include <string>
#include <vector>

#include "launcher/job_history.h"
#include "launcher/wait_graph.h"

namespace hcclrun {

// Lines without their ends: who holds up whom, cycles, and what every rank is doing, ranks that do
// the same in one line. `why` is the occasion: "rank 3 gave up an operation (HCCL_EXEC_TIMEOUT)".
std::vector<std::string> ReportLines(const JobHistory& history, const WaitGraph& graph,
                                     const std::string& why);

// The whole history and the graph; docs/hcclrun.md describes the format. `verdict` is empty as long
// as the job runs.
std::string ReportJson(const JobHistory& history, const WaitGraph& graph, const std::string& why,
                       const std::string& verdict);

// Name of a FaultKind that came from shared memory: "mismatch"; "" for none.
std::string FaultName(uint32_t kind);
const char* PathName(PathTaken path);

// Writes the file anew, as a whole: beside it first. A sentence on failure.
std::string WriteWholeFile(const std::string& path, const std::string& text);

}  // namespace hcclrun
