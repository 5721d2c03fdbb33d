#pragma once
// One job from its start to its verdict. Everything happens in one thread, from one event loop.
//
// How a job ends. The first rank that ends abnormally (killed, or a code other than 0) begins the
// ending: the job page says so to the library, the other ranks have a second to return their
// errors, then their process groups get SIGTERM and a second later SIGKILL. What fails after the
// first failure is counted and not blamed. --timeout begins with SIGTERM. A signal to the launcher
// is passed on; ranks that survive the first death by it have 5 seconds; a second signal kills.
// When all ranks have ended, what they left behind has a second (none after a failure) and is
// killed: as a child subreaper the launcher is the parent of whatever lost its parent.

#include <array>
#include <boost/interprocess/mapped_region.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "launcher/event_loop.h"
#include "launcher/fd.h"
#include "launcher/guard.h"
#include "launcher/job_history.h"
#include "launcher/lifeline_server.h"
#include "launcher/mpi.h"
#include "launcher/options.h"
#include "launcher/output.h"
#include "launcher/rank_table_file.h"
#include "launcher/signals.h"
#include "launcher/stdin_pump.h"
#include "launcher/verdict.h"
#include "launcher/wait_graph.h"
#include "shm/job_page.h"
#include "shm/memory_object.h"

namespace hcclrun {

// Processes that the kernel has killed for lack of memory since it started; 0 where it
// does not count.
uint64_t OomKills();

class Supervisor : private LifelineServer::Listener {
 public:
  explicit Supervisor(Options options);
  ~Supervisor() override;
  // Runs the job; the exit code of hcclrun.
  int Run();

 private:
  struct Rank {
    enum Phase { kNotStarted, kRunning, kEnded } phase = kNotStarted;
    pid_t pid = 0;
    int status = 0;
    uint64_t ended_at = 0;     // event number, 0 = runs
    uint64_t detached_at = 0;  // event number of the end of its library process, 0 = has not ended
    int32_t library_pid = 0;
    bool vanished = false;     // its library process ended, and not through exit()
    bool ended_by_us = false;  // it ran when we began to kill
    bool collateral = false;   // mpirun ended it
    int shim = -1;             // connection of its shim
    std::unique_ptr<RankStream> out, err;
  };
  // The rank's ends of its streams: numbers, and the owners of those that the launcher must close.
  struct StreamEnds {
    std::array<int, 3> fds = {0, 1, 2};
    std::vector<Fd> owned;
  };
  enum class Stage { kRunning, kGrace, kTerminating, kKilling };

  // supervisor.cpp: preparing and starting
  int Prepare();  // 0, or the exit code after a sentence
  int DecideMpi();
  int PreparePage();
  int WriteRankTable();
  void ChooseProcessors();
  void StartRanks();
  void StartRank(int rank, Environment* environment);
  void StartMpiRun(Environment* environment);
  Environment CommonEnvironment() const;
  std::string MakeStreams(int rank, StreamEnds* ends);  // a sentence on failure
  // Runs under gdb (--gdb), and keeps the terminal as long as it does.
  bool Debugged(int rank) const { return rank == options_.gdb_rank; }
  bool DebuggerRuns() const;
  // Leads a process group of its own, so that the terminal's signals do not reach it.
  bool OwnGroup(int rank) const {
    return own_groups_ && !(Debugged(rank) && mpi_ == MpiFlavour::kNone);
  }
  void Say(const std::string& line);
  // Also before there is any output of the job.
  static void EarlySentence(const std::string& sentence);

  // supervisor.cpp: the loop
  void Step(int max_wait_ms);
  void OnSignals();
  void Reap();
  bool Over() const;
  void Drain();
  void Suspend();

  // LifelineServer::Listener, supervisor_end.cpp
  void OnAttached(int rank, int32_t pid) override;
  void OnDetached(int rank, int32_t pid, bool finished) override;
  void OnReportAsked(int rank, const LifelineAsk& ask) override;  // supervisor_report.cpp
  bool OnShim(int rank, int connection, std::array<int, 3>* streams) override;
  void OnShimStreamsSent(int rank) override;
  void OnShimReport(int rank, const ShimReport& report) override;
  void OnShimLost(int rank) override;

  // supervisor_end.cpp: judging and ending
  void OnRankEnded(int rank, int status);
  void OnRankRefused(int rank, const std::string& why, int exit_code);
  void OnMpiRunEnded(int status);
  void OnGuardEnded(int status);
  void OnTimeout();
  void OnInterrupt(int signal_number);
  void BeginEnding(VerdictFacts::Cause cause, Stage stage);
  void Advance(Stage stage);
  void SignalRank(int rank, int signal_number);
  void SignalAll(int signal_number);
  void KillDescendants();
  std::vector<RankNote> Snapshot() const;
  void Judge();
  bool RefusedItsArguments() const;

  // supervisor_report.cpp: what the flight recorder says
  JobHistory TakeHistory() const;
  bool Stopped(const Rank& rank) const;
  void Report(const std::string& why);
  void TellReport(const std::string& why);  // about history_
  void TellStall(int rank);
  void Remember(JobHistory history);
  void WriteReport(const std::string& json);
  void FinalReports(const std::string& verdict);

  Options options_;
  Signals signals_;
  EventLoop loop_;
  JobSinks sinks_;
  JobIdentity identity_;
  LifelineServer server_;
  MemoryObject page_object_;
  boost::interprocess::mapped_region page_region_;
  JobPage* page_ = nullptr;
  RecorderLayout recorder_ = {};  // of the flight recorder behind the page
  std::unique_ptr<Guard> guard_;
  int guards_lost_ = 0;
  std::string rank_table_path_;  // empty: no --servers
  RankTableFile rank_table_;

  std::string program_;  // of rank 0
  MpiFlavour mpi_ = MpiFlavour::kNone;
  MpiRun mpirun_;
  pid_t mpirun_pid_ = 0;
  int mpirun_code_ = 0;  // how it exited
  int device_count_ = 1;
  bool own_groups_ = true;
  Fd null_;
  std::unique_ptr<StdinPump> stdin_pump_;
  std::vector<Rank> ranks_;
  std::unordered_map<pid_t, int> rank_of_pid_;
  std::vector<int> processors_;  // of the ranks, with --bind; empty: they are not bound
  std::vector<StreamEnds> shim_ends_;  // of a shim being answered
  std::unique_ptr<RankStream> mpirun_output_;
  bool reap_ = false;

  uint64_t events_ = 0;  // numbers what happens, to order it
  Stage stage_ = Stage::kRunning;
  bool ending_ = false;
  int interrupted_ = 0;      // signal
  int terminal_signal_ = 0;  // that the terminal sent to us and to the rank alike
  bool give_up_output_ = false;
  VerdictFacts facts_;
  std::vector<RankNote> early_snapshot_;  // taken when a library process vanished
  int64_t early_snapshot_ns_ = 0;
  JobHistory early_history_;  // likewise
  uint64_t oom_kills_at_start_ = 0;
  JobHistory history_;  // of the last report, or of the first failure
  WaitGraph graph_;     // of history_
  std::string history_why_;
  bool asked_report_ = false;  // a rank has asked for one; the others would say the same
  bool hung_ = false;          // graph_ shows a wait that has run into a time-out, or a deadlock
  bool stall_told_ = false;
  bool report_trouble_told_ = false;
};

}  // namespace hcclrun
