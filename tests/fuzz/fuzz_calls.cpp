// Sequences of API calls with arguments that nobody would pass, in one process with three devices:
// live and destroyed handles, words that never were handles, pointers into, beyond and outside
// allocations, sizes at the edges of their types, operations that only some ranks call. Any code
// may come back; no call may crash, or wait longer than the time-outs that are set below.
//
// Bytes: a call, then one byte for each of its arguments, which chooses among what there is. Where
// the library can only believe the program - where results go, and host memory of a given length -
// the arguments are right.

#include <cstdint>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace {

constexpr int kDevices = 3;
constexpr size_t kHostBytes = 64 << 10;
constexpr size_t kMostCalls = 60;

// Calls with arguments in braces, which are drawn from left to right whoever compiles it; those in
// parentheses would not be, and an input would mean something else to libFuzzer than to the tests.
template <typename Result, typename... Parameters>
int Draw(Result (*call)(Parameters...), std::type_identity_t<std::tuple<Parameters...>> arguments) {
  return std::apply(call, arguments);
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool more() const { return size_ > 0; }
  uint32_t Byte() {
    if (size_ == 0) return 0;
    size_--;
    return *data_++;
  }
  uint32_t Below(uint32_t n) { return Byte() % n; }

 private:
  const uint8_t* data_;
  size_t size_;
};

class Program {
 public:
  explicit Program(Input* input) : in_(*input), host_(kHostBytes) { aclrtSetDevice(0); }

  void Run() {
    for (size_t calls = 0; in_.more() && calls < kMostCalls; calls++) Call();
  }

  // Gives everything back, so that the next input finds nothing.
  ~Program() {
    HcclGroupEnd();
    for (int d = 0; d < kDevices; d++) {
      aclrtSetDevice(d);
      for (void* stream : streams_) aclrtDestroyStreamForce(stream);
    }
    for (void* comm : comms_) HcclCommDestroy(comm);
    for (void* window : windows_) HcclCommSymWinDeregister(window);
    for (void* event : events_) aclrtDestroyEvent(event);
    for (void* memory : memory_) {
      HcclMemFree(memory);
      aclrtFree(memory);
    }
    for (void* memory : host_memory_) aclrtFreeHost(memory);
    for (void* context : contexts_) aclrtDestroyContext(context);
    for (int d = 0; d < kDevices; d++) aclrtResetDeviceForce(d);
  }

 private:
  using Handles = std::vector<void*>;

  // One that was made, if only to be destroyed since, or none, or anything.
  void* Handle(const Handles& made) {
    const uint32_t byte = in_.Byte();
    if (byte < 200 && !made.empty()) return made[byte % made.size()];
    if (byte < 230) return nullptr;
    const uintptr_t words[] = {1, 8, 0x7fff, UINTPTR_MAX, uintptr_t{1} << 47};
    return byte < 245 ? reinterpret_cast<void*>(words[byte % 5]) : host_.data();
  }
  void* Stream() { return Handle(streams_); }
  void* Comm() { return Handle(comms_); }
  void* Event() { return Handle(events_); }
  void* Memory() {
    const uintptr_t base = reinterpret_cast<uintptr_t>(Handle(memory_));
    constexpr size_t offsets[] = {0, 0, 0, 4, 512, 4095, 65536, 1 << 20};
    return reinterpret_cast<void*>(base ? base + offsets[in_.Below(8)] : base);
  }
  int32_t Device() {
    constexpr int32_t devices[] = {0, 1, 2, 0, 1, 2, -1, 3, 1 << 30, INT32_MIN};
    return devices[in_.Below(10)];
  }
  uint64_t Count() {
    constexpr uint64_t counts[] = {1,          2,         16,         100,
                                   1000,       5000,      0,          100'000,
                                   1 << 20,    INT32_MAX, UINT32_MAX, UINT64_MAX,
                                   1ull << 50, INT64_MAX, 1ull << 61, UINT64_MAX / 4};
    return counts[in_.Below(16)];
  }
  uint32_t Rank() {
    constexpr uint32_t ranks[] = {0, 1, 2, 0, 1, 2, 3, UINT32_MAX};
    return ranks[in_.Below(8)];
  }
  // Not more than enumerations hold whose last value is 255: a program in C++ has no others.
  HcclDataType Type() { return static_cast<HcclDataType>((in_.Below(20) + 254) % 255); }
  HcclReduceOp Reduction() { return static_cast<HcclReduceOp>((in_.Below(7) + 254) % 255); }
  // Host memory that is really there.
  size_t HostCount() { return size_t{1} << in_.Below(17); }

  // `made` is looked at after the call whose code is given with it.
  void Keep(Handles* handles, int code, void* const& made) {
    if (code == 0 && handles->size() < 24) handles->push_back(made);
  }

  void MakeAll() {
    if (comms_.size() > 9) return;
    int32_t devices[kDevices] = {0, 1, 2};
    HcclComm made[kDevices] = {};
    const uint32_t n = 1 + in_.Below(kDevices);
    if (in_.Below(16) == 0) devices[in_.Below(kDevices)] = Device();
    if (HcclCommInitAll(n, devices, made) != HCCL_SUCCESS) return;
    for (uint32_t r = 0; r < n; r++) {
      comms_.push_back(made[r]);
      aclrtSetDevice(devices[r]);
      void* stream = nullptr;
      Keep(&streams_, aclrtCreateStream(&stream), stream);
    }
    newest_ = n;
  }

  // An operation that all ranks of the newest communicator call, mostly alike.
  void TogetherOn(uint32_t which, uint64_t count, HcclDataType type, HcclReduceOp reduction) {
    if (comms_.size() < newest_ || streams_.size() < newest_ || memory_.empty()) return;
    for (uint32_t r = 0; r < newest_; r++) {
      aclrtSetDevice(int32_t(r));
      void* memory = nullptr;
      if (aclrtMalloc(&memory, 1 << 16, ACL_MEM_MALLOC_HUGE_FIRST) != 0) return;
      memory_.push_back(memory);
      HcclComm comm = comms_[comms_.size() - newest_ + r];
      void* stream = streams_[streams_.size() - newest_ + r];
      if (in_.Below(32) == 0) count = Count();
      Operation(which, memory, memory, count, type, reduction, 0, comm, stream);
    }
  }

  void Operation(uint32_t which, void* from, void* to, uint64_t count, HcclDataType type,
                 HcclReduceOp reduction, uint32_t root, HcclComm comm, void* stream) {
    // Arrays of V operations are host memory: as long as there may be ranks.
    uint64_t counts[kDevices * kDevices], displacements[kDevices * kDevices];
    for (uint64_t& c : counts) c = which >= 9 ? Count() : 0;
    for (uint64_t& d : displacements) d = which >= 9 ? Count() : 0;
    HcclSendRecvItem items[2] = {{HCCL_SEND, from, count, type, root},
                                 {HCCL_RECV, to, count, type, (root + 1) % kDevices}};
    switch (which) {
      case 0:
        HcclAllReduce(from, to, count, type, reduction, comm, stream);
        return;
      case 1:
        HcclAllGather(from, to, count, type, comm, stream);
        return;
      case 2:
        HcclReduceScatter(from, to, count, type, reduction, comm, stream);
        return;
      case 3:
        HcclAlltoAll(from, count, type, to, count, type, comm, stream);
        return;
      case 4:
        HcclBroadcast(from, count, type, root, comm, stream);
        return;
      case 5:
        HcclReduce(from, to, count, type, reduction, root, comm, stream);
        return;
      case 6:
        HcclScatter(from, to, count, type, root, comm, stream);
        return;
      case 7:
        HcclSend(from, count, type, root, comm, stream);
        return;
      case 8:
        HcclRecv(to, count, type, root, comm, stream);
        return;
      case 9:
        HcclAllGatherV(from, count, to, counts, displacements, type, comm, stream);
        return;
      case 10:
        HcclReduceScatterV(from, counts, displacements, to, count, type, reduction, comm, stream);
        return;
      case 11:
        HcclAlltoAllV(from, counts, displacements, type, to, counts, displacements, type, comm,
                      stream);
        return;
      case 12:
        HcclAlltoAllVC(from, counts, type, to, type, comm, stream);
        return;
      default:
        HcclBatchSendRecv(items, 1 + count % 2, comm, stream);
    }
  }

  void Call() {
    void* made = nullptr;
    switch (in_.Below(44)) {
      case 0:
        aclrtSetDevice(Device());
        return;
      case 1:
        return MakeAll();
      case 2:
        Keep(&streams_, aclrtCreateStream(&made), made);
        return;
      case 3:
      case 4:
        if (Draw(aclrtMalloc, {&made, Count(), static_cast<aclrtMemMallocPolicy>(in_.Below(8))}) ==
            0) {
          memory_.push_back(made);
          device_memory_.push_back(made);
        }
        return;
      case 5:
        Keep(&memory_, HcclMemAlloc(&made, Count()), made);
        return;
      case 6:
        aclrtFree(Memory());
        return;
      case 7:
        HcclMemFree(Memory());
        return;
      case 8: {
        HcclCommSymWindow window = nullptr;
        const uint64_t size = Count();
        const int code =
            Draw(HcclCommSymWinRegister, {Comm(), Memory(), size, &window, in_.Below(3)});
        Keep(&windows_, code, window);
        return;
      }
      case 9:
        HcclCommSymWinDeregister(Handle(windows_));
        return;
      case 10:
        HcclCommDestroy(Comm());
        return;
      case 11:
        aclrtDestroyStreamForce(Stream());
        return;
      case 12:
        aclrtStreamAbort(Stream());
        return;
      case 13:
        aclrtStreamStop(Stream());
        return;
      case 14:
      case 15:
        Draw(aclrtSynchronizeStreamWithTimeout, {Stream(), in_.Below(8) > 1 ? 5 : -2});
        return;
      case 16:
        Keep(&events_, aclrtCreateEvent(&made), made);
        return;
      case 17:
        Keep(&events_, aclrtCreateEventWithFlag(&made, in_.Byte()), made);
        return;
      case 18:
        Draw(aclrtRecordEvent, {Event(), Stream()});
        return;
      case 19:
        Draw(aclrtStreamWaitEvent, {Stream(), Event()});
        waits_ = true;
        return;
      case 20:
        Draw(aclrtSynchronizeEventWithTimeout, {Event(), int32_t(in_.Below(4))});
        return;
      case 21:
        aclrtDestroyEvent(Event());
        return;
      case 22: {
        float ms = 0;
        Draw(aclrtEventElapsedTime, {&ms, Event(), Event()});
        return;
      }
      case 23:  // device to device: the library knows both
        Draw(aclrtMemcpy,
             {DeviceMemory(), Count(), DeviceMemory(), Count(), ACL_MEMCPY_DEVICE_TO_DEVICE});
        return;
      case 24:
        Draw(aclrtMemcpyAsync, {DeviceMemory(), Count(), DeviceMemory(), Count(),
                                ACL_MEMCPY_DEVICE_TO_DEVICE, Stream()});
        return;
      case 25: {
        const size_t bytes = HostCount();
        aclrtMemcpy(host_.data(), bytes, DeviceMemory(), bytes, ACL_MEMCPY_DEVICE_TO_HOST);
        return;
      }
      case 26: {
        const size_t bytes = HostCount();
        Draw(aclrtMemcpy,
             {DeviceMemory(), Count(), host_.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE});
        return;
      }
      case 27:
        Draw(aclrtMemset, {DeviceMemory(), Count(), int32_t(in_.Byte()), Count()});
        return;
      case 28:
        Draw(aclrtMemsetAsync, {DeviceMemory(), Count(), int32_t(in_.Byte()), Count(), Stream()});
        return;
      case 29:
        Keep(&contexts_, aclrtCreateContext(&made, Device()), made);
        return;
      case 30:
        aclrtSetCurrentContext(Handle(contexts_));
        return;
      case 31:
        aclrtDestroyContext(Handle(contexts_));
        return;
      case 32:
        device_memory_.clear();
        // It waits for the streams, which an event that nobody records would hold for ever.
        waits_ ? aclrtResetDeviceForce(Device()) : aclrtResetDevice(Device());
        return;
      case 33: {
        uint32_t number = 0;
        HcclGetRankSize(Comm(), &number);
        HcclGetRankId(Comm(), &number);
        return;
      }
      case 34: {
        HcclResult result;
        HcclGetCommAsyncError(Comm(), &result);
        return;
      }
      case 35: {
        char name[COMM_NAME_MAX_LENGTH] = {};
        HcclGetCommName(Comm(), name);
        HcclComm found = nullptr;
        HcclCommGetHandleWithName(name, &found);
        return;
      }
      case 36:
        in_.Below(2) ? HcclCommSuspend(Comm()) : HcclCommResume(Comm());
        return;
      case 37:
        in_.Below(2) ? HcclGroupStart() : HcclGroupEnd();
        return;
      case 38: {
        HcclCommSymWindow window = nullptr;
        size_t offset = 0;
        HcclComm comm = Comm();
        void* memory = Memory();
        HcclCommSymWinGet(comm, memory, Count(), &window, &offset);
        return;
      }
      case 39: {
        HcclComm comm = Comm(), sub = nullptr;
        uint32_t ranks[kDevices] = {Rank(), Rank(), Rank()};
        HcclCommConfig config;
        HcclCommConfigInit(&config);
        const uint32_t n = in_.Below(kDevices + 1), id = in_.Below(3), rank = Rank();
        Keep(&comms_, HcclCreateSubCommConfig(&comm, n, ranks, id, rank, &config, &sub), sub);
        return;
      }
      case 40:
        Keep(&host_memory_, aclrtMallocHost(&made, 1 + Count() % 100'000), made);
        return;
      case 41:
      case 42: {
        const uint32_t which = in_.Below(14);
        void *from = Memory(), *to = Memory();
        const uint64_t count = Count();
        const HcclDataType type = Type();
        const HcclReduceOp reduction = Reduction();
        const uint32_t root = Rank();
        HcclComm comm = Comm();
        return Operation(which, from, to, count, type, reduction, root, comm, Stream());
      }
      default: {
        const uint32_t which = in_.Below(14);
        const uint64_t count = Count();
        const HcclDataType type = Type();
        return TogetherOn(which, count, type, Reduction());
      }
    }
  }

  // For copies, which take host memory, too: what is or was device memory, or null, and never a
  // place that the library must take for the host's.
  void* DeviceMemory() {
    if (device_memory_.empty() || in_.Below(16) == 0) return nullptr;
    constexpr size_t offsets[] = {0, 0, 0, 4, 512, 4095, 65536, 1 << 20};
    char* base = static_cast<char*>(device_memory_[in_.Below(uint32_t(device_memory_.size()))]);
    return base + offsets[in_.Below(8)];
  }

  Input& in_;
  std::vector<char> host_;
  Handles streams_, comms_, events_, memory_, windows_, contexts_, host_memory_;
  bool waits_ = false;  // some stream may, for an event
  Handles device_memory_;  // of memory_, what aclrtMalloc gave on a device that has not been reset
  uint32_t newest_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool set = [] {
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 0);
    setenv("HCCLRUN_EXEC_TIMEOUT", "0.02", 1);
    setenv("HCCLRUN_CONNECT_TIMEOUT", "0.02", 1);
    setenv("HCCLRUN_STALL_NOTE", "0", 1);
    setenv("HCCLRUN_DEVICE_COUNT", "3", 1);
    setenv("HCCLRUN_HBM_SIZE", "16G", 1);  // as large as a stride, so that there may be windows
    setenv("HCCLRUN_MEMORY", "512M", 1);
    setenv("HCCLRUN_PROCESSORS", "3", 0);  // operations of a few bytes are exchanges
    return aclInit(nullptr) == 0;
  }();
  if (!set) abort();
  Input input(data, size);
  Program(&input).Run();
  return 0;
}
