// What a corrupted peer can do through the shared memory of a communicator: rank 1 is the input,
// which writes its descriptors, and anything else anywhere in the control block, before and after
// rank 0 posts; rank 0 is the library. It may fail and it may compute nonsense, but it must not
// touch memory outside the heaps, and must come back before long.
//
// Bytes: operation, count, flags, then patches of a place (16 bits, in units of 4 bytes) and a
// value.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "comm/comm_table.h"
#include "comm/communicator.h"
#include "comm/matching.h"
#include "hccl/hccl.h"

// The names under which the core has the public functions.
extern "C" {
int hcclrun_core_aclrtSetDevice(int32_t);
int hcclrun_core_aclrtMalloc(void**, size_t, int);
int hcclrun_core_aclrtCreateStream(void**);
int hcclrun_core_aclrtDestroyStreamForce(void*);
int hcclrun_core_aclrtSynchronizeStreamWithTimeout(void*, int32_t);
int hcclrun_core_HcclCommInitAll(uint32_t, int32_t*, HcclComm*);
int hcclrun_core_HcclCommDestroy(HcclComm);
int hcclrun_core_HcclAllReduce(void*, void*, uint64_t, int, int, HcclComm, void*);
int hcclrun_core_HcclAllGather(void*, void*, uint64_t, int, HcclComm, void*);
int hcclrun_core_HcclReduceScatter(void*, void*, uint64_t, int, int, HcclComm, void*);
int hcclrun_core_HcclAlltoAll(const void*, uint64_t, int, const void*, uint64_t, int, HcclComm,
                              void*);
int hcclrun_core_HcclAlltoAllV(const void*, const void*, const void*, int, const void*, const void*,
                               const void*, int, HcclComm, void*);
int hcclrun_core_HcclBroadcast(void*, uint64_t, int, uint32_t, HcclComm, void*);
int hcclrun_core_HcclSend(void*, uint64_t, int, uint32_t, HcclComm, void*);
int hcclrun_core_HcclRecv(void*, uint64_t, int, uint32_t, HcclComm, void*);
}

namespace hcclrun {
namespace {

constexpr size_t kBytes = 4 << 20;
constexpr int kFp32 = 4, kSum = 0;

void Require(bool ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "cannot %s\n", what);
  exit(2);
}

struct Setting {
  void *in = nullptr, *out = nullptr;
  Setting() {
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);
    setenv("HCCLRUN_EXEC_TIMEOUT", "0.005", 1);
    setenv("HCCLRUN_STALL_NOTE", "0", 1);
    setenv("HCCLRUN_HBM_SIZE", "1G", 1);
    setenv("HCCLRUN_DIRECT", "1", 1);
    setenv("HCCL_BUFFSIZE", "1", 1);
    for (int device : {1, 0}) {
      Require(hcclrun_core_aclrtSetDevice(device) == 0, "set a device");
      Require(hcclrun_core_aclrtMalloc(&in, kBytes, 0) == 0, "allocate");
      Require(hcclrun_core_aclrtMalloc(&out, kBytes, 0) == 0, "allocate");
    }
  }
};

struct Input {
  const uint8_t* data;
  size_t size;
  uint8_t Byte() { return size ? size--, *data++ : 0; }
  // A few words of the block; most values are small or close to a border.
  void Patch(void* block, uint64_t bytes, size_t patches) {
    for (; patches > 0 && size >= 3; patches--) {
      const uint64_t place = (Byte() | uint64_t{Byte()} << 8) * 4 % (bytes - 8);
      const uint8_t v = Byte();
      const uint64_t values[] = {uint64_t{v} >> 3, UINT64_MAX - (v >> 3), uint64_t{1} << (v >> 2),
                                 uint64_t{v} << 32 | 1};
      const uint64_t value = values[v & 3];
      memcpy(static_cast<char*>(block) + place, &value, v & 4 ? 8 : 4);
    }
  }
};

int Call(uint8_t which, uint64_t count, const Setting& s, HcclComm comm, void* stream) {
  uint64_t counts[2] = {count, count}, displs[2] = {0, count};
  switch (which % 8) {
    case 0:
      return hcclrun_core_HcclAllReduce(s.in, s.out, count, kFp32, kSum, comm, stream);
    case 1:
      return hcclrun_core_HcclAllGather(s.in, s.out, count, kFp32, comm, stream);
    case 2:
      return hcclrun_core_HcclReduceScatter(s.in, s.out, count, kFp32, kSum, comm, stream);
    case 3:
      return hcclrun_core_HcclAlltoAll(s.in, count, kFp32, s.out, count, kFp32, comm, stream);
    case 4:
      return hcclrun_core_HcclBroadcast(s.in, count, kFp32, 1, comm, stream);
    case 5:
      return hcclrun_core_HcclAlltoAllV(s.in, counts, displs, kFp32, s.out, counts, displs, kFp32,
                                        comm, stream);
    case 6:
      return hcclrun_core_HcclSend(s.in, count, kFp32, 1, comm, stream);
    default:
      return hcclrun_core_HcclRecv(s.out, count, kFp32, 1, comm, stream);
  }
}

}  // namespace
}  // namespace hcclrun

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hcclrun;
  static const Setting setting;
  Input input = {data, size};
  const uint8_t which = input.Byte(), flags = input.Byte();
  const uint64_t count = 1 + (uint64_t{input.Byte()} << (flags & 7));

  HcclComm comms[2] = {};
  int32_t devices[2] = {0, 1};
  Require(hcclrun_core_HcclCommInitAll(2, devices, comms) == 0, "make communicators");
  Require(hcclrun_core_aclrtSetDevice(0) == 0, "set a device");
  void* stream = nullptr;
  Require(hcclrun_core_aclrtCreateStream(&stream) == 0, "make a stream");
  {
    Result<std::shared_ptr<Communicator>> found = FindCommunicator(comms[0]);
    Require(found.ok(), "find the communicator");
    const std::shared_ptr<Communicator> comm = *found;
    const ControlView& view = comm->view();
    const uint64_t bytes = ControlView::BytesFor(2);
    // With a processor for each rank operations of a few bytes are exchanges.
    view.header->oversubscribed = flags >> 7;
    input.Patch(view.header, bytes, flags >> 3 & 3);
    const int code = Call(which, count, setting, comms[0], stream);
    // The peer has called the same, but for some patches.
    if (code == 0 && which % 8 < 6) {
      Descriptor d = view.descriptor(0, 0);
      input.Patch(&d, sizeof d, flags >> 5 & 3);
      d.sequence = 0;
      TryPost(view, 1, d);
    } else if (code == 0) {
      const bool sends = which % 8 == 6;
      TransferSlot& slot = view.channel(0, sends ? kSenderEnd : kReceiverEnd, 1).slot(0);
      TransferCall call = slot.calls[sends ? kSenderEnd : kReceiverEnd];
      input.Patch(&call, sizeof call, flags >> 5 & 3);
      slot.calls[sends ? kReceiverEnd : kSenderEnd] = call;
      slot.ends.fetch_or(sends ? 2 : 1, std::memory_order_seq_cst);
    }
    input.Patch(view.header, bytes, 64);
    view.NotifyAll();
    const int done = hcclrun_core_aclrtSynchronizeStreamWithTimeout(stream, 2000);
    if (getenv("FUZZ_SAY")) fprintf(stderr, "operation %d: call %d, end %d\n", which % 8, code, done);
  }
  hcclrun_core_aclrtDestroyStreamForce(stream);
  for (HcclComm comm : comms) hcclrun_core_HcclCommDestroy(comm);
  return 0;
}
