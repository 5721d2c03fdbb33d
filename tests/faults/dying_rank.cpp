// A rank program in which one chosen rank ends in a chosen way at a chosen step; the others go on as if nothing had
// happened and report the first call that failed. For death_test.
//   dying_rank STEP HOW VICTIM
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include "acl/acl.h"
#include "hccl/hccl.h"
#include "hcclrun/bootstrap.h"

namespace {

std::string g_step, g_how;
int g_victim = 0;

void Die() {
  if (g_how == "kill") raise(SIGKILL);
  if (g_how == "abort") abort();
  if (g_how == "exit0") exit(0);
  if (g_how == "exit3") exit(3);
  _exit(4);
}

// Where the victim dies if this is the step.
void Step(const char* name) {
  if (g_step == name && hcclrunRank() == g_victim) Die();
}

// A survivor's failed call ends it: code 7, so that the driver can tell it from a crash.
void Check(int code, const char* call) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("survivor %d: %s gave %d: %s\n", hcclrunRank(), call, code, text ? text : "no message");
  std::fflush(stdout);
  exit(7);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  g_step = argv[1];
  g_how = argv[2];
  g_victim = std::atoi(argv[3]);
  const int rank = hcclrunRank();
  const uint32_t size = static_cast<uint32_t>(hcclrunSize());
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(rank), "aclrtSetDevice");
  HcclRootInfo root;
  if (rank == 0) Check(HcclGetRootInfo(&root), "HcclGetRootInfo");
  Check(hcclrunShareRootInfo(&root), "hcclrunShareRootInfo");
  Step("before_init");
  HcclComm comm;
  Check(HcclCommInitRootInfo(size, &root, static_cast<uint32_t>(rank), &comm), "HcclCommInitRootInfo");
  aclrtStream stream;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  void* window_memory;
  Check(HcclMemAlloc(&window_memory, 2 << 20), "HcclMemAlloc");
  Step("register");
  HcclCommSymWindow window;
  Check(HcclCommSymWinRegister(comm, window_memory, 2 << 20, &window, 1), "HcclCommSymWinRegister");
  auto reduce = [&] {
    return HcclAllReduce(window_memory, window_memory, 1000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
  };
  Check(reduce(), "HcclAllReduce");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  Step("between");
  // The victim never calls the second of these two; the others wait for it in the synchronise call.
  Check(reduce(), "HcclAllReduce");
  Step("waiting");
  Check(reduce(), "HcclAllReduce");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  // The victim dies with a long queue of operations in flight.
  for (int i = 0; i < 200; i++) Check(reduce(), "HcclAllReduce");
  Step("in_flight");
  for (int i = 0; i < 200; i++) Check(reduce(), "HcclAllReduce");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  Check(HcclCommSymWinDeregister(window), "HcclCommSymWinDeregister");
  Check(HcclCommDestroy(comm), "HcclCommDestroy");
  Step("after_destroy");
  std::printf("survivor %d: done\n", rank);
  return 0;
}
