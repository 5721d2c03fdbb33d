#pragma once
// A second process for tests of what processes share. It is this program again, told by its
// environment to run one of the tests named Child.*: a fork alone would be refused by the library.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "unit/acl_fixture.h"

extern char** environ;

inline constexpr char kRole[] = "HCCLRUN_TEST_ROLE";

// One line at a time over pipes; the child's end are descriptors 3 (reads) and 4 (writes).
class Line {
 public:
  Line(int in, int out) : in_(in), out_(out) {}
  void Say(const void* data, size_t size) { ASSERT_EQ(write(out_, data, size), ssize_t(size)); }
  void Hear(void* data, size_t size) {
    size_t done = 0;
    while (done < size) {
      ssize_t n = read(in_, static_cast<char*>(data) + done, size - done);
      ASSERT_GT(n, 0) << "the other side has gone";
      done += size_t(n);
    }
  }
  template <class T>
  void Say(const T& value) {
    Say(&value, sizeof value);
  }
  template <class T>
  T Hear() {
    T value{};
    Hear(&value, sizeof value);
    return value;
  }

 private:
  int in_, out_;
};

class Child {
 public:
  explicit Child(const std::string& role) {
    int down[2], up[2];
    EXPECT_EQ(pipe2(down, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(up, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // Away from 3 and 4 first, which the pipes themselves may be.
    posix_spawn_file_actions_adddup2(&actions, down[0], 103);
    posix_spawn_file_actions_adddup2(&actions, up[1], 104);
    posix_spawn_file_actions_adddup2(&actions, 103, 3);
    posix_spawn_file_actions_adddup2(&actions, 104, 4);
    std::string filter = "--gtest_filter=Child." + role,
                assignment = std::string(kRole) + "=" + role;
    std::vector<char*> environment;
    for (char** e = environ; *e; e++) environment.push_back(*e);
    environment.push_back(assignment.data());
    environment.push_back(nullptr);
    char program[] = "/proc/self/exe";
    char* arguments[] = {program, filter.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program, &actions, nullptr, arguments, environment.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(down[0]);
    close(up[1]);
    in_ = up[0];
    out_ = down[1];
  }
  ~Child() {
    Wait();
    close(in_);
    close(out_);
  }
  void Wait() {
    if (pid_ <= 0) return;
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    pid_ = 0;
  }
  void Kill() {
    kill(pid_, SIGKILL);
    int status;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
  }
  Line line() { return Line(in_, out_); }
  int32_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int in_ = -1, out_ = -1;
};

inline bool IsChild() { return getenv(kRole) != nullptr; }
