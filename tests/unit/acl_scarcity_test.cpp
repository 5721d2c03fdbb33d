// Limits of the system, one value after the other: open files, address space, a full /dev/shm. The
// library does what it was asked, or says in a sentence which limit was in its way; it never
// crashes.
//
// The program runs itself again under each limit, with the limit set before the library is loaded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kRole[] = "HCCLRUN_TEST_ROLE";

// Prints "begins", and "works" or the first call that failed, its code and the message.
void Use() {
  std::printf("begins\n");
  std::fflush(nullptr);
  auto failed = [](const char* call, int code) {
    const char* why = aclGetRecentErrMsg();
    std::printf("%s failed with %d: %s\n", call, code, why ? why : "no message");
    std::fflush(nullptr);
    _exit(why ? 0 : 1);
  };
#define USE(call) \
  if (const int code = static_cast<int>(call)) failed(#call, code)
  int32_t devices[2] = {0, 1};
  HcclComm comms[2] = {};
  USE(aclrtSetDevice(0));
  USE(HcclCommInitAll(2, devices, comms));
  void* buffers[2] = {};
  aclrtStream streams[2] = {};
  for (int d : devices) {
    USE(aclrtSetDevice(d));
    USE(aclrtMalloc(&buffers[d], 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    USE(aclrtCreateStream(&streams[d]));
  }
  for (int d : devices) {
    USE(aclrtSetDevice(d));
    USE(HcclAllReduce(buffers[d], buffers[d], 1000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[d],
                      streams[d]));
  }
  for (int d : devices) {
    USE(aclrtSetDevice(d));
    USE(aclrtSynchronizeStream(streams[d]));
  }
#undef USE
  std::printf("works\n");
  std::fflush(nullptr);
  _exit(0);
}

struct End {
  int status;
  std::string out;
};

std::string OwnPath() {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  return std::string(self, n > 0 ? static_cast<size_t>(n) : 0);
}

// Runs Use() in a shell that first does `limit`. No end may be a connect time-out.
End UseUnder(const std::string& limit) {
  const std::string line = limit + " && exec env " + kRole +
                           "=1 HCCL_CONNECT_TIMEOUT=120 HCCLRUN_EXEC_TIMEOUT=100 '" + OwnPath() +
                           "' --gtest_filter=Child.Use --gtest_brief=1 2>/dev/null";
  End end;
  FILE* pipe = popen(line.c_str(), "r");
  for (int c; (c = fgetc(pipe)) != EOF;) end.out += static_cast<char>(c);
  end.status = pclose(pipe);
  return end;
}

bool Works(const End& end) { return end.out.find("works\n") != std::string::npos; }

TEST(Child, Use) {
  if (!getenv(kRole)) GTEST_SKIP() << "not the child";
  Use();
}

TEST(Scarcity, OpenFiles) {
#ifdef HCCLRUN_SANITIZED
  GTEST_SKIP() << "sanitizers need descriptors of their own";
#endif
  int worked = 0;
  for (int n = 4; n <= 40; n += n < 20 ? 1 : 20) {
    // The hard limit, too: the library raises the other.
    const End end = UseUnder("ulimit -n " + std::to_string(n));
    SCOPED_TRACE("ulimit -n " + std::to_string(n) + ": " + end.out);
    if (end.out.empty()) {  // the shell or the loader was out of something, and said so
      EXPECT_TRUE(WIFEXITED(end.status)) << end.status;
      continue;
    }
    EXPECT_EQ(end.status, 0);
    worked += Works(end);
    if (!Works(end)) {
      EXPECT_THAT(end.out, HasSubstr("raise the limit of open files (ulimit -n)"));
    }
  }
  EXPECT_GT(worked, 0);
}

TEST(Scarcity, AddressSpace) {
#ifdef HCCLRUN_SANITIZED
  GTEST_SKIP() << "sanitizers reserve more address space than the limit";
#endif
  int worked = 0;
  for (int mib : {48, 64, 96, 128, 192, 256, 320, 400, 512, 700, 1200, 2000, 9000}) {
    const End end = UseUnder("ulimit -v " + std::to_string(mib * 1024));
    SCOPED_TRACE("ulimit -v of " + std::to_string(mib) + " MiB: " + end.out);
    if (end.out.empty()) continue;  // the shell or the loader was out of something
    EXPECT_EQ(end.status, 0);
    worked += Works(end);
    if (!Works(end)) {
      EXPECT_THAT(end.out, AnyOf(HasSubstr("ulimit -v"), HasSubstr("address space"),
                                 HasSubstr("host has no memory"),
                                 HasSubstr("threads and processes")));
    }
  }
  EXPECT_GT(worked, 0);
}

// Runs Use() with a /dev/shm of its own.
End UseWithShm(const std::string& options, const std::string& then = ":") {
  return UseUnder("mount -t tmpfs -o " + options + " none /dev/shm && " + then);
}

class Shm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      GTEST_SKIP() << "may not mount here";
  }
};

// One in which nothing can be made, and one that is too small, are done without.
TEST_F(Shm, IsDoneWithoutWhereItIsOfNoUse) {
  for (const char* options : {"size=2G,nr_inodes=1", "size=64m", "size=4k"}) {
    const End end = UseWithShm(options);
    SCOPED_TRACE(std::string(options) + ": " + end.out);
    EXPECT_EQ(end.status, 0);
    EXPECT_TRUE(Works(end));
  }
}

// One that is large but full is named.
TEST_F(Shm, IsNamedWhenItIsFull) {
  const End end = UseWithShm(
      "size=1100m", "{ fallocate -l 1050m /dev/shm/filler || { echo no room; exit 0; }; }");
  SCOPED_TRACE(end.out);
  if (end.out.find("no room") != end.out.npos)
    GTEST_SKIP() << "this machine has no gigabyte to spare";
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.out, HasSubstr("the size of /dev/shm, or free what fills it"));
}

}  // namespace
