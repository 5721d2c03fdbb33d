// What the flight recorder says, at the moments at which somebody wants to know: third part of
// Supervisor.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "launcher/call_text.h"
#include "launcher/divergences.h"
#include "launcher/explain.h"
#include "launcher/hardware_troubles.h"
#include "launcher/job_report.h"
#include "launcher/signals.h"
#include "launcher/supervisor.h"
#include "launcher/trace_file.h"
#include "shm/futex.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

constexpr size_t kMaxDivergences = 4;

std::string EndText(int status) {
  return WIFSIGNALED(status) ? std::string(SignalName(WTERMSIG(status)))
                             : absl::StrCat("exit code ", WEXITSTATUS(status));
}

}  // namespace

JobHistory Supervisor::TakeHistory() const {
  JobHistory history =
      CopyHistory(recorder_, ranks_.size(), static_cast<char*>(page_region_.get_address()));
  for (size_t i = 0; i < ranks_.size(); i++) {
    const Rank& rank = ranks_[i];
    RankHistory& h = history.ranks[i];
    h.pid = rank.pid;
    h.library_pid = rank.library_pid;
    h.started = rank.phase != Rank::kNotStarted;
    h.ended = rank.phase == Rank::kEnded;
    h.library_gone = rank.detached_at != 0;
    h.vanished = rank.vanished;
    h.stopped = Stopped(rank);
    if (h.ended && h.started) h.end = EndText(rank.status);
  }
  return history;
}

bool Supervisor::Stopped(const Rank& rank) const {
  if (rank.phase != Rank::kRunning) return false;
  const bool library = rank.library_pid != 0 && rank.detached_at == 0;
  return ProcessStopped(library ? rank.library_pid : rank.pid);
}

void Supervisor::Report(const std::string& why) {
  history_ = TakeHistory();
  TellReport(why);
}

// How things stand, for the reports at the end, where no report is told now.
void Supervisor::Remember(JobHistory history) {
  if (options_.report.empty() && !options_.a3_report) return;
  history_ = std::move(history);
  history_why_.clear();
  graph_ = FindWaits(history_);
}

void Supervisor::TellReport(const std::string& why) {
  history_why_ = why;
  graph_ = FindWaits(history_);
  for (const std::string& line : ReportLines(history_, graph_, why))
    sinks_.err->WriteOwnLine(absl::StrCat("hcclrun: ", line));
  if (!options_.report.empty()) WriteReport(ReportJson(history_, graph_, why, ""));
}

void Supervisor::WriteReport(const std::string& json) {
  const std::string trouble = WriteWholeFile(options_.report, json);
  if (trouble.empty() || report_trouble_told_) return;
  report_trouble_told_ = true;
  sinks_.err->WriteOwnLine(absl::StrCat("hcclrun: --report ", trouble));
}

// A rank has told that it waits, and goes on. It knows whom it misses, but not why.
void Supervisor::TellStall(int rank) {
  if (ending_ || interrupted_ || asked_report_ || stall_told_) return;
  const JobHistory history = TakeHistory();
  const WaitGraph graph = FindWaits(history);
  const std::vector<std::string> lines = HoldUpLines(graph);
  if (lines.empty()) return;  // the wait is over
  stall_told_ = true;
  for (const std::string& line : lines) {
    sinks_.err->WriteOwnLine(
        absl::StrCat("hcclrun: after ", Seconds(history.now_ns - history.start_ns), ", ", line));
  }
  sinks_.err->WriteOwnLine(absl::StrCat("hcclrun: kill -QUIT ", getpid(),
                                        ", or Ctrl-\\, shows "
                                        "what every rank does"));
  if (!options_.report.empty())
    WriteReport(ReportJson(history, graph, absl::StrCat("rank ", rank, " waits"), ""));
}

// The rank waits meanwhile: how things stand is about to change because it gives up.
void Supervisor::OnReportAsked(int rank, const LifelineAsk& ask) {
  if (ask.cause == static_cast<uint32_t>(ReportCause::kStall)) return TellStall(rank);
  // Who asked before the last copy was taken is in it.
  const bool answered =
      static_cast<int32_t>(page_->reports_taken.load(std::memory_order_relaxed) - ask.number) >= 0;
  if (answered) return;
  const uint32_t asked = page_->reports_asked.load(std::memory_order_relaxed);
  const bool first = !ending_ && !asked_report_;
  if (first) history_ = TakeHistory();
  // They need not wait until all is told.
  page_->reports_taken.store(asked, std::memory_order_release);
  FutexWakeAll(&page_->reports_taken);
  if (!first) return;
  asked_report_ = hung_ = true;
  const bool connecting = ask.cause == static_cast<uint32_t>(ReportCause::kConnectTimeout);
  TellReport(absl::StrCat("rank ", rank, " gives up waiting (",
                          connecting ? "HCCL_CONNECT_TIMEOUT" : "HCCL_EXEC_TIMEOUT", ")"));
}

// The end of the job, with or without failures.
void Supervisor::FinalReports(const std::string& verdict) {
  JobHistory now = TakeHistory();
  auto say = [this](const char* what, const std::string& line) {
    sinks_.err->WriteOwnLine(absl::StrCat("hcclrun: ", what, line));
  };
  // A job that failed has other worries; its ranks differ because they did not come to the end.
  if (facts_.exit_code == 0) {
    const std::vector<std::string> lines = Divergences(now);
    for (size_t i = 0; i < std::min(lines.size(), kMaxDivergences); i++) say("warning: ", lines[i]);
  }
  if (options_.explain) {
    for (const std::string& line : ExplainLines(now)) say("explain: ", line);
  }
  if (options_.a3_report) {
    std::vector<std::string> lines = HardwareTroubles(now);
    if (hung_) {
      const std::vector<std::string> hang = HardwareHang(graph_);
      lines.insert(lines.end(), hang.begin(), hang.end());
    }
    for (const std::string& line : lines) say("A3: ", line);
    if (lines.empty()) say("A3: ", "no call of this run is known to break there");
  }
  if (!options_.trace.empty()) {
    const std::string trouble = WriteWholeFile(options_.trace, TraceJson(now));
    if (!trouble.empty()) say("--trace ", trouble);
  }
  if (options_.report.empty()) return;
  // Of a job that failed, how things stood then; of each rank, how it ended.
  if (facts_.exit_code != 0 && !history_.ranks.empty()) {
    for (size_t i = 0; i < now.ranks.size(); i++) history_.ranks[i].end = now.ranks[i].end;
    return WriteReport(ReportJson(history_, graph_, history_why_, verdict, &now));
  }
  WriteReport(ReportJson(now, FindWaits(now), history_why_, verdict));
}

}  // namespace hcclrun
