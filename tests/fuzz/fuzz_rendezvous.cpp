// The packets of the rendezvous, from a client that a server cannot trust and from a server that a
// client cannot trust. An input is a valid conversation with bytes replaced: its first byte chooses
// the side and what is attached, then come places and values.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "comm/control_block.h"
#include "comm/rendezvous.h"
#include "comm/rendezvous_client.h"
#include "comm/rendezvous_server.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

constexpr uint64_t kHeapBytes = 4 << 20;

RootInfo NewRootInfo() {
  static uint32_t n = 0;
  RootInfo info;
  memset(&info, 0, sizeof info);
  info.magic = kRootInfoMagic;
  info.layout = kLayoutVersion;
  info.uid = geteuid();
  info.pid = getpid();
  snprintf(info.socket, sizeof info.socket, "hcclrun.fuzz.%d.%u", getpid(), n++);
  snprintf(info.secret, sizeof info.secret, "secret");
  return info;
}

Hello NewHello(const RootInfo& info, uint32_t ranks) {
  Hello hello;
  memset(&hello, 0, sizeof hello);
  hello.magic = kRootInfoMagic;
  hello.layout = kLayoutVersion;
  hello.ranks = ranks;
  hello.pid = getpid();
  hello.device_count = 8;
  hello.heap_uid = 1;
  hello.heap_bytes = kHeapBytes;
  hello.stage_bytes = 1 << 20;
  hello.connect_timeout_ms = 1;
  memcpy(hello.secret, info.secret, sizeof hello.secret);
  return hello;
}

UniqueFd NewMemory(uint64_t bytes) {
  UniqueFd fd(memfd_create("fuzz", MFD_CLOEXEC));
  (void)!ftruncate(fd.get(), static_cast<off_t>(bytes));
  return fd;
}

// Takes (place, value) from the input and writes them into `bytes`.
struct Patches {
  const uint8_t* data;
  size_t size;
  void Apply(void* bytes, size_t length, size_t at_most) {
    for (; at_most > 0 && size >= 3; at_most--, data += 3, size -= 3)
      static_cast<uint8_t*>(bytes)[(data[0] | data[1] << 8) % length] = data[2];
  }
};

void Exchange(const RootInfo& info, const void* packet, size_t size, const std::vector<int>& fds) {
  Result<UniqueFd> socket = ConnectAbstract(info.socket, Deadline::After(0));
  if (!socket.ok()) return;
  (void)SendPacket(socket->get(), packet, size, fds, Deadline::After(10));
  ServerPacket answer;
  std::vector<UniqueFd> got;
  (void)ReceivePacket(socket->get(), &answer, sizeof answer, &got, Deadline::After(1));
}

void AttackServer(uint8_t choice, Patches patches) {
  const RootInfo info = NewRootInfo();
  Result<UniqueFd> listener = ListenAbstract(info.socket, 8);
  if (!listener.ok() || ServeRendezvous(std::move(*listener), info)) return;
  const UniqueFd memory = NewMemory(kHeapBytes);
  Hello hello = NewHello(info, 1 + (choice >> 5));
  patches.Apply(&hello, sizeof hello, 8);
  hello.connect_timeout_ms %= 3;  // it is how long the server has to wait
  const std::vector<int> fds(choice >> 1 & 3, memory.get());
  const size_t cut = choice & 8 && patches.size ? patches.data[0] % sizeof hello : sizeof hello;
  Exchange(info, &hello, cut, fds);
  // A rank that ends it, whatever state it is in.
  const Hello last = NewHello(info, 1);
  Exchange(info, &last, sizeof last, {memory.get()});
  for (int i = 0; i < 1000 && ConnectAbstract(info.socket, Deadline::After(0)).ok(); i++)
    usleep(1000);
}

void AttackClient(uint8_t choice, Patches patches) {
  const RootInfo info = NewRootInfo();
  Result<UniqueFd> listener = ListenAbstract(info.socket, 8);
  if (!listener.ok()) return;
  const uint32_t ranks = 1 + (choice >> 6);
  std::thread server([&] {
    Result<UniqueFd> socket = AcceptSameUser(listener->get(), Deadline::After(1000));
    if (!socket.ok() || !socket->valid()) return;
    const uint64_t bytes = ControlView::BytesFor(ranks);
    const UniqueFd control = NewMemory(choice & 2 ? bytes / 2 : bytes);
    std::vector<uint8_t> block(sizeof(ControlHeader) + sizeof(RankRecord) * ranks);
    ControlHeader& header = *reinterpret_cast<ControlHeader*>(block.data());
    header.magic = kControlMagic;
    header.layout = kLayoutVersion;
    header.ranks = ranks;
    header.bytes = bytes;
    const ControlView view = ControlView::At(block.data(), ranks);
    for (uint32_t r = 0; r < ranks; r++) {
      view.ranks[r].heap_uid = 100 + r;
      view.ranks[r].heap_bytes = kHeapBytes;
    }
    ServerPacket packets[3];
    memset(packets, 0, sizeof packets);
    for (size_t i = 0; i < 3; i++) {
      packets[i].magic = kRootInfoMagic;
      packets[i].what = i == 0   ? ServerPacket::kWelcome
                        : i == 1 ? ServerPacket::kHeaps
                                 : ServerPacket::kGo;
      packets[i].ranks = ranks;
      packets[i].control_bytes = bytes;
    }
    patches.Apply(block.data(), block.size(), choice & 4 ? 4 : 0);
    patches.Apply(packets, sizeof packets, 8);
    (void)!pwrite(control.get(), block.data(), block.size(), 0);
    const UniqueFd heap = NewMemory(kHeapBytes);
    const std::vector<int> heaps(choice & 8 ? 1 : ranks, heap.get());
    const Deadline soon = Deadline::After(100);
    (void)SendPacket(socket->get(), &packets[0], sizeof packets[0], {control.get()}, soon);
    (void)SendPacket(socket->get(), &packets[1], sizeof packets[1], heaps, soon);
    (void)SendPacket(socket->get(), &packets[2], sizeof packets[2], {}, soon);
    Hello taken;
    Ready ready;
    (void)ReceivePacket(socket->get(), &taken, sizeof taken, nullptr, soon);
    if (choice & 16) (void)ReceivePacket(socket->get(), &ready, sizeof ready, nullptr, soon);
  });
  const UniqueFd own = NewMemory(kHeapBytes);
  Result<Membership> membership = JoinRendezvous(info, NewHello(info, ranks), own.get());
  server.join();
  if (!membership.ok()) return;
  if (membership->heaps.size() != ranks) abort();
  for (const auto& heap : membership->heaps) {
    if (heap->bytes() > kHeapBytes) abort();
  }
}

}  // namespace
}  // namespace hcclrun

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const hcclrun::Patches patches = {data + 1, size - 1};
  data[0] & 1 ? hcclrun::AttackServer(data[0], patches) : hcclrun::AttackClient(data[0], patches);
  return 0;
}
