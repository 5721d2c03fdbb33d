// A program that does with device memory what the host cannot do on hardware; for `hcclrun
// --strict`.
//   closed_rank WHAT

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"
#include "hcclrun/launch.h"

namespace {

void Check(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "%s failed: %d\n", what, code);
  exit(9);
}
#define CHECK(call) Check(call, #call)

// Says so, and ends the program: nothing can go on behind a fault.
void Handler(int, siginfo_t* info, void*) {
  char line[64];
  const int n = snprintf(line, sizeof line, "handler at %p\n", info->si_addr);
  (void)!write(STDOUT_FILENO, line, static_cast<size_t>(n));
  _exit(7);
}

struct sigaction g_outer;
void OuterHandler(int signal, siginfo_t* info, void* context) {
  (void)!write(STDOUT_FILENO, "outer\n", 6);
  g_outer.sa_sigaction(signal, info, context);
}

void Install(void (*handler)(int, siginfo_t*, void*), struct sigaction* before) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGSEGV, &action, before));
}

int Kernel(void* device) {
  int* numbers = static_cast<int*>(device);
  for (int i = 0; i < 4; i++) numbers[i] += i;
  return write(STDOUT_FILENO, device, 0) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "handler-before") Install(Handler, nullptr);
  CHECK(aclrtSetDevice(0));
  aclrtStream stream;
  CHECK(aclrtCreateStream(&stream));
  void* device = nullptr;
  CHECK(aclrtMalloc(&device, 8192, ACL_MEM_MALLOC_HUGE_FIRST));
  volatile int* numbers = static_cast<int*>(device);
  printf("device memory at %p\n", device);
  fflush(stdout);
  if (what == "read" || what == "handler-before") printf("%d\n", numbers[4]);
  if (what == "write") numbers[4] = 1;
  if (what == "copy") memcpy(device, argv[0], 1 + strlen(argv[0]));
  if (what == "behind") numbers[2048] = 1;
  if (what == "freed") {
    CHECK(aclrtFree(device));
    numbers[0] = 1;
  }
  if (what == "mapped") {
    void* window = nullptr;
    CHECK(HcclMemAlloc(&window, 8192));
    static_cast<volatile char*>(window)[100] = 1;
  }
  if (what == "handler-after") {
    Install(Handler, nullptr);
    CHECK(aclrtSynchronizeStream(stream));
    numbers[4] = 1;
  }
  if (what ==
      "handlers-call-on") {  // the program's newest handler calls the one that it found: ours
    Install(Handler, nullptr);
    CHECK(aclrtSynchronizeStream(stream));
    Install(OuterHandler, &g_outer);
    CHECK(aclrtSynchronizeStream(stream));
    numbers[4] = 1;
  }
  if (what == "other-fault") {
    Install(Handler, nullptr);
    CHECK(aclrtSynchronizeStream(stream));
    volatile uintptr_t nowhere = 16;
    *reinterpret_cast<volatile int*>(nowhere) = 1;
  }
  if (what == "host-function") {
    CHECK(aclrtLaunchHostFunc(
        stream, [](void* memory) { static_cast<volatile int*>(memory)[1] = 1; }, device));
    CHECK(aclrtSynchronizeStream(stream));
  }
  if (what == "system-call") {
    const ssize_t n = write(STDOUT_FILENO, device, 16);
    printf("write returned %zd, errno %s\n", n, n < 0 ? strerror(errno) : "-");
    int pipes[2];
    CHECK(pipe(pipes));
    (void)!write(pipes[1], "x", 1);
    printf("read returned %zd\n", read(pipes[0], device, 1));
  }
  if (what == "kernel") {
    CHECK(aclrtMemset(device, 8192, 0, 8192));
    CHECK(hcclrunLaunch(stream, Kernel, device));
    CHECK(aclrtSynchronizeStream(stream));
    int copy[4];
    CHECK(aclrtMemcpy(copy, sizeof copy, device, sizeof copy, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("%d %d %d %d\n", copy[0], copy[1], copy[2], copy[3]);
    fflush(stdout);
    if (argc > 2) numbers[0] = 1;  // closed again
  }
  fflush(stdout);
  return 0;
}
