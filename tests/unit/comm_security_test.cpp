// The promises of docs/security.md that can be tried out in one program.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "comm/control_block.h"
#include "comm/rendezvous.h"
#include "comm/rendezvous_server.h"
#include "shm/memory_object.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

constexpr uid_t kNobody = 65534;
constexpr int64_t kPatienceMs = 20'000;

std::string NewName() { return "hcclrun.test." + RandomHex(8); }

TEST(Security, SharedMemoryHasNoNameAndBelongsToItsUserAlone) {
  Result<MemoryObject> object = MemoryObject::Create(1 << 20);
  ASSERT_TRUE(object.ok());
  struct stat st;
  ASSERT_EQ(fstat(object->fd(), &st), 0);
  EXPECT_EQ(st.st_nlink, 0u);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  EXPECT_EQ(st.st_uid, geteuid());
  EXPECT_EQ(fcntl(object->fd(), F_GETFD), FD_CLOEXEC);
}

// Runs `body` as another user, in a child; its exit code.
template <class Body>
int AsNobody(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(99);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Security, AListenerTurnsOtherUsersAway) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const std::string name = NewName();
  Result<UniqueFd> listener = ListenAbstract(name, 4);
  ASSERT_TRUE(listener.ok());
  // Nobody's side of it refuses a server of another user, too: so it connects by itself.
  EXPECT_EQ(AsNobody([&] {
              Result<UniqueFd> socket = ConnectAbstract(name, Deadline::After(kPatienceMs));
              return socket.ok() ? 1 : socket.fault().kind == FaultKind::kRootInfoInvalid ? 0 : 2;
            }),
            0);
  // Its connection is there, and is not let in.
  Result<UniqueFd> taken = AcceptSameUser(listener->get(), Deadline::After(100));
  ASSERT_TRUE(taken.ok());
  EXPECT_FALSE(taken->valid());
  Result<UniqueFd> own = ConnectAbstract(name, Deadline::After(kPatienceMs));
  EXPECT_TRUE(own.ok());
  taken = AcceptSameUser(listener->get(), Deadline::After(kPatienceMs));
  ASSERT_TRUE(taken.ok());
  EXPECT_TRUE(taken->valid());
}

TEST(Security, AServerOfAnotherUserIsNotTalkedTo) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const std::string name = NewName();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(99);
    Result<UniqueFd> listener = ListenAbstract(name, 4);
    (void)!write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  Result<UniqueFd> socket = ConnectAbstract(name, Deadline::After(kPatienceMs));
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.fault().kind, FaultKind::kRootInfoInvalid);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// What a rendezvous answers to a rank that says this secret; `descriptors` is how many came along.
ServerPacket Ask(const RootInfo& info, const char* secret, size_t* descriptors) {
  ServerPacket packet;
  memset(&packet, 0, sizeof packet);
  Result<UniqueFd> socket = ConnectAbstract(info.socket, Deadline::After(kPatienceMs));
  EXPECT_TRUE(socket.ok());
  if (!socket.ok()) return packet;
  const UniqueFd heap(memfd_create("heap", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(heap.get(), 1 << 20), 0);
  Hello hello;
  memset(&hello, 0, sizeof hello);
  hello.magic = kRootInfoMagic;
  hello.layout = kLayoutVersion;
  hello.ranks = 1;
  hello.pid = getpid();
  hello.heap_bytes = 1 << 20;
  hello.connect_timeout_ms = 100;
  strncpy(hello.secret, secret, sizeof hello.secret - 1);
  EXPECT_FALSE(SendPacket(socket->get(), &hello, sizeof hello, {heap.get()},
                          Deadline::After(kPatienceMs)));
  std::vector<UniqueFd> fds;
  Result<size_t> got = ReceivePacket(socket->get(), &packet, sizeof packet, &fds,
                                     Deadline::After(kPatienceMs));
  EXPECT_TRUE(got.ok());
  *descriptors = fds.size();
  return packet;
}

// Serves a root info until one rank has joined.
RootInfo Serve() {
  RootInfo info;
  memset(&info, 0, sizeof info);
  info.magic = kRootInfoMagic;
  info.layout = kLayoutVersion;
  strncpy(info.socket, NewName().c_str(), sizeof info.socket - 1);
  strncpy(info.secret, RandomHex(16).c_str(), sizeof info.secret - 1);
  Result<UniqueFd> listener = ListenAbstract(info.socket, 4);
  EXPECT_TRUE(listener.ok());
  EXPECT_FALSE(listener.ok() && ServeRendezvous(std::move(*listener), info));
  return info;
}

TEST(Security, ARendezvousHandsOutNothingWithoutItsSecret) {
  const RootInfo info = Serve();
  size_t descriptors = 0;
  std::string wrong = info.secret;
  wrong[0] = wrong[0] == '0' ? '1' : '0';
  for (const std::string& secret : {wrong, std::string(), std::string(info.secret, 31)}) {
    const ServerPacket refusal = Ask(info, secret.c_str(), &descriptors);
    EXPECT_EQ(refusal.what, ServerPacket::kRefused);
    EXPECT_EQ(refusal.fault_kind, uint32_t(FaultKind::kRootInfoInvalid));
    EXPECT_EQ(descriptors, 0u);
  }
  // Strangers have not disturbed it.
  const ServerPacket welcome = Ask(info, info.secret, &descriptors);
  EXPECT_EQ(welcome.what, ServerPacket::kWelcome);
  EXPECT_EQ(descriptors, 1u);
}

// As a rank that is stopped before it has said who it is.
TEST(Security, AConnectionThatSaysNothingHoldsUpNobody) {
  const RootInfo info = Serve();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 3; i++) {
    Result<UniqueFd> socket = ConnectAbstract(info.socket, Deadline::After(kPatienceMs));
    ASSERT_TRUE(socket.ok());
    silent.push_back(std::move(*socket));
  }
  size_t descriptors = 0;
  EXPECT_EQ(Ask(info, info.secret, &descriptors).what, ServerPacket::kWelcome);
}

TEST(Security, NamesAndSecretsAreNotRepeated) {
  EXPECT_EQ(RandomHex(16).size(), 32u);
  EXPECT_NE(RandomHex(16), RandomHex(16));
}

}  // namespace
}  // namespace hcclrun
