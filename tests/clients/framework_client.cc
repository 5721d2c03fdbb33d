// A training framework's process group: the root info goes through a TCP store of rank 0,
// operations are launched by a task-queue thread for the device that the main thread chose, a
// watchdog polls their events and the communicators' state meanwhile, host callbacks run in the
// streams, pairs of ranks have communicators of their own, and sub-communicators are split off
// where the library can do that.
//   framework_client port-file
#include <arpa/inet.h>
#include <hccl/hccl.h>
#include <hccl/hccl_types.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"

#define CHECK(call)                                                                 \
  do {                                                                              \
    const int code_ = static_cast<int>(call);                                       \
    if (code_ != 0) {                                                               \
      const char* why_ = aclGetRecentErrMsg();                                      \
      std::fprintf(stderr, "line %d: %s returned %d%s%s\n", __LINE__, #call, code_, \
                   why_ ? ": " : "", why_ ? why_ : "");                             \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)
#define EXPECT(condition)                                                        \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

namespace {

int rank, size;

void SendAll(int fd, const void* data, size_t bytes) {
  EXPECT(send(fd, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes));
}
bool ReceiveAll(int fd, void* data, size_t bytes) {
  return recv(fd, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

// Keys and values in rank 0's memory; a get waits for the set.
class Store {
 public:
  explicit Store(const std::string& port_file) {
    if (rank == 0) Serve(port_file);
    std::ifstream in;
    for (int attempt = 0; attempt < 6000 && port_ == 0; ++attempt) {
      in.open(port_file);
      if (in >> port_) break;
      in.close();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~Store() {
    close(fd_);
    for (std::thread& server : servers_) server.join();
  }
  void Set(const std::string& key, const HcclRootInfo& value) {
    Ask(1, key, const_cast<HcclRootInfo*>(&value));
  }
  void Get(const std::string& key, HcclRootInfo* value) { Ask(0, key, value); }
  // Returns when all ranks have called.
  void Barrier(const std::string& key) {
    HcclRootInfo nothing = {};
    Set(key + std::to_string(rank), nothing);
    for (int r = 0; r < size; ++r) Get(key + std::to_string(r), &nothing);
  }

 private:
  struct Request {
    int set;
    char key[60];
    HcclRootInfo value;
  };
  void Ask(int set, const std::string& key, HcclRootInfo* value) {
    Request request = {};
    request.set = set;
    std::strncpy(request.key, key.c_str(), sizeof request.key - 1);
    if (set) request.value = *value;
    SendAll(fd_, &request, sizeof request);
    EXPECT(ReceiveAll(fd_, value, sizeof *value));
  }
  void Serve(const std::string& port_file) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    EXPECT(listen(listener, size) == 0);
    socklen_t length = sizeof address;
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    servers_.emplace_back([this, listener] {
      std::vector<std::thread> peers;
      for (int i = 0; i < size; ++i) {
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        peers.emplace_back([this, fd] {
          for (Request request; ReceiveAll(fd, &request, sizeof request);) {
            std::unique_lock<std::mutex> lock(mutex_);
            if (request.set) {
              values_[request.key] = request.value;
              changed_.notify_all();
            }
            changed_.wait(lock, [&] { return values_.count(request.key) > 0; });
            const HcclRootInfo value = values_[request.key];
            lock.unlock();
            SendAll(fd, &value, sizeof value);
          }
          close(fd);
        });
      }
      for (std::thread& peer : peers) peer.join();
      close(listener);
    });
    std::ofstream(port_file + ".part") << ntohs(address.sin_port) << "\n";
    EXPECT(std::rename((port_file + ".part").c_str(), port_file.c_str()) == 0);
  }

  int fd_ = -1, port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, HcclRootInfo> values_;
  std::vector<std::thread> servers_;
};

// Runs what it is given, in order, on one thread that takes over the creator's context.
class TaskQueue {
 public:
  TaskQueue() {
    CHECK(aclrtGetCurrentContext(&context_));
    thread_ = std::thread([this] {
      CHECK(aclrtSetCurrentContext(context_));
      for (;;) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !tasks_.empty(); });
        std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        if (!task) return;
        task();
      }
    });
  }
  ~TaskQueue() {
    Add(nullptr);
    thread_.join();
  }
  void Add(std::function<void()> task) {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }
  void Drain() {
    std::mutex mutex;
    std::condition_variable done;
    bool empty = false;
    Add([&] {
      std::lock_guard<std::mutex> lock(mutex);
      empty = true;
      done.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return empty; });
  }

 private:
  aclrtContext context_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

struct Work {
  aclrtEvent end;
  std::atomic<bool> launched{false}, seen{false};
};

// Looks at unfinished work from a thread of its own until it is told to stop.
class Watchdog {
 public:
  Watchdog(int device, HcclComm comm) {
    thread_ = std::thread([this, device, comm] {
      CHECK(aclrtSetDevice(device));
      bool last = false;
      while (!last) {
        last = stop_;
        HcclResult state = HCCL_E_INTERNAL;
        CHECK(HcclGetCommAsyncError(comm, &state));
        EXPECT(state == HCCL_SUCCESS);
        std::lock_guard<std::mutex> lock(mutex_);
        for (Work* work : works_) {
          if (!work->launched || work->seen) continue;
          aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
          CHECK(aclrtQueryEventStatus(work->end, &status));
          if (status == ACL_EVENT_RECORDED_STATUS_COMPLETE) work->seen = true;
        }
        std::this_thread::yield();
      }
    });
  }
  void Watch(Work* work) {
    std::lock_guard<std::mutex> lock(mutex_);
    works_.push_back(work);
  }
  void Stop() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::vector<Work*> works_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

HcclComm MakeComm(Store* store, const std::string& key, uint32_t ranks, uint32_t me) {
  HcclRootInfo info;
  if (me == 0) {
    CHECK(HcclGetRootInfo(&info));
    store->Set(key, info);
  } else {
    store->Get(key, &info);
  }
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclBufferSize = 10;
  if (HcclGetCommConfigCapability() > HCCL_COMM_CONFIG_COMM_NAME)
    std::snprintf(config.hcclCommName, sizeof config.hcclCommName, "%s", key.c_str());
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfoConfig(ranks, &info, me, &config, &comm));
  return comm;
}

}  // namespace

int main(int, char** argv) {
  rank = std::atoi(std::getenv("RANK"));
  size = std::atoi(std::getenv("WORLD_SIZE"));
  const int device = std::atoi(std::getenv("LOCAL_RANK"));
  Store store(argv[1]);
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(device));

  HcclComm world =
      MakeComm(&store, "world", static_cast<uint32_t>(size), static_cast<uint32_t>(rank));
  char name[128] = {};
  CHECK(HcclGetCommName(world, name));
  EXPECT(std::string(name) == "world");
  aclrtStream compute = nullptr, communication = nullptr;
  for (aclrtStream* stream : {&compute, &communication}) {
    CHECK(aclrtCreateStreamWithConfig(stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    CHECK(aclrtSetStreamFailureMode(*stream, ACL_STOP_ON_FAILURE));
  }

  constexpr int kSteps = 20;
  constexpr size_t kCount = 3000, kBytes = kCount * sizeof(int32_t);
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<int32_t> host(kCount, 1);
  static std::atomic<int> callbacks{0};
  std::vector<Work> works(kSteps);
  aclrtEvent ready = nullptr;
  CHECK(aclrtCreateEventExWithFlag(&ready, ACL_EVENT_SYNC));
  for (Work& work : works)
    CHECK(aclrtCreateEventExWithFlag(
        &work.end, ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE));
  {
    Watchdog watchdog(device, world);
    TaskQueue queue;
    queue.Add([&] {
      CHECK(aclrtMemcpyAsync(memory, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE,
                             compute));
      CHECK(aclrtRecordEvent(ready, compute));
      CHECK(aclrtStreamWaitEvent(communication, ready));
    });
    for (Work& work : works) {
      watchdog.Watch(&work);
      queue.Add([&, current = &work] {
        // The maximum stays 1, whatever the number of steps.
        CHECK(HcclAllReduce(memory, memory, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, world,
                            communication));
        CHECK(aclrtLaunchHostFunc(
            communication, [](void*) { ++callbacks; }, nullptr));
        CHECK(aclrtRecordEvent(current->end, communication));
        current->launched = true;
      });
    }
    queue.Drain();
    CHECK(aclrtSynchronizeStreamWithTimeout(communication, 100000));
    watchdog.Stop();
  }
  for (Work& work : works) {
    EXPECT(work.seen);
    CHECK(aclrtSynchronizeEvent(work.end));
    CHECK(aclrtDestroyEvent(work.end));
  }
  EXPECT(callbacks == kSteps);
  CHECK(aclrtMemcpy(host.data(), kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int32_t value : host) EXPECT(value == 1);

  // Neighbours of even rank pass a value on, in a communicator of two.
  if ((rank ^ 1) < size) {
    HcclComm pair =
        MakeComm(&store, "pair" + std::to_string(rank / 2), 2, static_cast<uint32_t>(rank & 1));
    int32_t value = rank;
    CHECK(aclrtMemcpy(memory, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    if (rank & 1) {
      CHECK(HcclRecv(memory, 1, HCCL_DATA_TYPE_INT32, 0, pair, communication));
    } else {
      CHECK(HcclSend(memory, 1, HCCL_DATA_TYPE_INT32, 1, pair, communication));
    }
    CHECK(aclrtSynchronizeStream(communication));
    CHECK(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(value == (rank & ~1));
    CHECK(HcclCommDestroy(pair));
  }

  // The even and the odd ranks apart, by a split, or by a root info of their own where the library
  // refuses.
  std::vector<uint32_t> members;
  for (int r = rank % 2; r < size; r += 2) members.push_back(static_cast<uint32_t>(r));
  const uint32_t me = static_cast<uint32_t>(rank / 2);
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  HcclComm half = nullptr;
  if (HcclCreateSubCommConfig(&world, static_cast<uint32_t>(members.size()), members.data(),
                              static_cast<uint64_t>(rank % 2 + 1), me, &config,
                              &half) != HCCL_SUCCESS)
    half = MakeComm(&store, "half" + std::to_string(rank % 2),
                    static_cast<uint32_t>(members.size()), me);
  int32_t value = 1;
  CHECK(aclrtMemcpy(memory, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(
      HcclAllReduce(memory, memory, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, half, communication));
  CHECK(aclrtSynchronizeStream(communication));
  CHECK(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT(value == static_cast<int32_t>(members.size()));

  store.Barrier("end");
  CHECK(HcclCommDestroy(half));
  CHECK(HcclCommDestroy(world));
  CHECK(aclrtDestroyEvent(ready));
  CHECK(aclrtDestroyStreamForce(compute));
  CHECK(aclrtDestroyStreamForce(communication));
  CHECK(aclrtFree(memory));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  if (rank == 0) std::printf("%d ranks, all right\n", size);
  return 0;
}
