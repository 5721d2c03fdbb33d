#include "faults/step_job.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

extern char** environ;

namespace hcclrun::testing {
namespace {

constexpr int64_t kHungNs = 60'000 * kMs;  // hcclrun's own --timeout is half of it at most
constexpr int64_t kStopNs = 300 * kMs;

std::string Read(int fd) {
  std::string text;
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  return text;
}

}  // namespace

StepJob::StepJob(const StepConfig& config, std::vector<std::string> variables, int timeout_s)
    : board_fd_(memfd_create("board", MFD_CLOEXEC)), output_(memfd_create("output", MFD_CLOEXEC)) {
  if (ftruncate(board_fd_, sizeof(StepBoard)) != 0) std::exit(2);
  void* memory = mmap(nullptr, sizeof(StepBoard), PROT_READ | PROT_WRITE, MAP_SHARED, board_fd_, 0);
  if (memory == MAP_FAILED) std::exit(2);
  board_ = static_cast<StepBoard*>(memory);
  std::vector<std::string> line = {HCCLRUN_BINARY, "-n", std::to_string(config.ranks), "--timeout",
                                   std::to_string(timeout_s)};
  const bool exchange = config.engine == "exchange";
  variables.push_back("HCCLRUN_ENGINE=" + (exchange ? "auto" : config.engine));
  // Waiting spins then, too, so exchanges are for few jobs at once.
  if (exchange) variables.push_back("HCCLRUN_PROCESSORS=4");
  if (config.scenario == "threads") line.insert(line.end(), {"--device-count", "3"});
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

StepJob::~StepJob() {
  munmap(board_, sizeof(StepBoard));
  close(board_fd_);
  close(output_);
}

bool StepJob::Poll(bool continues) {
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

std::string StepJob::Output() const { return Read(output_); }

void NapForPolling() {
  const timespec nap = {0, kMs};
  nanosleep(&nap, nullptr);
}

}  // namespace hcclrun::testing
