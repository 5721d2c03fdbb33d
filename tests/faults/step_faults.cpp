// Injects faults into jobs, one each, at named steps of the protocols between ranks (base/step.h),
// and checks how the jobs end: nobody hangs, nothing is left, survivors get an error that names the
// victim, hcclrun tells the first cause with its exit code, and ranks that were only late change
// nothing. Prints a table in Markdown.
//
//   step_faults [--random N] [--seed S] [--without A] [--engine E] [--all] [--fault F] [--jobs J]
//     --random N   N faults chosen at random (24 unless given)
//     --all        every fault at the first coming of every rank to every step, for 2, 3 and 4 ranks
//                  and every engine, and for ranks that are threads of one process
//     --fault F    this one, N times: as it is told in a complaint, without spaces
//                  (3,auto,work,2:post.arrived#1:kill)
//     --without A  no faults of this action: a halt is told from a slow rank by time-outs of one
//                  second, which a very busy machine makes wrong
//     --engine E   random faults under this one alone: classic, cooperative, auto, or exchange (auto,
//                  and a processor for each rank)
//     --jobs J     so many jobs at once (3 unless given)
//
// Actions: kill; halt (SIGSTOP for good); stop (SIGSTOP, and SIGCONT 300 ms later, after the stall
// note); delay (20 ms).

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "faults/leftovers.h"
#include "faults/step_fault.h"
#include "faults/step_job.h"
#include "faults/step_study.h"

namespace hcclrun::testing {
namespace {

std::vector<std::string> Variables(const StepFault& fault) {
  std::vector<std::string> variables = {"HCCLRUN_STEP_FAULT=" + fault.Variable()};
  if (fault.action == "halt") {
    variables.insert(variables.end(), {"HCCLRUN_EXEC_TIMEOUT=1", "HCCLRUN_CONNECT_TIMEOUT=3"});
  } else if (fault.action == "stop") {
    variables.push_back("HCCLRUN_STALL_NOTE=0.1");
  }
  return variables;
}

bool IsOneOf(const std::string& text, const std::vector<std::string>& all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

int Main(int argc, char** argv) {
  int number = 24, at_once = 3;
  uint64_t seed = 1;
  bool all = false, one = false;
  StepFault only;
  std::string without, engine;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--all") {
      all = true;
      continue;
    }
    i++;
    if (option == "--random" && (number = std::atoi(value)) > 0) {
    } else if (option == "--seed" && *value) {
      seed = std::strtoull(value, nullptr, 10);
    } else if (option == "--fault" && ParseStepFault(value, &only)) {
      one = true;
    } else if (option == "--without" && IsOneOf(value, StepActions())) {
      without = value;
    } else if (option == "--engine" && IsOneOf(value, StepEngines())) {
      engine = value;
    } else if (option == "--jobs" && (at_once = std::atoi(value)) > 0) {
    } else {
      std::fprintf(stderr,
                   "usage: step_faults [--random N] [--seed S] [--without A] [--engine E] [--all] "
                   "[--fault F] [--jobs J]\n");
      return 2;
    }
  }
  const std::set<std::string> names_before = NamesInShm();
  const std::vector<StepFault> faults = one   ? std::vector<StepFault>(size_t(number), only)
                                        : all ? AllStepFaults()
                                              : RandomStepFaults(number, seed, without, engine);
  StepStudy study;
  std::vector<std::pair<const StepFault*, std::unique_ptr<StepJob>>> running;
  for (size_t next = 0; next < faults.size() || !running.empty();) {
    while (next < faults.size() && running.size() < size_t(at_once)) {
      const StepFault& fault = faults[next++];
      running.emplace_back(&fault, std::make_unique<StepJob>(fault.config, Variables(fault),
                                                             fault.action == "halt" ? 6 : 30));
      if (next % 100 == 0) std::fprintf(stderr, "%zu of %zu\n", next, faults.size());
    }
    for (size_t i = 0; i < running.size();) {
      auto& [fault, job] = running[i];
      if (!job->Poll(fault->action == "stop")) {
        i++;
        continue;
      }
      study.Judge(*fault, *job);
      running.erase(running.begin() + static_cast<ptrdiff_t>(i));
    }
    NapForPolling();
  }
  study.Print();
  int left = 0;
  for (const std::string& name : NamesInShm()) {
    if (names_before.count(name)) continue;
    std::fprintf(stderr, "/dev/shm/%s is left\n", name.c_str());
    left++;
  }
  std::printf("\n%zu jobs, %d with complaints, %d names left in /dev/shm\n", faults.size(),
              study.bad(), left);
  return study.bad() || left ? 1 : 0;
}

}  // namespace
}  // namespace hcclrun::testing

int main(int argc, char** argv) { return hcclrun::testing::Main(argc, argv); }
