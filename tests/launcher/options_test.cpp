#include "launcher/options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/injection.h"

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
  expect({"--kill", "1", "-n", "2", "prog"}, "--kill 1: it must be RANK:CALL");
  expect({"--kill", "1:AllReduce#0", "-n", "2", "prog"}, "it must be RANK:CALL");
  expect({"--kill", "1:AllReduse", "-n", "2", "prog"}, "\"AllReduse\" is no call");
  expect({"--kill", "2:AllReduce", "-n", "2", "prog"}, "the job has the ranks 0 to 1");
  expect({"--delay", "1:AllReduce", "-n", "2", "prog"}, "it must be RANK:CALL:TIME");
  expect({"--delay", "1:AllReduce:50", "-n", "2", "prog"}, "it must be RANK:CALL:TIME");
  expect({"--delay", "1:AllReduce:-1s", "-n", "2", "prog"}, "it must be RANK:CALL:TIME");
  expect({"--servers", "4,x", "prog"}, "--servers 4,x: it must be the ranks of each server");
  expect({"--servers", "4,", "prog"}, "--servers 4,");
  expect({"--servers", "4,0", "prog"}, "1 to 1024");
  expect({"--servers", "", "prog"}, "--servers");
  expect({"--servers", "1000,25", "prog"}, "has 1025 ranks");
  expect({"-n", "7", "--servers", "4,4", "prog"}, "-n 7, but --servers 4,4 has 8 ranks");
  expect({"--servers", "4,2", "--device-count", "3", "prog"}, "a server of 4 ranks");
  expect({"--superpods", "1,1", "-n", "2", "prog"}, "--superpods 1,1 needs --servers");
  expect({"--servers", "4,4", "--superpods", "1,2", "prog"}, "has 3 servers");
  expect({"--servers", "4,4", "--superpods", "1;1", "prog"}, "--superpods 1;1: it must be");
  expect({"--soc", "Ascend9", "-n", "2", "prog"}, "--soc Ascend9: it must be the name of a chip");
}

TEST(Options, ServersCountTheRanks) {
  ParsedOptions p = Parse({"--servers", "4,2,2", "--superpods=1,2", "prog"});
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(p.options.ranks, 8);
  EXPECT_EQ(p.options.topology.servers(), (std::vector<uint32_t>{4, 2, 2}));
  EXPECT_EQ(p.options.topology.superpods(), (std::vector<uint32_t>{1, 2}));
  p = Parse({"-n", "4", "--servers", "2,2", "--soc", "Ascend910B3", "prog"});
  ASSERT_EQ(p.error, "") << "-n agrees";
  EXPECT_EQ(p.options.topology.superpods(), (std::vector<uint32_t>{2})) << "all in one";
  EXPECT_EQ(p.options.soc, "Ascend910B3");
  EXPECT_FALSE(Parse({"-n", "4", "prog"}).options.topology.given());
}

TEST(Options, MishapsReachTheRanksAsOneVariable) {
  const Options options =
      Parse({"--kill", "1:Register#2", "--delay", "0:HcclAllReduce:50ms", "-n", "2", "prog"}).options;
  ASSERT_EQ(options.variables.size(), 1u);
  EXPECT_EQ(options.variables[0], "HCCLRUN_INJECT=kill:1:Register#2,delay:0:HcclAllReduce:50ms");
  const std::vector<Injection> read = SplitInjections(options.variables[0].substr(15));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].call, CallId::HcclCommSymWinRegister);
  EXPECT_EQ(read[0].number, 2u);
  EXPECT_EQ(read[1].call, CallId::HcclAllReduce);
  EXPECT_EQ(read[1].number, 0u);
  EXPECT_EQ(read[1].delay_ns, 50'000'000);
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
