#include "launcher/job_report.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/rank_list.h"
#include "collective/types.h"
#include "launcher/call_text.h"
#include "launcher/divergences.h"
#include "launcher/fd.h"
#include "launcher/wait_text.h"

namespace hcclrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxStragglers = 8;
constexpr size_t kMaxGroups = 16;
constexpr int kJsonVersion = 1;

Json WindowOf(uint64_t offset) { return offset == UINT64_MAX ? Json(nullptr) : Json(offset); }

Json TimeOf(const JobHistory& history, int64_t ns) {
  return ns == 0 ? Json(nullptr) : Json(static_cast<double>((ns - history.start_ns) / 1000) / 1e6);
}

const char* KindName(OperationRecord::Kind kind) {
  constexpr const char* kNames[] = {"collective", "send", "receive", "local"};
  return kNames[kind];
}

const char* WaitName(WaitKind kind) {
  constexpr const char* kNames[] = {"nothing", "ranks",        "turn",   "shares", "transfer",
                                    "event",   "shared event", "notify", "value",  "host function",
                                    "stream",  "registration", "members"};
  return kNames[static_cast<size_t>(kind)];
}

Json CallJson(const JobHistory& history, const RankHistory& rank, const RecordedCall& c) {
  Json json;
  json["number"] = c.number;
  json["kind"] = KindName(c.kind);
  json["call"] = CallName(static_cast<CallId>(c.call));
  const RecordedCommunicator* comm = rank.communicator(c.comm);
  json["communicator"] = comm ? Json(comm->whole_name) : Json(nullptr);
  json["sequence"] = c.kind == OperationRecord::kLocal ? c.sequence : c.sequence + 1;
  json["called"] = TimeOf(history, c.called_ns);
  if (c.kind == OperationRecord::kLocal) return json;
  json["stream"] = c.stream;
  json["count"] = c.count;
  json["type"] = Name(static_cast<DataType>(c.dtype));
  if (c.reduces()) json["reduce"] = Name(static_cast<ReduceOp>(c.reduce_op));
  if (c.peer != kNoPeer) json[c.transfer() ? "peer" : "root"] = c.peer;
  json["bytes"] = c.bytes;
  json["posted"] = TimeOf(history, c.posted_ns);
  json["started"] = TimeOf(history, c.started_ns);
  json["finished"] = TimeOf(history, c.finished_ns);
  if (c.path != PathTaken::kUnknown) json["path"] = PathName(c.path);
  if (c.kind == OperationRecord::kCollective) {
    if (!rank.reason(c).empty()) json["reason"] = rank.reason(c);
    json["input_window"] = WindowOf(c.in_window);
    json["output_window"] = WindowOf(c.out_window);
  }
  if (c.fault) json["fault"] = FaultName(c.fault);
  return json;
}

Json WaiterJson(const JobHistory& history, int rank, const RecordedWaiter& w, bool stream) {
  Json json;
  json[stream ? "stream" : "thread"] = w.id;
  if (stream) {
    json["queued"] = w.queued;
    json["completed"] = w.completed;
  } else {
    json["call"] = CallName(static_cast<CallId>(w.call));
    json["inside"] = w.inside;
    json["since"] = TimeOf(history, w.entered_ns);
  }
  const std::string text = stream ? StreamText(history, rank, w) : ThreadText(history, rank, w);
  if (text.empty()) return json;
  json["waits_for"] = WaitName(w.kind);
  json["waits_since"] = TimeOf(history, w.since_ns);
  json["text"] = text;
  return json;
}

Json RankJson(const JobHistory& history, int rank, const JobHistory& calls) {
  const RankHistory& me = history.ranks[static_cast<size_t>(rank)];
  Json json;
  json["rank"] = rank;
  json["pid"] = me.pid;
  json["state"] = !me.started               ? "not started"
                  : me.ended || me.vanished ? "ended"
                  : me.stopped              ? "stopped"
                                            : "running";
  if (!me.end.empty()) json["end"] = me.end;
  json["doing"] = RankText(history, rank);
  json["communicators"] = Json::array();
  for (const RecordedCommunicator& c : me.communicators) {
    Json one;
    one["name"] = c.whole_name;
    one["rank"] = c.rank;
    one["size"] = c.size;
    one["alive"] = c.alive;
    one["operations_called"] = c.called;
    json["communicators"].push_back(std::move(one));
  }
  json["threads"] = Json::array();
  for (const RecordedWaiter& w : me.threads)
    json["threads"].push_back(WaiterJson(history, rank, w, false));
  json["streams"] = Json::array();
  for (const RecordedWaiter& w : me.streams)
    json["streams"].push_back(WaiterJson(history, rank, w, true));
  const RankHistory& caller = calls.rank(rank);
  json["calls_recorded"] = caller.calls_recorded;
  json["calls"] = Json::array();
  for (const RecordedCall& c : caller.calls) json["calls"].push_back(CallJson(history, caller, c));
  return json;
}

}  // namespace

std::string FaultName(uint32_t kind) {
  switch (static_cast<FaultKind>(kind)) {
    case FaultKind::kNone:
      return "";
    case FaultKind::kMismatch:
      return "mismatch";
    case FaultKind::kTransferMismatch:
      return "transfer mismatch";
    case FaultKind::kWindowOffsets:
      return "unequal window offsets";
    case FaultKind::kExecTimeout:
    case FaultKind::kTransferTimeout:
      return "timeout";
    case FaultKind::kRankDied:
      return "a rank died";
    case FaultKind::kRankExited:
    case FaultKind::kTransferGone:
      return "a rank left";
    case FaultKind::kCommBroken:
      return "communicator out of use";
    case FaultKind::kStreamAborted:
      return "aborted";
    default:
      return absl::StrCat("fault ", kind);
  }
}

const char* PathName(PathTaken path) {
  switch (path) {
    case PathTaken::kWindow:
      return "window";
    case PathTaken::kBuffered:
      return "buffered";
    case PathTaken::kDirect:
      return "direct";
    case PathTaken::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<std::string> HoldUpLines(const WaitGraph& graph) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(graph.stragglers.size(), kMaxStragglers); i++) {
    const Straggler& s = graph.stragglers[i];
    lines.push_back(absl::StrCat(
        s.waiting.empty() ? absl::StrCat("rank ", s.rank, " itself") : Ranks(s.waiting),
        s.waiting.size() > 1 ? " wait for " : " waits for ", s.doing));
  }
  if (graph.stragglers.size() > kMaxStragglers)
    lines.push_back(absl::StrCat("and for ", graph.stragglers.size() - kMaxStragglers, " others"));
  for (const WaitCycle& cycle : graph.cycles) {
    std::vector<std::string> waits;
    for (size_t e : cycle.edges) waits.push_back(EdgeText(graph, graph.edges[e]));
    lines.push_back(absl::StrCat("deadlock: ", absl::StrJoin(waits, "; "),
                                 cycle.hint.empty() ? "" : ". This is ", cycle.hint));
  }
  return lines;
}

std::vector<std::string> ReportLines(const JobHistory& history, const WaitGraph& graph,
                                     const std::string& why) {
  std::vector<std::string> lines = {absl::StrCat("report after ",
                                                 Seconds(history.now_ns - history.start_ns),
                                                 why.empty() ? "" : ", because ", why, ":")};
  for (std::string& line : HoldUpLines(graph)) lines.push_back(std::move(line));
  std::vector<std::pair<std::string, std::vector<int>>> groups;  // text, ranks
  for (size_t r = 0; r < history.ranks.size(); r++) {
    const std::string key = RankText(history, static_cast<int>(r), Times::kLeftOut);
    auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (it == groups.end()) it = groups.insert(groups.end(), {key, {}});
    it->second.push_back(static_cast<int>(r));
  }
  for (size_t g = 0; g < groups.size(); g++) {
    if (g == kMaxGroups) {
      lines.push_back(
          absl::StrCat("and ", groups.size() - g, " more kinds of ranks (--report FILE has all)"));
      break;
    }
    lines.push_back(absl::StrCat(groups[g].second.size() > 1 ? "each of " : "",
                                 Ranks(groups[g].second), " ",
                                 RankText(history, groups[g].second.front())));
  }
  return lines;
}

std::string ReportJson(const JobHistory& history, const WaitGraph& graph, const std::string& why,
                       const std::string& verdict, const JobHistory* later) {
  Json json;
  json["hcclrun_report"] = kJsonVersion;
  json["seconds"] = static_cast<double>((history.now_ns - history.start_ns) / 1000) / 1e6;
  json["why"] = why;
  json["verdict"] = verdict;
  json["stragglers"] = Json::array();
  for (const Straggler& s : graph.stragglers) {
    Json one;
    one["rank"] = s.rank >= 0 ? Json(s.rank) : Json(nullptr);
    one["doing"] = s.doing;
    one["ranks_waiting"] = s.waiting;
    json["stragglers"].push_back(std::move(one));
  }
  json["deadlocks"] = Json::array();
  for (const WaitCycle& cycle : graph.cycles) {
    Json one;
    one["hint"] = cycle.hint;
    one["waits"] = Json::array();
    for (size_t e : cycle.edges) one["waits"].push_back(EdgeText(graph, graph.edges[e]));
    json["deadlocks"].push_back(std::move(one));
  }
  json["waits"] = Json::array();
  for (const WaitEdge& edge : graph.edges) {
    Json one;
    one["from"] = NodeText(graph, edge.from);
    one["to"] = NodeText(graph, edge.to);
    one["text"] = EdgeText(graph, edge);
    json["waits"].push_back(std::move(one));
  }
  json["divergences"] = Divergences(later ? *later : history);
  json["ranks"] = Json::array();
  for (size_t r = 0; r < history.ranks.size(); r++)
    json["ranks"].push_back(RankJson(history, static_cast<int>(r), later ? *later : history));
  // Names of communicators are the program's and may be anything.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

constexpr int64_t kReaderPatienceMs = 2'000;

// Which of the launcher's own outputs is that file (/dev/stdout, say); -1: none. It is written on,
// not anew: what the ranks have said stands in it.
int OwnOutput(const std::string& path) {
  struct stat wanted, own;
  if (stat(path.c_str(), &wanted) != 0 || !S_ISREG(wanted.st_mode)) return -1;
  for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fstat(fd, &own) == 0 && own.st_dev == wanted.st_dev && own.st_ino == wanted.st_ino)
      return fd;
  }
  return -1;
}

// Into a link's target, a device or a pipe. A pipe without a reader is refused at once, one whose
// reader does not read after a while: the launcher has a job to end.
bool WriteInto(const std::string& path, const std::string& text) {
  const int own = OwnOutput(path);
  const Fd fd(
      own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0)
               : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!fd.valid()) return false;
  const Deadline deadline = Deadline::After(kReaderPatienceMs);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd.get(), text.data() + at, text.size() - at);
    if (n >= 0) {
      at += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      if (deadline.passed()) {
        errno = ETIMEDOUT;
        return false;
      }
      pollfd room = {fd.get(), POLLOUT, 0};
      poll(&room, 1, 100);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// What is no plain file stays what it is, and gets the text.
bool IsSpecial(const std::string& path) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode);
}

std::string Beside(const std::string& path) { return path + ".part"; }

std::string NotWritten(const std::string& path, int error) {
  return absl::StrCat(path, " cannot be written: ", strerror(error));
}

}  // namespace

std::string WhyNotWritable(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return NotWritten(path, EISDIR);
  if (IsSpecial(path)) {
    // A link may lead to what is not there yet, a pipe's reader may still come.
    if (access(path.c_str(), W_OK) == 0 || errno == ENOENT) return "";
    return NotWritten(path, errno);
  }
  const std::string beside = Beside(path);
  const Fd fd(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid() && errno != EEXIST) return NotWritten(path, errno);
  if (fd.valid()) unlink(beside.c_str());
  return "";
}

std::string WriteWholeFile(const std::string& path, const std::string& text) {
  if (IsSpecial(path)) return WriteInto(path, text) ? "" : NotWritten(path, errno);
  const std::string beside = Beside(path);
  FILE* file = fopen(beside.c_str(), "we");
  bool written = file && fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) written = fclose(file) == 0 && written;
  if (written && rename(beside.c_str(), path.c_str()) == 0) return "";
  const int error = errno;
  remove(beside.c_str());
  return NotWritten(path, error);
}

}  // namespace hcclrun
