// A rank of a job that hangs or fails in the way its argument says, for report_test.cpp to look at:
//
//   hanging_rank late | crossed | communicators | event | streams | register | stopped | host |
//                members | part | differ | left | gone
//
// Prints "ready" when it has queued what it can; what its threads and streams wait for shows when
// they have come to it, which the test awaits. With HCCLRUN_EXEC_TIMEOUT it ends with 7 when a call
// has failed.

#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

void Check(int code) {
  if (code != 0) std::exit(7);
}

#define CHECK(call) Check(static_cast<int>(call))

[[noreturn]] void Forever() {
  for (;;) pause();
}

void Ready() {
  std::printf("ready\n");
  std::fflush(nullptr);
}

uint32_t g_rank, g_size;
void* g_memory;
HcclComm g_comm;
aclrtStream g_stream, g_other_stream;

HcclComm NewCommunicator(const char* name) {
  HcclRootInfo info;
  if (g_rank == 0) CHECK(HcclGetRootInfo(&info));
  CHECK(hcclrunShareRootInfo(&info));
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::snprintf(config.hcclCommName, sizeof config.hcclCommName, "%s", name);
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfoConfig(g_size, &info, g_rank, &config, &comm));
  return comm;
}

void WaitUntilStopped(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const timespec pause = {0, 10'000'000};
  for (;; nanosleep(&pause, nullptr)) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    if (text.find(") T") != text.npos) return;
  }
}

HcclResult AllReduce(HcclComm comm, aclrtStream stream) {
  return HcclAllReduce(g_memory, g_memory, 16, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
}

void Hang(const std::string& how) {
  const uint32_t last = g_size - 1, other = g_rank == 0 ? 1 : 0;
  if (how == "late") {
    if (g_rank == last) return Ready(), Forever();
    CHECK(AllReduce(g_comm, g_stream));
  } else if (how == "crossed") {
    if (g_rank > 1) return Ready(), Forever();
    CHECK(HcclSend(g_memory, 16, HCCL_DATA_TYPE_FP32, other, g_comm, g_stream));
    CHECK(HcclRecv(g_memory, 16, HCCL_DATA_TYPE_FP32, other, g_comm, g_stream));
  } else if (how == "communicators") {
    const HcclComm second = NewCommunicator("second");
    CHECK(AllReduce(g_rank == 0 ? g_comm : second, g_stream));
    CHECK(AllReduce(g_rank == 0 ? second : g_comm, g_stream));
  } else if (how == "event") {
    if (g_rank == 0) {
      aclrtEvent event = nullptr;
      CHECK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
      CHECK(aclrtStreamWaitEvent(g_stream, event));
    }
    CHECK(AllReduce(g_comm, g_stream));
  } else if (how == "streams") {
    aclrtEvent event = nullptr;
    CHECK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    if (g_rank == 0) CHECK(aclrtStreamWaitEvent(g_stream, event));
    CHECK(AllReduce(g_comm, g_stream));
    CHECK(AllReduce(g_comm, g_other_stream));
    if (g_rank == 0) CHECK(aclrtRecordEvent(event, g_other_stream));
  } else if (how == "register") {
    if (g_rank == 0) {
      Ready();
      HcclCommSymWindow window = nullptr;
      CHECK(HcclCommSymWinRegister(g_comm, g_memory, 4096, &window, 1));
    }
    CHECK(AllReduce(g_comm, g_stream));
  } else if (how == "stopped") {
    *static_cast<int32_t*>(g_memory) = getpid();
    CHECK(HcclBroadcast(g_memory, 1, HCCL_DATA_TYPE_INT32, last, g_comm, g_stream));
    CHECK(aclrtSynchronizeStream(g_stream));
    if (g_rank == last) {
      Ready();
      raise(SIGSTOP);
    } else {
      WaitUntilStopped(*static_cast<int32_t*>(g_memory));
    }
    CHECK(AllReduce(g_comm, g_stream));
  } else if (how == "host") {
    if (g_rank == last)
      CHECK(aclrtLaunchHostFunc(
          g_stream, [](void*) { Forever(); }, nullptr));
    CHECK(AllReduce(g_comm, g_stream));
  } else if (how == "left" && g_rank == last) {
    CHECK(HcclCommDestroy(g_comm));
    std::exit(0);
  } else if (how == "gone" && g_rank == last) {
    std::exit(0);
  } else if ((how == "part" && g_rank != last) || how == "left" || how == "gone") {
    // All ranks are to be members, the last one as rank 0.
    std::vector<uint32_t> members = {last};
    for (uint32_t r = 0; r < last; r++) members.push_back(r);
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    std::snprintf(config.hcclCommName, sizeof config.hcclCommName, "part");
    HcclComm part = nullptr;
    CHECK(HcclCreateSubCommConfig(&g_comm, g_size, members.data(), 1, g_rank + 1, &config, &part));
    Ready();
    CHECK(AllReduce(part, g_stream));
  } else if (how == "differ") {  // which does not hang
    CHECK(HcclAllReduce(g_memory, g_memory, g_rank == last ? 17 : 16, HCCL_DATA_TYPE_FP32,
                        HCCL_REDUCE_SUM, g_comm, g_stream));
  } else if (how == "part") {
    CHECK(AllReduce(g_comm, g_stream));
  } else {
    std::exit(2);
  }
  Ready();
  CHECK(aclrtSynchronizeStream(g_stream));
  CHECK(aclrtSynchronizeStream(g_other_stream));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  g_rank = static_cast<uint32_t>(hcclrunRank());
  g_size = static_cast<uint32_t>(hcclrunSize());
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(static_cast<int32_t>(g_rank)));
  CHECK(aclrtCreateStream(&g_stream));
  CHECK(aclrtCreateStream(&g_other_stream));
  CHECK(HcclMemAlloc(&g_memory, size_t{2} << 20));
  if (std::string(argv[1]) == "members" && g_rank == g_size - 1) {
    Ready();
    Forever();
  }
  g_comm = NewCommunicator("first");
  // What comes later is operation #2.
  CHECK(AllReduce(g_comm, g_stream));
  CHECK(aclrtSynchronizeStream(g_stream));
  Hang(argv[1]);
  return 0;
}
