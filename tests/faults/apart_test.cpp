// Jobs side by side, and programs that start the rank's program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "launcher/run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

// Jobs with one rank table and one name for their communicators, at the same time and one after the
// other, never meet.
TEST(Jobs, NeverMeetWhateverTheyShare) {
  const std::string table =
      ::testing::TempDir() + "hcclrun_apart." + std::to_string(getpid()) + ".json";
  std::ofstream(table) << R"({"status": "completed", "version": "1.0", "server_count": "1",
    "server_list": [{"server_id": "node_0", "device": [
      {"device_id": "0", "device_ip": "192.168.1.1", "rank_id": "0"},
      {"device_id": "1", "device_ip": "192.168.1.2", "rank_id": "1"}]}]})";
  for (int round = 0; round < 4; round++) {
    std::vector<std::unique_ptr<LauncherRun>> jobs;
    for (int job = 0; job < 3; job++) {
      jobs.push_back(std::make_unique<LauncherRun>(
          Args{"-n", "2", APART_RANK, table, std::to_string(1 + round * 3 + job)}));
    }
    for (auto& job : jobs) {
      const Outcome outcome = job->Wait();
      EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }
  }
  std::remove(table.c_str());
}

// The victim is under a wrapper that lives on for a while; it is named, and the wrapper's code is
// the rank's.
void KillUnder(const std::vector<std::string>& wrapper, int code) {
  std::vector<std::string> line = {"-n", "3"};
  line.insert(line.end(), wrapper.begin(), wrapper.end());
  line.insert(line.end(), {DOOMED_RANK, "1", "kill", "between_operations"});
  const Outcome outcome = RunLauncher(line);
  SCOPED_TRACE(outcome.out + outcome.err);
  EXPECT_EQ(outcome.code, code);
  EXPECT_THAT(outcome.err, HasSubstr("hcclrun: rank 1 (pid "));
  EXPECT_THAT(outcome.err, HasSubstr(", its program in pid "));
  EXPECT_EQ(CountOf(outcome.out, "survivor failed"), 2);
  for (pid_t pid : PidsAfter(outcome.out, "] pid ")) EXPECT_TRUE(WaitUntilGone(pid)) << pid;
}

TEST(Wrapper, Shell) { KillUnder({"sh", "-c", "\"$@\"; exit $?", "sh"}, 137); }

TEST(Wrapper, Python) {
  KillUnder({"python3", "-c",
             "import subprocess, sys; sys.exit(3 if subprocess.call(sys.argv[1:]) else 0)"},
            3);
}

}  // namespace
}  // namespace hcclrun::testing
