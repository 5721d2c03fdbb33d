#pragma once
// What an A3 would make of the same calls: which path it would take (semantics A.10), and what of
// the program would break there although it works here. Pure.

#include <string>
#include <vector>

#include "launcher/job_history.h"

namespace hcclrun {

// Item 8 of A.10, which hcclrun does not apply, for a call to which items 1 to 7 apply.
enum class HardwarePath {
  kBuffered,
  kWindow,
  kDepends,  // on whether the devices form double rings
};
// `bytes` is count times the element's size; `stage_bytes` an HCCL buffer.
HardwarePath PathByThresholds(uint32_t call, uint64_t bytes, uint32_t ranks, uint32_t servers,
                              uint64_t stage_bytes);

// --explain: a line for each kind of operation, the ranks and repetitions summed up: its path here,
// why not the window, and what an A3's thresholds would say.
std::vector<std::string> ExplainLines(const JobHistory& history);

// --a3-report: a line for each kind of trouble, with its first place and how often.
std::vector<std::string> HardwareTroubles(const JobHistory& history);

// Local calls (registering, deregistering and destroying) that the ranks of a communicator made in
// different order or at different places among its operations. Empty when none did, or when too much
// has been forgotten to tell.
std::vector<std::string> Divergences(const JobHistory& history);

}  // namespace hcclrun
