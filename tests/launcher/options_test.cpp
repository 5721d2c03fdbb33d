#include "launcher/options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hcclrun {
namespace {

ParsedOptions Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "hcclrun");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  return ParseOptions(static_cast<int>(arguments.size()), argv.data());
}

TEST(Options, EndAtTheProgram) {
  ParsedOptions p = Parse({"-n", "3", "--no-label", "prog", "-n", "9", "--timeout", "x"});
  EXPECT_EQ(p.error, "");
  EXPECT_EQ(p.options.ranks, 3);
  EXPECT_FALSE(p.options.labels);
  EXPECT_EQ(p.options.command, (std::vector<std::string>{"prog", "-n", "9", "--timeout", "x"}));
}

TEST(Options, RanksAreAcceptedInEverySpelling) {
  for (const std::vector<std::string>& spelling : std::vector<std::vector<std::string>>{
           {"-n", "4"}, {"-n4"}, {"-np", "4"}, {"--np", "4"}, {"--np=4"}}) {
    std::vector<std::string> line = spelling;
    line.push_back("prog");
    ParsedOptions p = Parse(line);
    EXPECT_EQ(p.error, "") << spelling[0];
    EXPECT_EQ(p.options.ranks, 4) << spelling[0];
  }
}

TEST(Options, ValuesAreTaken) {
  ParsedOptions p = Parse({"-n",    "2",        "--timeout",      "1.5", "--memory",
                           "8G",    "--hbm=4G", "--device-count", "16",  "-x",
                           "A=1=2", "--env",    "B={rank}",       "-x",  "PATH",
                           "--mpi", "off",      "--log-dir",      "d",   "--shared-root-info",
                           "-v",    "prog"});
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(p.options.timeout_ms, 1500);
  EXPECT_EQ(p.options.timeout_text, "1.5");
  EXPECT_EQ(p.options.memory, "8G");
  EXPECT_EQ(p.options.hbm, "4G");
  EXPECT_EQ(p.options.device_count, 16);
  EXPECT_EQ(p.options.variables, (std::vector<std::string>{"A=1=2", "B={rank}"}));
  EXPECT_EQ(p.options.mpi, MpiChoice::kOff);
  EXPECT_EQ(p.options.log_directory, "d");
  EXPECT_TRUE(p.options.shared_root_info);
  EXPECT_TRUE(p.options.verbose);
}

TEST(Options, MistakesAreNamed) {
  auto expect = [](std::vector<std::string> line, const std::string& part) {
    EXPECT_NE(Parse(line).error.find(part), std::string::npos) << Parse(line).error;
  };
  expect({"-n", "2", "--frobnicate", "prog"}, "--frobnicate");
  expect({"-n", "2", "-q", "prog"}, "-q");
  expect({"-n", "0", "prog"}, "1 to 1024");
  expect({"-n", "1025", "prog"}, "1 to 1024");
  expect({"-n", "two", "prog"}, "1 to 1024");
  expect({"prog"}, "how many ranks");
  expect({"-n", "2"}, "no program");
  expect({"-n"}, "needs a value");
  expect({"--timeout", "0", "-n", "2", "prog"}, "--timeout 0");
  expect({"--memory", "lots", "-n", "2", "prog"}, "--memory lots");
  expect({"--mpi", "lam", "-n", "2", "prog"}, "--mpi lam");
  expect({"--gdb", "2", "-n", "2", "prog"}, "--gdb 2: the job has the ranks 0 to 1");
  expect({"--gdb", "first", "-n", "2", "prog"}, "--gdb first");
  expect({"-x", "=3", "-n", "2", "prog"}, "NAME=VALUE");
}

TEST(Options, HelpFitsAScreen) {
  std::string help = HelpText();
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 23);
  size_t width = 0;
  for (char c : help) {
    width = c == '\n' ? 0 : width + 1;
    EXPECT_LE(width, 80u);
  }
}

}  // namespace
}  // namespace hcclrun
