// A rank ends - killed, aborted, or by exit() - at every step of a communicator's life. Each time: the job ends, the
// launcher's exit code is that of the first cause, the survivors' failing call names the rank that is gone, and no
// process and no shared memory is left.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <tuple>

namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kRanks = 4;
constexpr auto kBound = std::chrono::seconds(10);

std::set<std::string> EntriesOf(const char* folder) {
  std::set<std::string> names;
  DIR* dir = opendir(folder);
  if (!dir) return names;
  while (dirent* entry = readdir(dir)) names.insert(entry->d_name);
  closedir(dir);
  return names;
}

// Live processes whose command line holds `text`.
int ProcessesWith(const std::string& text) {
  int count = 0;
  for (const std::string& pid : EntriesOf("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    FILE* f = fopen(("/proc/" + pid + "/cmdline").c_str(), "re");
    if (!f) continue;
    char line[4096];
    size_t n = fread(line, 1, sizeof line, f);
    fclose(f);
    std::string command(line, n);
    for (char& c : command) c = c ? c : ' ';
    if (command.find(text) != std::string::npos) count++;
  }
  return count;
}

struct Outcome {
  int exit_code;
  std::string output;  // both streams
};

Outcome RunCommand(const std::string& command) {
  Outcome outcome{-1, ""};
  FILE* f = popen((command + " 2>&1").c_str(), "re");
  if (!f) return outcome;
  char buffer[4096];
  while (size_t n = fread(buffer, 1, sizeof buffer, f)) outcome.output.append(buffer, n);
  int status = pclose(f);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

struct How {
  const char* name;
  int exit_code;  // of the launcher
};

class Death : public ::testing::TestWithParam<std::tuple<const char*, How, int>> {};

TEST_P(Death, EndsTheJobAndIsNamed) {
  const auto& [step, how, victim] = GetParam();
  const std::string name = std::string(step) + " " + how.name + " " + std::to_string(victim);
  const std::set<std::string> before = EntriesOf("/dev/shm");
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome = RunCommand(std::string(HCCLRUN_BINARY) + " -n " + std::to_string(kRanks) + " " + DYING_RANK + " " + name);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kBound) << outcome.output;
  const bool after_all = std::string(step) == "after_destroy";
  const bool clean_exit = how.exit_code == 0;
  // A rank that exits with 0 does no wrong; then the first survivor that needs it is the first cause.
  const int expected = clean_exit ? (after_all ? 0 : 7) : how.exit_code;
  EXPECT_EQ(outcome.exit_code, expected) << outcome.output;
  if (!after_all) {
    // While the communicator is being made, a dead root is named as what it is to the others.
    EXPECT_THAT(outcome.output, AnyOf(HasSubstr("rank " + std::to_string(victim) + " "),
                                      HasSubstr("the process that serves the root info (pid ")));
    EXPECT_THAT(outcome.output, HasSubstr("survivor")) << "no survivor got an answer";
  }
  EXPECT_EQ(EntriesOf("/dev/shm"), before);
  EXPECT_EQ(ProcessesWith(std::string(DYING_RANK) + " " + name), 0);
}

INSTANTIATE_TEST_SUITE_P(
    EveryStep, Death,
    ::testing::Combine(::testing::Values("before_init", "register", "between", "waiting", "in_flight", "after_destroy"),
                       ::testing::Values(How{"kill", 137}, How{"abort", 134}, How{"exit3", 3}, How{"exit0", 0}),
                       ::testing::Values(0, 2)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name + "_rank" +
             std::to_string(std::get<2>(info.param));
    });

TEST(NoDeath, IsASuccess) {
  Outcome outcome = RunCommand(std::string(HCCLRUN_BINARY) + " -n 4 " + DYING_RANK + " never kill 0");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (int r = 0; r < kRanks; r++) EXPECT_THAT(outcome.output, HasSubstr("survivor " + std::to_string(r) + ": done"));
}

}  // namespace
