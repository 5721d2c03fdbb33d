#include "faults/step_study.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

namespace hcclrun::testing {

void StepStudy::Judge(const StepFault& fault, const StepJob& job) {
  Tally& tally = tallies_[fault.action];
  Tally& of_step = steps_[{fault.step.substr(0, fault.step.find('.')), fault.action}];
  tally.jobs++;
  of_step.jobs++;
  const StepBoard& board = job.board();
  const std::string output = job.Output(), victim = "rank " + std::to_string(fault.rank);
  std::vector<std::string> complaints;
  auto complain = [&](int& count, const std::string& text) {
    count++;
    complaints.push_back(text);
  };
  for (int r = 0; r < fault.config.ranks; r++) {
    const pid_t pid = board.ranks[r].pid.load();
    if (pid && !(kill(pid, 0) != 0 && errno == ESRCH)) {
      complain(tally.leaked, "process " + std::to_string(pid) + " is left");
      kill(pid, SIGKILL);
    }
    if (board.ranks[r].end.load() == RankEnd::kWrong)
      complain(tally.wrong, "wrong on rank " + std::to_string(r) + ": " + board.ranks[r].text);
  }
  const bool halted = fault.action == "halt";
  if (job.hung() || (job.code() == 124 && !halted)) complain(tally.hung, "hung");
  const int64_t doomed_ns = board.doomed_ns.load();
  const bool lost = fault.action == "kill" || halted;
  int named = 0, unaffected = 0, ended = 0;
  int64_t last_ns = 0;
  for (int r = 0; r < fault.config.ranks; r++) {
    const StepBoard::Rank& rank = board.ranks[r];
    if (lost && doomed_ns && r == fault.rank) continue;
    switch (rank.end.load()) {
      case RankEnd::kFinished:
        unaffected++;
        break;
      case RankEnd::kFailed:
        named++;
        last_ns = std::max(last_ns, rank.at_ns.load());
        if (!lost || !doomed_ns) {
          complain(tally.other, "rank " + std::to_string(r) + " failed: " + rank.text);
        } else if (!strstr(rank.text, victim.c_str())) {
          complain(tally.other, "rank " + std::to_string(r) + " does not name it: " + rank.text);
        }
        break;
      default:
        ended++;
    }
  }
  if (!doomed_ns) {
    tally.missed++;
    if (job.code() != 0) complain(tally.other, "exit code without a fault");
  } else if (!lost) {
    if (job.code() != 0 || unaffected != fault.config.ranks)
      complain(tally.other, "it was not recovered from");
  } else {
    const bool told = output.find("hcclrun: " + victim + " (pid ") != output.npos;
    if (fault.action == "kill") {
      if (job.code() != 137) complain(tally.other, "not the victim's exit code");
      if (!told || output.find("SIGKILL") == output.npos) {
        complain(tally.other, "the verdict does not name the victim");
      } else {
        tally.verdicts++;
      }
    } else {
      if (job.code() == 0) complain(tally.other, "exit code 0");
      // It is a survivor that failed first; that the victim is stopped is said beside it.
      if (output.find("stopped by a signal") == output.npos &&
          output.find("is stopped") == output.npos) {
        complain(tally.other, "nobody says that the victim is stopped");
      } else {
        tally.verdicts++;
      }
    }
  }
  for (Tally* t : {&tally, &of_step}) {
    t->named += named;
    t->unaffected += unaffected;
    t->ended += ended;
    if (t == &tally && fault.action == "kill" && doomed_ns) {
      if (last_ns) t->error_ms.push_back(double(last_ns - doomed_ns) / kMs);
      t->end_ms.push_back(double(job.end_ns() - doomed_ns) / kMs);
    }
  }
  if (complaints.empty()) return;
  bad_++;
  of_step.other++;
  std::fprintf(stderr, "\n### %s: exit code %d\n", fault.Text().c_str(), job.code());
  for (const std::string& text : complaints) std::fprintf(stderr, "- %s\n", text.c_str());
  std::fprintf(stderr, "%s\n", output.c_str());
}

void StepStudy::Print() {
  std::printf(
      "| fault | jobs | rank not at the step | survivors: error names the victim | unaffected "
      "| ended by hcclrun | hcclrun names the victim | hung | left behind | wrong result | "
      "other |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& action : StepActions()) {
    const Tally& t = tallies_[action];
    if (t.jobs == 0) continue;
    std::printf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", action.c_str(),
                t.jobs, t.missed, t.named, t.unaffected, t.ended, t.verdicts, t.hung, t.leaked,
                t.wrong, t.other);
  }
  std::printf("\n| steps of |");
  for (const std::string& action : StepActions()) std::printf(" %s |", action.c_str());
  std::printf("\n|---|---|---|---|---|\n");
  std::set<std::string> names;
  for (const auto& [key, tally] : steps_) names.insert(key.first);
  for (const std::string& name : names) {
    std::printf("| %s |", name.c_str());
    for (const std::string& action : StepActions()) {
      const Tally& t = steps_[{name, action}];
      if (t.jobs == 0) {
        std::printf(" |");
      } else if (action == "kill" || action == "halt") {
        std::printf(" %d jobs: %d errors, %d unaffected%s |", t.jobs, t.named, t.unaffected,
                    t.other ? ", BAD" : "");
      } else {
        std::printf(" %d jobs%s |", t.jobs, t.other ? ", BAD" : "");
      }
    }
    std::printf("\n");
  }
  std::printf("\n| ms after a kill | min | median | 99 %% | max |\n|---|---|---|---|---|\n");
  PrintTimes("until the last survivor had its error", tallies_["kill"].error_ms);
  PrintTimes("until hcclrun had ended", tallies_["kill"].end_ms);
}

void StepStudy::PrintTimes(const char* what, std::vector<double> times) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  auto at = [&](double share) {
    return times[std::min(times.size() - 1, size_t(share * double(times.size())))];
  };
  std::printf("| %s | %.1f | %.1f | %.1f | %.1f |\n", what, times.front(), at(0.5), at(0.99),
              times.back());
}

}  // namespace hcclrun::testing
