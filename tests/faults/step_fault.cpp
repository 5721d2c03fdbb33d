#include "faults/step_fault.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "faults/step_job.h"

namespace hcclrun::testing {
namespace {

// Steps of each rank in an undisturbed job, with how often it came to them.
using Steps = std::map<std::pair<int, std::string>, int>;

const Steps& StepsOf(const StepConfig& config) {
  static std::map<StepConfig, Steps> known;
  auto [it, is_new] = known.emplace(config, Steps());
  if (!is_new) return it->second;
  const int log = memfd_create("steps", MFD_CLOEXEC);
  StepJob job(config,
              {"HCCLRUN_STEP_LOG=/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(log)},
              30);
  while (!job.Poll(false)) NapForPolling();
  if (job.code() != 0) {
    std::fprintf(stderr, "a job without a fault ended with %d:\n%s\n", job.code(),
                 job.Output().c_str());
    std::exit(1);
  }
  std::ifstream lines("/proc/self/fd/" + std::to_string(log));
  std::string step;
  for (int rank, times; lines >> rank >> step >> times;) it->second[{rank, step}] = times;
  close(log);
  if (it->second.size() < size_t(config.ranks) * 10) {
    std::fprintf(stderr, "only %zu steps: not the core with steps?\n", it->second.size());
    std::exit(1);
  }
  return it->second;
}

std::vector<StepConfig> Configs() {
  std::vector<StepConfig> configs;
  for (const std::string& engine : StepEngines()) configs.push_back({1, engine, "threads"});
  for (int ranks : {2, 3, 4}) {
    for (const std::string& engine : StepEngines()) {
      for (const char* scenario : {"work", "giveup"}) configs.push_back({ranks, engine, scenario});
    }
  }
  return configs;
}

// Given up at the right moment the victim's halt is no fault: nobody waits for it in that scenario.
bool Sensible(const StepFault& fault) {
  return fault.action != "halt" || fault.config.scenario != "giveup";
}

}  // namespace

bool StepConfig::operator<(const StepConfig& other) const {
  return std::tie(ranks, engine, scenario) < std::tie(other.ranks, other.engine, other.scenario);
}

std::string StepFault::Variable() const {
  return std::to_string(rank) + ":" + step + "#" + std::to_string(coming) + ":" + action;
}

std::string StepFault::Text() const {
  return std::to_string(config.ranks) + "," + config.engine + "," + config.scenario + "," +
         Variable();
}

const std::vector<std::string>& StepEngines() {
  static const std::vector<std::string> engines = {"classic", "cooperative", "auto", "exchange"};
  return engines;
}

const std::vector<std::string>& StepActions() {
  static const std::vector<std::string> actions = {"kill", "halt", "stop", "delay"};
  return actions;
}

std::vector<StepFault> AllStepFaults() {
  std::vector<StepFault> faults;
  for (const StepConfig& config : Configs()) {
    for (const auto& [where, times] : StepsOf(config)) {
      for (const std::string& action : StepActions()) {
        faults.push_back({config, where.first, where.second, 1, action});
        if (!Sensible(faults.back())) faults.pop_back();
      }
    }
  }
  return faults;
}

std::vector<StepFault> RandomStepFaults(int number, uint64_t seed, const std::string& without,
                                        const std::string& engine) {
  std::mt19937_64 random(seed);
  std::vector<StepConfig> configs = Configs();
  std::erase_if(configs,
                [&](const StepConfig& c) { return !engine.empty() && c.engine != engine; });
  std::vector<StepFault> faults;
  while (faults.size() < size_t(number)) {
    StepFault fault;
    fault.config = configs[random() % configs.size()];
    // All steps alike, however often they are come to.
    const Steps& steps = StepsOf(fault.config);
    auto it = steps.begin();
    std::advance(it, random() % steps.size());
    fault.rank = it->first.first;
    fault.step = it->first.second;
    fault.coming = 1 + int(random() % uint64_t(it->second));
    const uint64_t dice = random() % 100;
    fault.action = dice < 55 ? "kill" : dice < 62 ? "halt" : dice < 80 ? "stop" : "delay";
    if (Sensible(fault) && fault.action != without) faults.push_back(fault);
  }
  return faults;
}

bool ParseStepFault(const std::string& text, StepFault* fault) {
  char engine[32], scenario[32], step[64], action[32];
  if (std::sscanf(text.c_str(), "%d,%31[^,],%31[^,],%d:%63[^#]#%d:%31s", &fault->config.ranks,
                  engine, scenario, &fault->rank, step, &fault->coming, action) != 7)
    return false;
  fault->config.engine = engine, fault->config.scenario = scenario;
  fault->step = step, fault->action = action;
  return fault->config.ranks >= 1 && fault->config.ranks <= kBoardRanks;
}

}  // namespace hcclrun::testing
