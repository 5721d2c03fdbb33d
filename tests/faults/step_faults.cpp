// Injects faults into jobs, one each, at named steps of the protocols between ranks (base/step.h), and
// checks how the jobs end: nobody hangs, nothing is left, survivors get an error that names the
// victim, hcclrun tells the first cause with its exit code, and ranks that were only late change
// nothing. Prints a table in Markdown.
//
//   step_faults [--random N] [--seed S] [--without A] [--all] [--fault F] [--jobs J]
//     --random N   N faults chosen at random (24 unless given)
//     --all        every fault at the first coming of every rank to every step, for 2, 3 and 4 ranks
//                  and every engine
//     --fault F    this one, N times: as it is told in a complaint, without spaces
//                  (3,auto,work,2:post.arrived#1:kill)
//     --without A  no faults of this action: a halt is told from a slow rank by time-outs of one
//                  second, which a very busy machine makes wrong
//     --jobs J     so many jobs at once (3 unless given)
//
// Actions: kill; halt (SIGSTOP for good); stop (SIGSTOP, and SIGCONT 300 ms later, after the stall note);
// delay (20 ms).

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "faults/leftovers.h"
#include "faults/step_board.h"

extern char** environ;

namespace hcclrun::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kHungNs = 60'000 * kMs;  // hcclrun's own --timeout is half of it at most
constexpr int64_t kStopNs = 300 * kMs;

struct Config {
  int ranks;
  std::string engine, scenario;
  bool operator<(const Config& other) const {
    return std::tie(ranks, engine, scenario) < std::tie(other.ranks, other.engine, other.scenario);
  }
};

struct Fault {
  Config config;
  int rank = 0;
  std::string step;
  int coming = 1;
  std::string action;

  // "2:post.arrived#1:kill", as steps.cpp reads it.
  std::string Variable() const {
    return std::to_string(rank) + ":" + step + "#" + std::to_string(coming) + ":" + action;
  }
  std::string Text() const {
    return std::to_string(config.ranks) + "," + config.engine + "," + config.scenario + "," +
           Variable();
  }
};

std::string Read(int fd) {
  std::string text;
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  return text;
}

// One job, from its start to its end.
class Job {
 public:
  Job(const Config& config, std::vector<std::string> variables, int timeout_s)
      : board_fd_(memfd_create("board", MFD_CLOEXEC)),
        output_(memfd_create("output", MFD_CLOEXEC)) {
    if (ftruncate(board_fd_, sizeof(StepBoard)) != 0) std::exit(2);
    void* memory =
        mmap(nullptr, sizeof(StepBoard), PROT_READ | PROT_WRITE, MAP_SHARED, board_fd_, 0);
    if (memory == MAP_FAILED) std::exit(2);
    board_ = static_cast<StepBoard*>(memory);
    std::vector<std::string> line = {HCCLRUN_BINARY, "-n", std::to_string(config.ranks),
                                     "--timeout", std::to_string(timeout_s)};
    variables.push_back("HCCLRUN_ENGINE=" + config.engine);
    variables.push_back(std::string("LD_LIBRARY_PATH=") + STEPS_PATH);
    variables.push_back("HCCLRUN_STEP_BOARD=/proc/" + std::to_string(getpid()) + "/fd/" +
                        std::to_string(board_fd_));
    for (const std::string& variable : variables) line.insert(line.end(), {"-x", variable});
    line.insert(line.end(), {STEPPING_RANK, config.scenario});
    std::vector<char*> arguments;
    for (std::string& argument : line) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output_, 1);
    posix_spawn_file_actions_adddup2(&actions, output_, 2);
    begin_ns_ = StepBoard::Now();
    if (posix_spawn(&pid_, HCCLRUN_BINARY, &actions, nullptr, arguments.data(), environ) != 0)
      std::exit(2);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Job() {
    munmap(board_, sizeof(StepBoard));
    close(board_fd_);
    close(output_);
  }

  // True once it has ended.
  bool Poll(bool continues) {
    const int64_t now = StepBoard::Now(), doomed = board_->doomed_ns.load();
    // Again and again: the first may come before it has stopped itself.
    if (continues && doomed && now - doomed > kStopNs && now - continued_ns_ > kStopNs) {
      continued_ns_ = now;
      kill(board_->doomed_pid.load(), SIGCONT);
    }
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      end_ns_ = StepBoard::Now();
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return true;
    }
    if (now - begin_ns_ > kHungNs && !hung_) {
      hung_ = true;
      kill(pid_, SIGKILL);
    }
    return false;
  }

  const StepBoard& board() const { return *board_; }
  bool hung() const { return hung_; }
  int code() const { return code_; }
  int64_t end_ns() const { return end_ns_; }
  std::string Output() const { return Read(output_); }

 private:
  int board_fd_, output_;
  StepBoard* board_;
  pid_t pid_ = -1;
  int64_t begin_ns_, end_ns_ = 0;
  bool hung_ = false;
  int64_t continued_ns_ = 0;
  int code_ = -1;
};

void Nap() {
  const timespec nap = {0, kMs};
  nanosleep(&nap, nullptr);
}

// Steps of each rank in an undisturbed job, with how often it came to them.
using Steps = std::map<std::pair<int, std::string>, int>;

const Steps& StepsOf(const Config& config) {
  static std::map<Config, Steps> known;
  auto [it, is_new] = known.emplace(config, Steps());
  if (!is_new) return it->second;
  const int log = memfd_create("steps", MFD_CLOEXEC);
  Job job(config,
          {"HCCLRUN_STEP_LOG=/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(log)},
          30);
  while (!job.Poll(false)) Nap();
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

const std::vector<std::string>& Actions() {
  static const std::vector<std::string> actions = {"kill", "halt", "stop", "delay"};
  return actions;
}

std::vector<Config> Configs() {
  std::vector<Config> configs;
  for (int ranks : {2, 3, 4}) {
    for (const char* engine : {"classic", "cooperative", "auto"}) {
      for (const char* scenario : {"work", "giveup"}) configs.push_back({ranks, engine, scenario});
    }
  }
  return configs;
}

// Given up at the right moment the victim's halt is no fault: nobody waits for it in that scenario.
bool Sensible(const Fault& fault) {
  return fault.action != "halt" || fault.config.scenario != "giveup";
}

std::vector<Fault> AllFaults() {
  std::vector<Fault> faults;
  for (const Config& config : Configs()) {
    for (const auto& [where, times] : StepsOf(config)) {
      for (const std::string& action : Actions()) {
        faults.push_back({config, where.first, where.second, 1, action});
        if (!Sensible(faults.back())) faults.pop_back();
      }
    }
  }
  return faults;
}

std::vector<Fault> RandomFaults(int number, uint64_t seed, const std::string& without) {
  std::mt19937_64 random(seed);
  const std::vector<Config> configs = Configs();
  std::vector<Fault> faults;
  while (faults.size() < size_t(number)) {
    Fault fault;
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

bool ParseFault(const std::string& text, Fault* fault) {
  char engine[32], scenario[32], step[64], action[32];
  if (std::sscanf(text.c_str(), "%d,%31[^,],%31[^,],%d:%63[^#]#%d:%31s", &fault->config.ranks,
                  engine, scenario, &fault->rank, step, &fault->coming, action) != 7)
    return false;
  fault->config.engine = engine, fault->config.scenario = scenario;
  fault->step = step, fault->action = action;
  return fault->config.ranks >= 1 && fault->config.ranks <= kBoardRanks;
}

struct Tally {
  int jobs = 0, missed = 0;       // the rank did not come to the step this time
  int named = 0, unaffected = 0;  // survivors
  int ended = 0;                  // by hcclrun before they had come to an error
  int verdicts = 0;               // that name the victim
  int hung = 0, leaked = 0, wrong = 0, other = 0;
  std::vector<double> error_ms, end_ms;
};

class Study {
 public:
  // Judges how a job ended.
  void Judge(const Fault& fault, const Job& job) {
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

  void Print() {
    std::printf(
        "| fault | jobs | rank not at the step | survivors: error names the victim | unaffected "
        "| ended by hcclrun | hcclrun names the victim | hung | left behind | wrong result | "
        "other |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const std::string& action : Actions()) {
      const Tally& t = tallies_[action];
      if (t.jobs == 0) continue;
      std::printf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", action.c_str(),
                  t.jobs, t.missed, t.named, t.unaffected, t.ended, t.verdicts, t.hung, t.leaked,
                  t.wrong, t.other);
    }
    std::printf("\n| steps of |");
    for (const std::string& action : Actions()) std::printf(" %s |", action.c_str());
    std::printf("\n|---|---|---|---|---|\n");
    std::set<std::string> names;
    for (const auto& [key, tally] : steps_) names.insert(key.first);
    for (const std::string& name : names) {
      std::printf("| %s |", name.c_str());
      for (const std::string& action : Actions()) {
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

  int bad() const { return bad_; }

 private:
  static void PrintTimes(const char* what, std::vector<double> times) {
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    auto at = [&](double share) {
      return times[std::min(times.size() - 1, size_t(share * double(times.size())))];
    };
    std::printf("| %s | %.1f | %.1f | %.1f | %.1f |\n", what, times.front(), at(0.5), at(0.99),
                times.back());
  }

  std::map<std::string, Tally> tallies_;
  std::map<std::pair<std::string, std::string>, Tally> steps_;
  int bad_ = 0;
};

std::vector<std::string> Variables(const Fault& fault) {
  std::vector<std::string> variables = {"HCCLRUN_STEP_FAULT=" + fault.Variable()};
  if (fault.action == "halt") {
    variables.insert(variables.end(), {"HCCLRUN_EXEC_TIMEOUT=1", "HCCLRUN_CONNECT_TIMEOUT=1"});
  } else if (fault.action == "stop") {
    variables.push_back("HCCLRUN_STALL_NOTE=0.1");
  }
  return variables;
}

int Main(int argc, char** argv) {
  int number = 24, at_once = 3;
  uint64_t seed = 1;
  bool all = false, one = false;
  Fault only;
  std::string without;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "0";
    if (option == "--all") {
      all = true;
      continue;
    }
    i++;
    if (option == "--random") {
      number = std::atoi(value);
    } else if (option == "--seed") {
      seed = std::strtoull(value, nullptr, 10);
    } else if (option == "--fault" && ParseFault(value, &only)) {
      one = true;
    } else if (option == "--without") {
      without = value;
    } else if (option == "--jobs") {
      at_once = std::atoi(value);
    } else {
      std::fprintf(stderr,
                   "usage: step_faults [--random N] [--seed S] [--without A] [--all] [--fault F] "
                   "[--jobs J]\n");
      return 2;
    }
  }
  const std::set<std::string> names_before = NamesInShm();
  const std::vector<Fault> faults = one   ? std::vector<Fault>(size_t(number), only)
                                    : all ? AllFaults()
                                          : RandomFaults(number, seed, without);
  Study study;
  std::vector<std::pair<const Fault*, std::unique_ptr<Job>>> running;
  for (size_t next = 0; next < faults.size() || !running.empty();) {
    while (next < faults.size() && running.size() < size_t(std::max(1, at_once))) {
      const Fault& fault = faults[next++];
      running.emplace_back(&fault, std::make_unique<Job>(fault.config, Variables(fault),
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
    Nap();
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
