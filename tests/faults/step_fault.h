#pragma once
// One fault of step_faults.cpp: which kind of job, and what happens to which of its ranks.

#include <cstdint>
#include <string>
#include <vector>

namespace hcclrun::testing {

struct StepConfig {
  int ranks;
  std::string engine;  // of HCCLRUN_ENGINE; "exchange": auto, with a processor for each rank
  std::string scenario;
  bool operator<(const StepConfig& other) const;
};

struct StepFault {
  StepConfig config;
  int rank = 0;
  std::string step;
  int coming = 1;
  std::string action;

  // "2:post.arrived#1:kill", as steps.cpp reads it.
  std::string Variable() const;
  // "3,auto,work,2:post.arrived#1:kill"
  std::string Text() const;
};

const std::vector<std::string>& StepEngines();
const std::vector<std::string>& StepActions();

// Every fault at the first coming of every rank to every step, for 2, 3 and 4 ranks and every
// engine, and for ranks that are threads of one process.
std::vector<StepFault> AllStepFaults();

// `without` is an action or ""; `engine` is the only one, or "".
std::vector<StepFault> RandomStepFaults(int number, uint64_t seed, const std::string& without,
                                        const std::string& engine);

// False when the text is no fault.
bool ParseStepFault(const std::string& text, StepFault* fault);

}  // namespace hcclrun::testing
