// hcclrun --strict: a host program that touches device memory is stopped with a sentence.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Outcome RunClosed(const std::string& what, std::vector<std::string> more = {}) {
  // AddressSanitizer would end the program its own way.
  std::vector<std::string> line = {"-n", "1", "--strict", "-x", "ASAN_OPTIONS=handle_segv=0",
                                   CLOSED_RANK, what};
  line.insert(line.end(), more.begin(), more.end());
  return RunLauncher(line);
}

// The address that the program printed, `offset` behind it.
std::string AddressIn(const std::string& out, uint64_t offset) {
  const size_t at = out.find("device memory at 0x");
  if (at == std::string::npos) return "no address";
  char text[32];
  snprintf(text, sizeof text, "%#lx", strtoul(out.c_str() + at + 17, nullptr, 16) + offset);
  return text;
}

#define SHOW(outcome) SCOPED_TRACE("stdout:\n" + outcome.out + "\nstderr:\n" + outcome.err)

TEST(ClosedMemory, AnAccessIsExplainedAndEndsTheProgram) {
  for (const auto& [what, verb] : {std::pair{"read", "reads from"}, {"write", "writes to"}}) {
    const Outcome outcome = RunClosed(what);
    SHOW(outcome);
    EXPECT_EQ(outcome.code, 139);
#ifdef __x86_64__
    EXPECT_THAT(outcome.err, HasSubstr(std::string("rank 0: the host ") + verb));
#endif
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr(" " + AddressIn(outcome.out, 16)), HasSubstr("(closed_rank+0x"),
                      HasSubstr("offset 16 of aclrtMalloc #1 (8192 bytes at " +
                                AddressIn(outcome.out, 0) + ", device 0)"),
                      HasSubstr("the thread's last call was aclrtMalloc. Copy with aclrtMemcpy")));
  }
}

TEST(ClosedMemory, TheSentenceNamesTheMemory) {
  const struct {
    const char *what, *sentence;
  } kCases[] = {
      {"copy", "(closed_rank+0x"},  // although it is in the C library
      {"behind", "0 bytes behind the end of aclrtMalloc #1 (8192 bytes"},
      {"freed", "was device memory: offset 0 of aclrtMalloc #1 (8192 bytes"},
      {"mapped", "offset 100 of HcclMemAlloc #1 (2097152 bytes"},
      {"host-function", "offset 4 of aclrtMalloc #1"},
  };
  for (const auto& c : kCases) {
    const Outcome outcome = RunClosed(c.what);
    SHOW(outcome);
    EXPECT_EQ(outcome.code, 139) << c.what;
    EXPECT_THAT(outcome.err, HasSubstr(c.sentence));
  }
}

TEST(ClosedMemory, HandlersOfTheProgramRunToo) {
  for (const char* what : {"handler-before", "handler-after"}) {
    const Outcome outcome = RunClosed(what);
    SHOW(outcome);
    EXPECT_EQ(outcome.code, 7) << what;
    EXPECT_THAT(outcome.err, HasSubstr("offset 16 of aclrtMalloc #1"));
    EXPECT_THAT(outcome.out, HasSubstr("handler at " + AddressIn(outcome.out, 16)));
  }
  const Outcome both = RunClosed("handlers-call-on");
  SHOW(both);
  EXPECT_EQ(both.code, 7);
  EXPECT_EQ(CountOf(both.err, "offset 16 of aclrtMalloc #1"), 1);
  EXPECT_THAT(both.out, HasSubstr("outer\nhandler at "));
  const Outcome other = RunClosed("other-fault");
  SHOW(other);
  EXPECT_EQ(other.code, 7);
  EXPECT_THAT(other.out, HasSubstr("handler at 0x10"));
  EXPECT_THAT(other.err, Not(HasSubstr("the host")));
}

TEST(ClosedMemory, SystemCallsFailAndAreExplained) {
  const Outcome outcome = RunClosed("system-call");
  SHOW(outcome);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("write returned -1, errno Bad address"),
                                 HasSubstr("read returned -1")));
  const uint32_t trap = SECCOMP_RET_TRAP;
  const bool can_be_had = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &trap) == 0;
  if (outcome.err.empty() && !can_be_had) GTEST_SKIP() << "seccomp cannot be had here";
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("the system call write fails with EFAULT"),
                                 HasSubstr("the system call read fails with EFAULT"),
                                 HasSubstr("offset 0 of aclrtMalloc #1 (8192 bytes")));
}

TEST(ClosedMemory, KernelsSeeItAndItIsClosedBehindThem) {
  const Outcome outcome = RunClosed("kernel");
  SHOW(outcome);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("0 1 2 3\n"));
  EXPECT_EQ(RunClosed("kernel", {"then-touch"}).code, 139);
}

TEST(ClosedMemory, WithoutTheOptionItIsOpen) {
  const Outcome outcome = RunLauncher({"-n", "1", CLOSED_RANK, "write"});
  SHOW(outcome);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace hcclrun::testing
