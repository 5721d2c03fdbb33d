// Judging and ending: the last part of Supervisor.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "launcher/debugger.h"
#include "launcher/descendants.h"
#include "launcher/signals.h"
#include "launcher/supervisor.h"

namespace hcclrun {
namespace {

constexpr int64_t kGraceMs = 1'000;             // to return errors after a failure
constexpr int64_t kGraceAfterSignalMs = 5'000;  // to come to an orderly end after Ctrl-C
constexpr int64_t kTermMs = 1'000;              // from SIGTERM to SIGKILL
constexpr int64_t kMpiRunMs = 5'000;            // for mpirun to follow its ranks
constexpr int64_t kFreshNs = 2'000'000'000;

}  // namespace

uint64_t OomKills() {
  FILE* f = fopen("/proc/vmstat", "re");
  if (!f) return 0;
  char line[128];
  unsigned long long count = 0;
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "oom_kill %llu", &count) == 1) break;
  }
  fclose(f);
  return count;
}

void Supervisor::OnAttached(int rank, int32_t pid) {
  ranks_[rank].library_pid = pid;
  ranks_[rank].detached_at = 0;
  ranks_[rank].vanished = false;
  if (mpi_ != MpiFlavour::kNone || options_.mpi != MpiChoice::kAuto || ranks_.size() == 1 ||
      ending_)
    return;
  // A script, or a library loaded late, may hide MPI from the look into the program's file.
  MpiFlavour flavour = MpiOfProcess(pid);
  if (flavour == MpiFlavour::kNone) return;
  facts_.detail = absl::StrCat("rank ", rank, " runs ", MpiName(flavour), " (in process ", pid,
                               ") and was not started by its mpirun, so that every rank is an MPI "
                               "job of its own; use --mpi ",
                               flavour == MpiFlavour::kOpenMpi ? "openmpi" : "mpich",
                               ", or --mpi off if that is what you want");
  BeginEnding(VerdictFacts::Cause::kMpi, Stage::kTerminating);
}

void Supervisor::OnDetached(int rank, int32_t pid, bool finished) {
  if (server_.connections_of(rank) == 0)
    page_->committed_bytes[rank].store(0, std::memory_order_relaxed);
  Rank& r = ranks_[rank];
  if (r.library_pid != pid) return;
  r.detached_at = ++events_;
  r.vanished = !finished;
  if (r.vanished && !ending_ && early_snapshot_.empty()) {
    early_snapshot_ = Snapshot();
    early_snapshot_ns_ = NowNs();
    // Survivors return errors from now on, and are elsewhere when the process can be reaped.
    if (!options_.report.empty()) early_history_ = TakeHistory();
  }
}

bool Supervisor::OnShim(int rank, int connection, std::array<int, 3>* streams) {
  Rank& r = ranks_[rank];
  if (mpi_ == MpiFlavour::kNone || r.shim >= 0 || r.phase != Rank::kNotStarted) return false;
  StreamEnds ends;
  std::string trouble = MakeStreams(rank, &ends);
  if (!trouble.empty()) {
    OnRankRefused(rank, trouble, 1);
    return false;
  }
  *streams = ends.fds;
  shim_ends_.push_back(std::move(ends));
  r.shim = connection;
  return true;
}

void Supervisor::OnShimStreamsSent(int) { shim_ends_.clear(); }

void Supervisor::OnShimReport(int rank, const ShimReport& report) {
  Rank& r = ranks_[rank];
  switch (report.kind) {
    case ShimReport::kStarted:
      if (r.phase != Rank::kNotStarted) return;
      r.phase = Rank::kRunning;
      r.pid = report.value;
      Say(absl::StrCat("rank ", rank, " is process ", r.pid));
      if (stage_ >= Stage::kTerminating) SignalRank(rank, SIGKILL);
      return;
    case ShimReport::kNotStarted:
      return OnRankRefused(rank, std::string(report.why, strnlen(report.why, sizeof report.why)),
                           report.value);
    case ShimReport::kEnded:
      if (r.phase != Rank::kRunning) return;
      events_++;
      r.collateral = WIFSIGNALED(report.value) && WTERMSIG(report.value) == SIGTERM;
      return OnRankEnded(rank, report.value);
  }
}

void Supervisor::OnShimLost(int rank) {
  Rank& r = ranks_[rank];
  r.shim = -1;
  if (r.phase != Rank::kRunning) return;
  // The program dies with its shim (PR_SET_PDEATHSIG); usually it was mpirun that killed the shim.
  events_++;
  r.collateral = true;
  if (!ending_ && !interrupted_) {
    facts_.detail = absl::StrCat(mpirun_.path, " ended the ranks, as it does after MPI_Abort");
    BeginEnding(VerdictFacts::Cause::kMpi, Stage::kGrace);
  }
  OnRankEnded(rank, SIGKILL);
}

void Supervisor::OnRankEnded(int rank, int status) {
  Rank& r = ranks_[rank];
  r.phase = Rank::kEnded;
  r.status = status;
  r.ended_at = events_;
  page_->activity[rank].finished.store(1, std::memory_order_release);
  if (server_.connections_of(rank) == 0)
    page_->committed_bytes[rank].store(0, std::memory_order_relaxed);
  if (rank == 0) stdin_pump_.reset();
  if (Debugged(rank)) {
    // gdb's own group had the terminal under mpirun.
    if (OwnGroup(rank)) GiveTerminal(STDIN_FILENO, getpgrp());
    // Somebody looked at what another rank's end has left of the job, and is done.
    if (ending_ && stage_ == Stage::kGrace) Advance(Stage::kTerminating);
  }
  if (status != 0 && !ending_) {
    if (terminal_signal_ && WIFSIGNALED(status) && WTERMSIG(status) == terminal_signal_)
      interrupted_ = terminal_signal_;
    if (interrupted_) {
      BeginEnding(VerdictFacts::Cause::kSignalled, Stage::kGrace);
    } else {
      facts_.rank = rank;
      BeginEnding(VerdictFacts::Cause::kRankFailed, Stage::kGrace);
    }
  }
  if (mpi_ == MpiFlavour::kNone) return;
  if (status == 0 && r.shim >= 0) server_.SendOrder(r.shim, {ShimOrder::kLeave, 0});
  for (const Rank& other : ranks_) {
    if (other.phase == Rank::kRunning) return;
    if (other.phase == Rank::kNotStarted && !ending_) return;
  }
  // Shims of failed ranks stay until now, because mpirun would have ended the others
  // when they left.
  for (const Rank& other : ranks_) {
    if (other.shim >= 0) server_.SendOrder(other.shim, {ShimOrder::kLeave, 0});
  }
  loop_.After(kMpiRunMs, [this] {
    if (mpirun_pid_ > 0) kill(-mpirun_pid_, SIGKILL);
  });
}

void Supervisor::OnRankRefused(int rank, const std::string& why, int exit_code) {
  ranks_[rank].phase = Rank::kEnded;
  ranks_[rank].ended_at = events_;
  if (ending_) return;
  facts_.rank = rank;
  facts_.detail = why;
  facts_.exit_code = exit_code;
  BeginEnding(VerdictFacts::Cause::kRankRefused, Stage::kTerminating);
}

void Supervisor::OnMpiRunEnded(int status) {
  mpirun_pid_ = 0;
  int missing = 0;
  for (const Rank& rank : ranks_) missing += rank.phase == Rank::kNotStarted;
  Say(absl::StrCat("mpirun ended with code ", ExitCodeOf(status)));
  mpirun_code_ = ExitCodeOf(status);
  if (ending_ || missing == 0) return;
  facts_.detail = absl::StrCat(mpirun_.path, " ended with code ", ExitCodeOf(status), " before ",
                               missing, " of ", ranks_.size(), " ranks had started");
  BeginEnding(VerdictFacts::Cause::kMpi, Stage::kTerminating);
}

void Supervisor::OnTimeout() {
  if (ending_ || Over()) return;
  Report(absl::StrCat("the job did not end within ", options_.timeout_text, " s (--timeout)"));
  hung_ = true;
  BeginEnding(VerdictFacts::Cause::kTimeout, Stage::kTerminating);
}

void Supervisor::OnInterrupt(int signal_number) {
  bool again = interrupted_ || ending_;
  if (!interrupted_) interrupted_ = signal_number;
  if (Over()) {
    give_up_output_ = true;  // only the reader of our output still holds us
    return;
  }
  if (again) {
    if (!ending_) BeginEnding(VerdictFacts::Cause::kSignalled, Stage::kKilling);
    return Advance(Stage::kKilling);
  }
  bool anybody = false;
  for (const Rank& rank : ranks_) anybody |= rank.phase == Rank::kRunning;
  facts_.ranks = Snapshot();
  if (!asked_report_) {
    Remember(TakeHistory());
    hung_ = !graph_.cycles.empty();
  }
  SignalAll(signal_number);
  if (!anybody) BeginEnding(VerdictFacts::Cause::kSignalled, Stage::kTerminating);
}

void Supervisor::BeginEnding(VerdictFacts::Cause cause, Stage stage) {
  ending_ = true;
  facts_.cause = cause;
  bool early = cause == VerdictFacts::Cause::kRankFailed && !early_snapshot_.empty() &&
               NowNs() - early_snapshot_ns_ < kFreshNs;
  if (!interrupted_) facts_.ranks = early ? early_snapshot_ : Snapshot();
  // What a rank that gave up has asked for shows how things stood; what Ctrl-\\ did is old.
  if (!asked_report_ && !interrupted_ && cause != VerdictFacts::Cause::kTimeout)
    Remember(early && !early_history_.ranks.empty() ? std::move(early_history_) : TakeHistory());
  if (page_) {
    const bool rank_failed = cause == VerdictFacts::Cause::kRankFailed;
    page_->aborting.store(rank_failed ? static_cast<uint32_t>(facts_.rank) + 1 : kNoRankFailed,
                          std::memory_order_release);
  }
  // mpirun comments on what we do now; the verdict says it better.
  if (mpirun_output_ && !options_.verbose && cause != VerdictFacts::Cause::kMpi)
    mpirun_output_->Discard();
  Advance(stage);
}

void Supervisor::Advance(Stage stage) {
  if (stage <= stage_) return;
  stage_ = stage;
  if (stage == Stage::kGrace && DebuggerRuns() && !interrupted_) {
    sinks_.err->WriteOwnLine(absl::StrCat("hcclrun: rank ", facts_.rank, " failed; rank ",
                                          options_.gdb_rank,
                                          " stays in gdb, the job ends when you quit it"));
    return;
  }
  if (stage == Stage::kGrace) {
    loop_.After(interrupted_ ? kGraceAfterSignalMs : kGraceMs,
                [this] { Advance(Stage::kTerminating); });
    return;
  }
  bool not_started = false;
  for (Rank& rank : ranks_) {
    if (rank.phase == Rank::kRunning && !interrupted_) rank.ended_by_us = true;
    not_started |= rank.phase == Rank::kNotStarted;
  }
  int signal_number = stage == Stage::kTerminating ? SIGTERM : SIGKILL;
  SignalAll(signal_number);
  SignalAll(SIGCONT);  // a stopped process would not notice
  // While ranks run, mpirun is left alone: it follows them.
  if (mpirun_pid_ > 0 && not_started) kill(-mpirun_pid_, signal_number);
  if (stage == Stage::kTerminating) {
    loop_.After(kTermMs, [this] { Advance(Stage::kKilling); });
  } else if (mpirun_pid_ > 0) {
    loop_.After(kMpiRunMs, [this] {
      if (mpirun_pid_ > 0) kill(-mpirun_pid_, SIGKILL);
      KillDescendants();
    });
  }
}

void Supervisor::SignalRank(int rank, int signal_number) {
  const Rank& r = ranks_[rank];
  if (r.phase != Rank::kRunning) return;
  if (mpi_ != MpiFlavour::kNone) {
    server_.SendOrder(r.shim, {ShimOrder::kSignal, signal_number});
  } else {
    // The rank has not been reaped, so its number is still its own.
    kill(OwnGroup(rank) ? -r.pid : r.pid, signal_number);
  }
}

void Supervisor::SignalAll(int signal_number) {
  for (size_t r = 0; r < ranks_.size(); r++) SignalRank(static_cast<int>(r), signal_number);
}

// Ends every process below the launcher but the guard: kills its children, inherits
// theirs, kills those.
void Supervisor::KillDescendants() {
  Deadline deadline = Deadline::After(5'000);
  while (!deadline.passed()) {
    bool any = false;
    for (pid_t pid : LivingChildren()) {
      if (guard_ && pid == guard_->pid()) continue;
      kill(pid, SIGKILL);
      any = true;
    }
    Reap();
    if (!any) return;
    loop_.RunOnce(5);
  }
}

std::vector<RankNote> Supervisor::Snapshot() const {
  std::vector<RankNote> notes(ranks_.size());
  for (size_t i = 0; i < ranks_.size(); i++) {
    const Rank& rank = ranks_[i];
    RankNote& note = notes[i];
    note.started = rank.phase != Rank::kNotStarted;
    note.ended = rank.phase == Rank::kEnded;
    note.pid = rank.pid;
    note.library_pid = rank.library_pid;
    note.library_gone = rank.detached_at != 0;
    note.stopped = Stopped(rank);
    if (!page_) continue;
    note.CopyActivity(page_->activity[i]);
    if (recorder_.offset != 0)
      note.CopyNumber(RecorderView::At(static_cast<char*>(page_region_.get_address()), recorder_,
                                       static_cast<uint32_t>(i)));
  }
  return notes;
}

// It would end what the job leaves, should the launcher be killed.
void Supervisor::OnGuardEnded(int status) {
  constexpr int kMostGuards = 3;
  const pid_t pid = guard_->pid();
  guards_lost_++;
  guard_->Reaped();
  guard_.reset();
  guard_ = guards_lost_ < kMostGuards ? std::make_unique<Guard>(identity_.id, rank_table_path_)
                                      : nullptr;
  const bool again = guard_ && guard_->pid() > 0;
  sinks_.err->WriteOwnLine(absl::StrCat(
      "hcclrun: its hcclrun-guard (pid ", pid, ") ",
      WIFSIGNALED(status) ? absl::StrCat("was killed by ", SignalName(WTERMSIG(status))) : "ended",
      again ? "; there is another one now"
            : "; should hcclrun be killed too, processes may be left that have not loaded the "
              "library"));
}

// The convention for a wrong command line, about which the program itself has said what there is to
// say: nobody has used the library, and all that failed did so with code 2.
bool Supervisor::RefusedItsArguments() const {
  if (facts_.cause != VerdictFacts::Cause::kRankFailed || facts_.exit_code != 2) return false;
  bool said = false;
  for (size_t i = 0; i < ranks_.size(); i++) {
    const Rank& rank = ranks_[i];
    said |= rank.err ? rank.err->used() : ranks_.size() == 1;  // which has hcclrun's own
    const bool well = rank.status == 0 || rank.ended_by_us ||
                      (WIFEXITED(rank.status) && WEXITSTATUS(rank.status) == 2);
    const bool called = page_->activity[i].calls.load(std::memory_order_relaxed) != 0;
    if (!well || called || (rank.status != 0 && rank.library_pid == 0)) return false;
  }
  return said;
}

// Names the first cause, once everything is known.
void Supervisor::Judge() {
  if (!ending_) {
    facts_.exit_code = interrupted_ ? 128 + interrupted_ : 0;
    if (interrupted_) facts_.cause = VerdictFacts::Cause::kSignalled;
  }
  facts_.signal = interrupted_;
  // A rank's end is dated by the end of its lifeline, which comes before its peers can know of it;
  // a rank that was wrapped by another process, or never loaded the library, by its reaping. Ends
  // that cannot be told apart: a death by a signal comes before an exit with a code, because
  // survivors of a death return errors.
  // A rank whose call failed because of another rank comes after those that blame nobody, unless it
  // has been killed.
  using Key = std::tuple<bool, uint64_t, bool>;
  auto key = [this](const Rank& r) {
    bool direct = r.library_pid == r.pid && r.detached_at != 0;
    const auto rank = static_cast<size_t>(&r - ranks_.data());
    // Somebody else's signal has nothing to do with what a call had returned before.
    const bool killed = WIFSIGNALED(r.status) && WTERMSIG(r.status) != SIGABRT;
    const bool blames = !killed && page_ && page_->activity[rank].another.told();
    return Key(r.collateral || blames, direct ? std::min(r.detached_at, r.ended_at) : r.ended_at,
               !WIFSIGNALED(r.status));
  };
  int first = -1;
  for (size_t i = 0; i < ranks_.size(); i++) {
    const Rank& r = ranks_[i];
    if (r.phase != Rank::kEnded || r.status == 0) continue;
    if (r.ended_by_us) {
      facts_.ended_by_us++;
      continue;
    }
    facts_.failed_afterwards++;
    if (first < 0 || key(r) < key(ranks_[first])) first = static_cast<int>(i);
  }
  // mpirun ended the ranks because one of them failed, and that one told us.
  bool told = facts_.cause == VerdictFacts::Cause::kMpi && first >= 0 && !ranks_[first].collateral;
  if (told) facts_.cause = VerdictFacts::Cause::kRankFailed;
  if (facts_.cause == VerdictFacts::Cause::kMpi) facts_.failed_afterwards = facts_.ended_by_us = 0;
  switch (facts_.cause) {
    case VerdictFacts::Cause::kTimeout:
      facts_.exit_code = 124;
      break;
    case VerdictFacts::Cause::kSignalled:
      if (interrupted_) facts_.exit_code = 128 + interrupted_;
      facts_.failed_afterwards = facts_.ended_by_us = 0;  // that was the point of the signal
      break;
    case VerdictFacts::Cause::kRankFailed: {
      if (!ending_ || first < 0) break;
      facts_.failed_afterwards--;
      facts_.rank = first;
      facts_.status = ranks_[first].status;
      facts_.exit_code = ExitCodeOf(facts_.status);
      facts_.ranks[first] = Snapshot()[first];
      facts_.out_of_memory = OomKills() > oom_kills_at_start_;
      facts_.as_asked = absl::c_any_of(options_.mishaps, [&](const Injection& mishap) {
        return mishap.what == Injection::What::kKill && mishap.rank == facts_.rank;
      });
      uint64_t culprit_at = std::get<1>(key(ranks_[first])), earliest = culprit_at;
      for (size_t i = 0; i < ranks_.size(); i++) {
        const Rank& r = ranks_[i];
        if (!r.vanished || r.library_pid == r.pid || r.detached_at >= earliest) continue;
        earliest = r.detached_at;
        facts_.vanished_rank = static_cast<int>(i);
        facts_.ranks[i] = Snapshot()[i];
      }
      break;
    }
    case VerdictFacts::Cause::kMpi:
      if (mpirun_code_ != 0) facts_.exit_code = mpirun_code_;  // the code given to MPI_Abort, say
      break;
    case VerdictFacts::Cause::kRankRefused:
      break;
  }
}

}  // namespace hcclrun
