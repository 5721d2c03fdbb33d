// What the job needs, and starting it: the first part of Supervisor.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/job.h"
#include "base/settings.h"
#include "base/soc.h"
#include "launcher/debugger.h"
#include "launcher/job_report.h"
#include "launcher/program.h"
#include "launcher/rank_process.h"
#include "launcher/supervisor.h"
#include "shm/budget.h"
#include "shm/processors.h"

namespace hcclrun {
namespace {

bool MakeDirectories(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    if (mkdir(path.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) break;
  }
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return false;
  errno = ENOTDIR;
  return S_ISDIR(st.st_mode);
}

}  // namespace

int Supervisor::Prepare() {
  int size = options_.ranks;
  FoundProgram found = FindProgram(Substitute(options_.command[0], 0, size));
  if (found.path.empty()) {
    EarlySentence(found.sentence);
    return found.exit_code;
  }
  program_ = found.path;
  if (options_.gdb_rank >= 0 && (found = FindGdb()).path.empty()) {
    EarlySentence(found.sentence);
    return found.exit_code;
  }
  if (int code = DecideMpi()) return code;

  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  rlim_t per_rank = options_.log_directory.empty() && size > 1 ? 3 : 1;
  if (files.rlim_cur != RLIM_INFINITY && files.rlim_cur < 64 + per_rank * size) {
    EarlySentence(absl::StrCat("the limit of ", files.rlim_cur, " open files is too low for ", size,
                               " ranks; raise it to ", 64 + per_rank * size, " (ulimit -n)",
                               per_rank == 3 ? ", or use --log-dir, which needs fewer" : ""));
    return 1;
  }
  if (!options_.log_directory.empty() && !MakeDirectories(options_.log_directory)) {
    EarlySentence(absl::StrCat("--log-dir ", options_.log_directory,
                               " cannot be created: ", strerror(errno)));
    return 1;
  }
  for (const auto& [option, path] :
       {std::pair("--report", options_.report), std::pair("--trace", options_.trace)}) {
    const std::string trouble = path.empty() ? "" : WhyNotWritable(path);
    if (trouble.empty()) continue;
    EarlySentence(absl::StrCat(option, " ", trouble));
    return 1;
  }
  null_ = Fd(open("/dev/null", O_RDWR | O_CLOEXEC));
  const int largest = static_cast<int>(options_.topology.largest_server());
  device_count_ = largest ? largest : size;
  if (options_.device_count) {
    device_count_ = options_.device_count;
  } else if (const char* text = getenv(kEnvDeviceCount)) {
    int count;
    if (absl::SimpleAtoi(text, &count) && count >= 1 && count <= static_cast<int>(kMaxJobRanks))
      device_count_ = std::max(largest, count);
  }
  // A single rank on a terminal stays in the foreground group: it may read the terminal (a
  // debugger, a prompt), and Ctrl-C reaches it directly.
  own_groups_ = !(size == 1 && mpi_ == MpiFlavour::kNone && isatty(STDIN_FILENO));
  if (options_.topology.given()) {
    rank_table_path_ = RankTablePath(identity_.id);
    for (std::vector<std::string>* texts : {&options_.command, &options_.variables}) {
      for (std::string& text : *texts)
        absl::StrReplaceAll({{"{rank_table}", rank_table_path_}}, &text);
    }
  }
  return PreparePage();
}

// The guard runs already: it removes what a killed launcher leaves.
int Supervisor::WriteRankTable() {
  if (!options_.topology.given()) return 0;
  const std::string soc = options_.soc.empty() ? Settings::Get().soc : options_.soc;
  const std::string trouble = rank_table_.Write(
      rank_table_path_,
      RankTableText(options_.topology, static_cast<uint32_t>(device_count_), IsAtlasA3(soc)));
  if (!trouble.empty()) {
    EarlySentence(trouble);
    return 1;
  }
  Say(absl::StrCat("servers of ", absl::StrJoin(options_.topology.servers(), ", "),
                   " ranks, SuperPoDs of ", absl::StrJoin(options_.topology.superpods(), ", "),
                   " servers; rank table ", rank_table_path_));
  return 0;
}

int Supervisor::DecideMpi() {
  if (options_.mpi == MpiChoice::kOff) return 0;
  mpi_ = options_.mpi == MpiChoice::kOpenMpi ? MpiFlavour::kOpenMpi
         : options_.mpi == MpiChoice::kMpich ? MpiFlavour::kMpich
                                             : MpiOfProgram(program_);
  if (mpi_ == MpiFlavour::kNone) return 0;
  mpirun_ = FindMpiRun(mpi_);
  if (!mpirun_.path.empty()) return 0;
  EarlySentence(MissingMpiRun(program_, mpi_));
  return 1;
}

int Supervisor::PreparePage() {
  auto refuse = [](const char* what, const Fault& fault) {
    std::string why = fault.kind == FaultKind::kSystem && fault.n[0]
                          ? strerror(static_cast<int>(fault.n[0]))
                          : "no memory is left";
    EarlySentence(absl::StrCat(what, " cannot be set up: ", why,
                               "; hcclrun doctor shows what this machine allows"));
    return 1;
  };
  RecorderLayout& recorder = recorder_;
  recorder = RecorderLayout::For(static_cast<uint32_t>(options_.ranks),
                                 !options_.trace.empty() || options_.explain || options_.a3_report);
  recorder.offset = (sizeof(JobPage) + 4095) & ~uint64_t{4095};
  const uint64_t bytes = recorder.offset + recorder.stride * static_cast<uint64_t>(options_.ranks);
  Result<MemoryObject> object = MemoryObject::Create(bytes);
  if (!object.ok()) return refuse("the job's shared page", object.fault());
  page_object_ = std::move(*object);
  if (Fault f = page_object_.EnsurePages(0, bytes)) return refuse("the job's shared page", f);
  Result<boost::interprocess::mapped_region> region = page_object_.Map();
  if (!region.ok()) return refuse("the job's shared page", region.fault());
  page_region_ = std::move(*region);
  page_ = static_cast<JobPage*>(page_region_.get_address());
  page_->magic = kJobPageMagic;
  page_->version = kJobPageVersion;
  page_->ranks = static_cast<uint32_t>(options_.ranks);
  recorder.SetStart(ClockReading::Take());
  page_->recorder = recorder;
  uint64_t limit = 0;
  if (options_.memory.empty() || !ParseBytes(options_.memory.c_str(), &limit))
    limit = Settings::Get().memory_bytes;
  page_->memory_limit_bytes = limit ? limit : MachineMemoryAvailable();
  for (int r = 0; r < options_.ranks; r++)
    page_->activity[r].waiting_for.store(-1, std::memory_order_relaxed);
  if (Fault f = server_.Start(identity_, page_, page_object_.fd(),
                              static_cast<uint32_t>(options_.ranks), recorder_))
    return refuse("the lifeline socket", f);
  return 0;
}

Environment Supervisor::CommonEnvironment() const {
  Environment environment = CurrentEnvironment();
  SetJobVariables(identity_, options_.ranks, device_count_, options_.topology, &environment);
  if (!rank_table_path_.empty()) environment[kRankTableFile] = rank_table_path_;
  if (!options_.soc.empty()) environment["HCCLRUN_SOC"] = options_.soc;
  if (options_.strict) environment["HCCLRUN_STRICT"] = "1";
  if (!options_.memory.empty()) environment["HCCLRUN_MEMORY"] = options_.memory;
  if (!options_.hbm.empty()) environment["HCCLRUN_HBM_SIZE"] = options_.hbm;
  if (options_.shared_root_info) environment.insert_or_assign(kEnvSharedRootInfo, std::string("1"));
  if (options_.gdb_rank >= 0) SetNoDeadlines(&environment);
  return environment;
}

std::string Supervisor::MakeStreams(int rank, StreamEnds* ends) {
  auto own = [&](int target, int fd) {
    ends->owned.emplace_back(fd);
    ends->fds[target] = fd;
    return fd >= 0;
  };
  if (Debugged(rank)) return "";
  if (rank > 0 || options_.gdb_rank >= 0) {
    ends->fds[0] = null_.get();
  } else if (isatty(STDIN_FILENO) && own_groups_) {
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) return absl::StrCat("no pipe for it: ", strerror(errno));
    own(0, pipe[0]);
    stdin_pump_ = std::make_unique<StdinPump>(&loop_, STDIN_FILENO, Fd(pipe[1]));
  }
  for (int target : {1, 2}) {
    if (!options_.log_directory.empty()) {
      std::string path =
          absl::StrCat(options_.log_directory, "/rank.", rank, target == 1 ? ".out" : ".err");
      if (!own(target,
               open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666))) {
        return absl::StrCat(path, " cannot be written: ", strerror(errno));
      }
    } else if (options_.ranks > 1) {
      int pipe[2];
      if (pipe2(pipe, O_CLOEXEC) != 0) return absl::StrCat("no pipe for it: ", strerror(errno));
      own(target, pipe[1]);
      std::string label = options_.labels ? absl::StrCat("[", rank, "] ") : "";
      (target == 1 ? ranks_[rank].out : ranks_[rank].err) = std::make_unique<RankStream>(
          &loop_, target == 1 ? sinks_.out : sinks_.err, Fd(pipe[0]), label);
    }
  }
  return "";
}

void Supervisor::StartRank(int rank, Environment* environment) {
  StreamEnds ends;
  std::string trouble = MakeStreams(rank, &ends);
  if (!trouble.empty()) return OnRankRefused(rank, trouble, 1);
  SetRankVariables(rank, options_.ranks, device_count_, options_.topology, environment);
  SetUserVariables(options_.variables, rank, options_.ranks, environment);
  ProcessSpec spec;
  spec.arguments = Substitute(options_.command, rank, options_.ranks);
  spec.environment = ToStrings(*environment);
  spec.own_group = OwnGroup(rank);
  if (!processors_.empty()) spec.processor = processors_[static_cast<size_t>(rank)];
  spec.in = ends.fds[0], spec.out = ends.fds[1], spec.err = ends.fds[2];
  FoundProgram found = FindProgram(spec.arguments[0]);
  if (found.path.empty()) return OnRankRefused(rank, found.sentence, found.exit_code);
  spec.program = found.path;
  if (Debugged(rank)) {
    spec.arguments[0] = found.path;
    spec.arguments = UnderGdb(spec.arguments);
    spec.program = FindGdb().path;
  }
  StartedProcess started = StartProcess(spec, signals_);
  if (started.pid < 0) {
    if (started.exec_failed) {
      found = ExecRefused(spec.program, started.error);
      return OnRankRefused(rank, found.sentence, found.exit_code);
    }
    return OnRankRefused(
        rank,
        absl::StrCat(
            strerror(started.error),
            started.error == EAGAIN
                ? "; the number of processes is limited (ulimit -u, or pids.max of the container)"
                : ""),
        1);
  }
  ranks_[rank].phase = Rank::kRunning;
  ranks_[rank].pid = started.pid;
  rank_of_pid_[started.pid] = rank;
  Say(absl::StrCat("rank ", rank, " is process ", started.pid));
}

void Supervisor::StartMpiRun(Environment* environment) {
  SetMpiVariables(mpi_, environment);
  std::vector<std::string> shim = {OwnPath(), "--mpi-rank-shim", "--gdb",
                                   std::to_string(options_.gdb_rank)};
  for (const std::string& variable : options_.variables) {
    shim.push_back("-x");
    shim.push_back(variable);
  }
  shim.push_back("--");
  shim.insert(shim.end(), options_.command.begin(), options_.command.end());
  ProcessSpec spec;
  spec.program = mpirun_.path;
  spec.arguments = MpiRunCommand(mpirun_, mpi_, options_.ranks, !processors_.empty(), shim);
  spec.environment = ToStrings(*environment);
  Say(absl::StrCat("starting ", absl::StrJoin(spec.arguments, " ")));
  int pipe[2];
  StartedProcess started;
  if (pipe2(pipe, O_CLOEXEC) == 0) {
    Fd write_end(pipe[1]);
    // The ranks' output does not pass through mpirun, so what comes here is mpirun's own.
    mpirun_output_ = std::make_unique<RankStream>(&loop_, sinks_.err, Fd(pipe[0]), "[mpirun] ");
    spec.in = null_.get(), spec.out = write_end.get(), spec.err = write_end.get();
    started = StartProcess(spec, signals_);
  } else {
    started.error = errno;
  }
  if (started.pid < 0) {
    facts_.detail = absl::StrCat(mpirun_.path, " cannot be started: ", strerror(started.error));
    return BeginEnding(VerdictFacts::Cause::kMpi, Stage::kTerminating);
  }
  mpirun_pid_ = started.pid;
}

// For --bind. Ranks that have to share a processor are better off unbound: whichever is free takes
// the next one that can go on.
void Supervisor::ChooseProcessors() {
  const uint32_t usable = ProcessorCount();
  if (usable >= static_cast<uint32_t>(options_.ranks)) {
    processors_ = CoresFirst(ProcessorsOf(0));
    return;
  }
  EarlySentence(absl::StrCat("--bind has no effect: ", options_.ranks, " ranks, but only ", usable,
                             usable == 1 ? " processor" : " processors",
                             " that they may use (affinity, quota of the container)"));
}

void Supervisor::StartRanks() {
  if (options_.bind) ChooseProcessors();
  Environment environment = CommonEnvironment();
  Say(absl::StrCat("job ", identity_.id, ": ", options_.ranks,
                   options_.ranks == 1 ? " rank of " : " ranks of ", program_, "; libraries: ",
                   LibraryDirectory().empty() ? "none beside hcclrun" : LibraryDirectory(),
                   "; device memory bound: ", page_->memory_limit_bytes >> 20, " MiB"));
  if (options_.timeout_ms) loop_.After(options_.timeout_ms, [this] { OnTimeout(); });
  if (mpi_ != MpiFlavour::kNone) return StartMpiRun(&environment);
  auto start = [&](int rank) {
    if (ending_ || interrupted_) return;
    Environment own = environment;
    StartRank(rank, &own);
    Step(0);  // ranks that run already are served meanwhile
  };
  // A rank that fails at once keeps those after it from being started, but not the one to debug.
  if (options_.gdb_rank >= 0) start(options_.gdb_rank);
  for (int r = 0; r < options_.ranks; r++) {
    if (!Debugged(r)) start(r);
  }
}

}  // namespace hcclrun
