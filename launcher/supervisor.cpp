// While the ranks run. Starting them is in supervisor_start.cpp, judging and ending in
// supervisor_end.cpp.

#include "launcher/supervisor.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "launcher/descendants.h"

namespace hcclrun {
namespace {

constexpr int64_t kLeftoverGraceMs = 1'000;
constexpr int64_t kSilentPipeMs = 1'000;

}  // namespace

Supervisor::Supervisor(Options options)
    : options_(std::move(options)),
      sinks_(&loop_),
      identity_(JobIdentity::Random()),
      server_(&loop_, this),
      ranks_(options_.ranks) {
  facts_.log_directory = options_.log_directory;
  facts_.timeout_text = options_.timeout_text;
}

Supervisor::~Supervisor() {
  // Streams refer to sinks and to the loop.
  for (Rank& rank : ranks_) rank.out.reset(), rank.err.reset();
  mpirun_output_.reset();
  loop_.Forget(signals_.fd());
}

void Supervisor::Say(const std::string& line) {
  if (options_.verbose) sinks_.err->WriteOwnLine(absl::StrCat("hcclrun: ", line));
}

void Supervisor::EarlySentence(const std::string& sentence) {
  fprintf(stderr, "hcclrun: %s.\n", sentence.c_str());
}

void Supervisor::Step(int max_wait_ms) {
  loop_.RunOnce(max_wait_ms);
  if (!reap_) return;
  // A process closes its lifeline before it can be reaped: take that news first, it gives the order
  // of deaths.
  loop_.RunOnce(0);
  Reap();
}

void Supervisor::OnSignals() {
  signalfd_siginfo info;
  while (read(signals_.fd(), &info, sizeof info) == sizeof info) {
    int number = static_cast<int>(info.ssi_signo);
    // What the terminal sends, it sends to everybody in the foreground group.
    bool from_terminal = info.ssi_code == SI_KERNEL;
    bool already_there =
        from_terminal && (!own_groups_ || (DebuggerRuns() && !OwnGroup(options_.gdb_rank)));
    switch (number) {
      case SIGCHLD:
        reap_ = true;
        break;
      case SIGTSTP:
        for (int r = 0; r < options_.ranks; r++) {
          if (!from_terminal || OwnGroup(r)) SignalRank(r, SIGTSTP);
        }
        Suspend();
        break;
      case SIGQUIT:
        Report("of SIGQUIT");
        break;
      case SIGCONT:
      case SIGUSR1:
      case SIGUSR2:
        SignalAll(number);
        break;
      default:
        if (!already_there || interrupted_) {
          OnInterrupt(number);
        } else {
          terminal_signal_ = number;  // the rank decides: a debugger, say, lives on after Ctrl-C
          Say(absl::StrCat(SignalName(number), " went to the rank as well"));
        }
    }
  }
}

// The launcher stops with its job; its clocks stand still meanwhile.
void Supervisor::Suspend() {
  int64_t before = NowNs();
  kill(getpid(), SIGSTOP);
  loop_.DelayTimers(NowNs() - before);
  SignalAll(SIGCONT);
}

void Supervisor::Reap() {
  reap_ = false;
  events_++;  // those reaped together cannot be ordered
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    auto it = rank_of_pid_.find(pid);
    if (it != rank_of_pid_.end()) {
      int rank = it->second;
      rank_of_pid_.erase(it);
      OnRankEnded(rank, status);
    } else if (pid == mpirun_pid_) {
      OnMpiRunEnded(status);
    } else if (guard_ && pid == guard_->pid()) {
      OnGuardEnded(status);
    }
  }
}

bool Supervisor::DebuggerRuns() const {
  return options_.gdb_rank >= 0 && ranks_[options_.gdb_rank].phase == Rank::kRunning;
}

bool Supervisor::Over() const {
  if (mpirun_pid_ > 0) return false;
  for (const Rank& rank : ranks_) {
    if (rank.phase == Rank::kRunning) return false;
  }
  return true;
}

// All ranks have ended. Takes what is still in the pipes and ends what the ranks left behind.
void Supervisor::Drain() {
  std::vector<RankStream*> streams;
  for (Rank& rank : ranks_) {
    for (RankStream* stream : {rank.out.get(), rank.err.get()}) {
      if (stream) streams.push_back(stream);
    }
  }
  if (mpirun_output_) streams.push_back(mpirun_output_.get());
  auto any_open = [&] {
    for (RankStream* stream : streams) {
      if (stream->open()) return true;
    }
    return false;
  };
  auto anybody = [&] {
    std::vector<pid_t> living = LivingChildren();
    return living.size() > (guard_ && guard_->pid() > 0 ? 1u : 0u);
  };
  Deadline leftovers = Deadline::After(ending_ || interrupted_ ? 0 : kLeftoverGraceMs);
  while (!leftovers.passed() && (any_open() || anybody())) Step(20);
  KillDescendants();
  // Nobody of the job is left to write; a pipe that stays open and silent is held by a stranger.
  Deadline silent = Deadline::After(kSilentPipeMs);
  while (any_open() && !silent.passed() && !give_up_output_) {
    Step(20);
    bool moving = sinks_.out->waiting() + sinks_.err->waiting() > 0;
    for (RankStream* stream : streams) moving |= stream->TakeActivity();
    if (moving) silent = Deadline::After(kSilentPipeMs);
  }
  for (RankStream* stream : streams) stream->DrainAndClose();
}

int Supervisor::Run() {
  if (int code = Prepare()) return code;
  guard_ = std::make_unique<Guard>(identity_.id, rank_table_path_);
  if (int code = WriteRankTable()) return code;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  oom_kills_at_start_ = OomKills();
  loop_.Watch(signals_.fd(), EPOLLIN, [this](uint32_t) { OnSignals(); });
  StartRanks();
  while (!Over()) Step(-1);
  stdin_pump_.reset();
  Judge();
  Drain();
  const bool silent = facts_.exit_code == 0 || (RefusedItsArguments() && !options_.verbose);
  const std::string verdict = silent ? "" : Verdict(facts_);
  if (!verdict.empty()) sinks_.err->WriteOwnLine(verdict);
  FinalReports(verdict);
  for (Sink* sink : {sinks_.out, sinks_.err}) {
    while (sink->waiting() > 0 && !give_up_output_) Step(-1);
    if (sink->broken() && sink->broken_errno() != EPIPE) {
      EarlySentence(absl::StrCat("output was lost, it could not be written: ",
                                 strerror(sink->broken_errno())));
      if (facts_.exit_code == 0) facts_.exit_code = 1;
    }
  }
  return facts_.exit_code;
}

}  // namespace hcclrun
