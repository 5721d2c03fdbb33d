#include "launcher/rank_shim.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/job.h"
#include "base/log.h"
#include "launcher/debugger.h"
#include "launcher/environment.h"
#include "launcher/program.h"
#include "launcher/rank_process.h"
#include "launcher/shim_protocol.h"
#include "launcher/signals.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

constexpr int64_t kPatienceMs = 10'000;
constexpr int kFailed = 1;

// First variable that is set to a number; -1 = none.
int Number(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* text = getenv(name);
    int value;
    if (text && absl::SimpleAtoi(text, &value)) return value;
  }
  return -1;
}

class Shim {
 public:
  int Run(int argc, char** argv);

 private:
  bool Connect();
  bool StartProgram(int argc, char** argv);
  void Report(ShimReport::Kind kind, int32_t value, const std::string& why = "");
  void OnSignal();
  bool OnOrder();  // false: leave now

  Signals signals_;
  UniqueFd launcher_;
  std::vector<UniqueFd> received_;
  int rank_ = -1, size_ = 0;
  pid_t program_ = -1;  // -1 = ended
};

bool Shim::Connect() {
  Deadline deadline = Deadline::After(kPatienceMs);
  Result<UniqueFd> socket = ConnectAbstract(Job::Get().lifeline(), deadline);
  if (!socket.ok()) return false;
  launcher_ = std::move(*socket);
  ShimHello hello = {};
  hello.magic = kShimMagic;
  hello.rank = rank_;
  hello.size = size_ > 0 ? size_ : 0;
  hello.pid = getpid();
  memcpy(hello.secret, Job::Get().secret().data(),
         std::min(Job::Get().secret().size(), sizeof hello.secret));
  if (SendPacket(launcher_.get(), &hello, sizeof hello, {}, deadline)) return false;
  ShimWelcome welcome = {};
  Result<size_t> got =
      ReceivePacket(launcher_.get(), &welcome, sizeof welcome, &received_, deadline);
  return got.ok() && *got == sizeof welcome && welcome.magic == kShimMagic && welcome.status == 0 &&
         received_.size() == 3;
}

void Shim::Report(ShimReport::Kind kind, int32_t value, const std::string& why) {
  ShimReport report = {kind, value, {}};
  memcpy(report.why, why.data(), std::min(why.size(), sizeof report.why));
  (void)SendPacket(launcher_.get(), &report, sizeof report, {}, Deadline::After(kPatienceMs));
}

bool Shim::StartProgram(int argc, char** argv) {
  std::vector<std::string> variables, command;
  const bool debugged = strcmp(argv[3], std::to_string(rank_).c_str()) == 0;
  int i = 4;
  for (; i + 1 < argc && strcmp(argv[i], "-x") == 0; i += 2) variables.push_back(argv[i + 1]);
  command.assign(argv + i + 1, argv + argc);  // behind "--"

  ProcessSpec spec;
  spec.arguments = Substitute(command, rank_, Job::Get().size());
  Environment environment = CurrentEnvironment();
  int device_count = Number({kEnvDeviceCount});
  const int size = Job::Get().size();
  SetRankVariables(rank_, size, device_count > 0 ? device_count : size, Job::Get().topology(),
                   &environment);
  SetUserVariables(variables, rank_, Job::Get().size(), &environment);
  spec.environment = ToStrings(environment);
  FoundProgram found = FindProgram(spec.arguments[0]);
  if (found.path.empty()) {
    Report(ShimReport::kNotStarted, found.exit_code, found.sentence);
    return false;
  }
  spec.program = found.path;
  if (debugged) {
    spec.arguments[0] = found.path;
    spec.arguments = UnderGdb(spec.arguments);
    spec.program = FindGdb().path;
  }
  // A tracked descriptor is closed in the forked child, so the streams change owner first.
  Fd streams[3];
  for (int s = 0; s < 3; s++) streams[s] = Fd(received_[s].Release());
  spec.in = streams[0].get(), spec.out = streams[1].get(), spec.err = streams[2].get();
  StartedProcess started = StartProcess(spec, signals_);
  if (started.pid < 0) {
    const FoundProgram why = ExecRefused(spec.program, started.error);
    Report(ShimReport::kNotStarted, started.exec_failed ? why.exit_code : 1, why.sentence);
    return false;
  }
  program_ = started.pid;
  // Under mpirun nobody of the launcher's process group is among the program's parents; gdb has one
  // of its own.
  if (debugged) GiveTerminal(spec.in, program_);
  Report(ShimReport::kStarted, program_);
  return true;
}

void Shim::OnSignal() {
  signalfd_siginfo info;
  while (read(signals_.fd(), &info, sizeof info) == sizeof info) {
    int number = static_cast<int>(info.ssi_signo);
    if (number != SIGCHLD) {
      // mpirun ends the job (MPI_Abort, say): the program hears it; the shim leaves when mpirun
      // kills it.
      if (program_ > 0) kill(-program_, number);
      continue;
    }
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != program_) continue;
      program_ = -1;
      Report(ShimReport::kEnded, status);
    }
  }
}

bool Shim::OnOrder() {
  ShimOrder order;
  std::vector<UniqueFd> unwanted;
  Result<size_t> got =
      ReceivePacket(launcher_.get(), &order, sizeof order, &unwanted, Deadline::After(0));
  if (!got.ok() && got.fault().n[0] == ETIMEDOUT) return true;
  if (!got.ok() || *got != sizeof order) {  // the launcher died
    if (program_ > 0) kill(-program_, SIGKILL);
    return false;
  }
  if (order.kind == ShimOrder::kLeave) return false;
  if (order.kind == ShimOrder::kSignal && program_ > 0) kill(-program_, order.signal);
  return true;
}

int Shim::Run(int argc, char** argv) {
  rank_ = Number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"});
  size_ = Number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  if (!Job::Get().launched() || rank_ < 0 || argc < 6) {
    Tell(LogLevel::kError, "--mpi-rank-shim is for hcclrun's own use under mpirun");
    return kFailed;
  }
  if (!Connect()) {
    Tell(LogLevel::kError,
         absl::StrCat("rank ", rank_, " cannot reach the launcher that started mpirun"));
    return kFailed;
  }
  StartProgram(argc, argv);
  for (bool stay = true; stay;) {
    pollfd polled[2] = {{signals_.fd(), POLLIN, 0}, {launcher_.get(), POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return kFailed;
    if (polled[0].revents) OnSignal();
    if (polled[1].revents) stay = OnOrder();
  }
  return 0;
}

}  // namespace

int RunRankShim(int argc, char** argv) { return Shim().Run(argc, argv); }

}  // namespace hcclrun
