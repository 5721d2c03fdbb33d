// A rank of a job in which one rank ends too early:
//
//   doomed_rank RANK HOW STEP       HOW: kill, abort, exit0, exit3; stop: it stops there until
//   SIGCONT
//
// Of three ranks, rank RANK ends at STEP; the two others go on until a call fails because of that.
// All print what they do, with the time of the monotonic clock in nanoseconds, for death_test.cpp
// to read. A survivor ends only after the other one has failed, too: what it prints must be about
// the rank RANK and not about the first survivor's end.

#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

const char *g_how, *g_step;
bool g_doomed;

long long Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void End() {
  std::printf("doomed at %lld\n", Now());
  std::fflush(nullptr);
  if (std::strcmp(g_how, "kill") == 0) raise(SIGKILL);
  if (std::strcmp(g_how, "abort") == 0) std::abort();
  if (std::strcmp(g_how, "stop") == 0) {
    raise(SIGSTOP);
    return;
  }
  std::exit(std::strcmp(g_how, "exit3") == 0 ? 3 : 0);
}

void Step(const char* step) {
  if (g_doomed && std::strcmp(step, g_step) == 0) End();
}

int g_other_survivor = -1;

// A connection of two ranks, one of which listens under this name.
int Meet(const char* name, bool listens) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const int n = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s.%s", name,
                              std::getenv("HCCLRUN_JOB"));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listens) {
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, 1) != 0)
      std::exit(8);
    const int connection = accept(fd, nullptr, nullptr);
    close(fd);
    return connection;
  }
  const timespec pause = {0, 1'000'000};
  while (connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0)
    nanosleep(&pause, nullptr);
  return fd;
}

// Before anything else: nobody ends before all ranks have been started.
void MeetOthers(bool lower_survivor) {
  if (!g_doomed) g_other_survivor = Meet("survivors", lower_survivor);
  if (g_doomed || lower_survivor) close(Meet("doomed", g_doomed));
}

void WaitForOtherSurvivor() {
  char byte = 0;
  if (send(g_other_survivor, &byte, 1, MSG_NOSIGNAL) == 1 &&
      recv(g_other_survivor, &byte, 1, 0) < 0)
    std::exit(8);
}

void Check(int code, const char* call) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  std::printf("survivor failed at %lld in %s with %d: %s\n", Now(), call, code, why ? why : "\n");
  std::fflush(nullptr);
  // Its end is under way in another thread.
  while (g_doomed && !std::strcmp(g_step, "in_host_function") && !std::strncmp(g_how, "exit", 4))
    pause();
  WaitForOtherSurvivor();
  std::exit(7);
}

#define CHECK(call) Check(static_cast<int>(call), #call)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto rank = static_cast<uint32_t>(hcclrunRank()),
             size = static_cast<uint32_t>(hcclrunSize());
  g_doomed = rank == static_cast<uint32_t>(std::atoi(argv[1]));
  g_how = argv[2];
  g_step = argv[3];
  std::printf("pid %d\n", getpid());
  std::fflush(nullptr);
  if (size != 3) return 2;
  MeetOthers(rank == (std::strcmp(argv[1], "0") == 0 ? 1u : 0u));

  Step("before_init");
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
  Step("before_root_info");
  HcclRootInfo info;
  if (rank == 0) CHECK(HcclGetRootInfo(&info));
  CHECK(hcclrunShareRootInfo(&info));
  Step("after_root_info");
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, &info, rank, &comm));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  Step("after_init");

  constexpr size_t kBytes = size_t{64} << 20;
  void* memory = nullptr;
  CHECK(HcclMemAlloc(&memory, kBytes));
  Step("in_register");
  HcclCommSymWindow window = nullptr;
  CHECK(HcclCommSymWinRegister(comm, memory, kBytes, &window, 1));

  const auto all_reduce = [&](size_t bytes) {
    return HcclAllReduce(memory, memory, bytes / 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                         stream);
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(all_reduce(4096));
    CHECK(aclrtSynchronizeStream(stream));
  }
  Step("between_operations");  // the others wait in the next one
  CHECK(all_reduce(4096));
  Step("after_enqueue");
  CHECK(aclrtSynchronizeStream(stream));
  if (std::strcmp(g_step, "in_host_function") == 0 && g_doomed) {
    CHECK(aclrtLaunchHostFunc(
        stream, [](void*) { End(); }, nullptr));  // in another thread, while this one waits
  }
  CHECK(all_reduce(4096));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(HcclBarrier(comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  for (int i = 0; i < 4; ++i) CHECK(all_reduce(kBytes));
  Step("in_large_operations");
  CHECK(aclrtSynchronizeStream(stream));
  if (std::strcmp(g_step, "after_leaving") == 0) {
    if (g_doomed) CHECK(HcclCommDestroy(comm));
    Step("after_leaving");
    CHECK(all_reduce(4096));
    CHECK(aclrtSynchronizeStream(stream));
  }

  // Neither waits for the operations, which can therefore still need the rank after both.
  if (std::strcmp(g_step, "after_destroy_under_way") == 0 ||
      std::strcmp(g_step, "after_destroy_with_transfer") == 0) {
    const bool transfer = std::strcmp(g_step, "after_destroy_with_transfer") == 0;
    const uint32_t receiver = std::strcmp(argv[1], "0") == 0 ? 1 : 0;
    if (g_doomed) {
      CHECK(aclrtLaunchHostFunc(
          stream, [](void*) { pause(); }, nullptr));
      if (transfer) {
        CHECK(HcclSend(memory, 1024, HCCL_DATA_TYPE_FP32, receiver, comm, stream));
      } else {
        CHECK(all_reduce(4096));
      }
      CHECK(HcclCommDestroy(comm));
      End();
    }
    if (transfer && rank == receiver) {
      CHECK(HcclRecv(memory, 1024, HCCL_DATA_TYPE_FP32, std::strtoul(argv[1], nullptr, 10), comm,
                     stream));
    }
    CHECK(all_reduce(4096));
    CHECK(aclrtSynchronizeStream(stream));
  }

  CHECK(HcclCommSymWinDeregister(window));
  CHECK(HcclMemFree(memory));
  CHECK(aclrtDestroyStream(stream));
  CHECK(HcclCommDestroy(comm));
  Step("after_destroy");
  CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
  CHECK(aclFinalize());
  Step("at_the_end");
  std::printf("survivor finished\n");
  return 0;
}
