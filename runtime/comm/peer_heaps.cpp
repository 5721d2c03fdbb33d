#include "comm/peer_heaps.h"

#include <unistd.h>

#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "base/strict_mode.h"
#include "device/memory_map.h"
#include "device/program_view.h"

namespace hcclrun {
namespace {

struct Registry {
  std::mutex mutex;
  absl::flat_hash_map<uint64_t, std::weak_ptr<MappedHeap>> mapped;  // guarded by mutex
  absl::flat_hash_map<uint64_t, std::shared_ptr<MappedHeap>> own;   // guarded by mutex
  uint64_t maps = 0;                                                // guarded by mutex
};

// Pages from one heap's place to the next, of the kRound pages that make an address round: odd, so
// that all places come in turn, and large enough that neighbours share no line of page table
// entries.
constexpr uint64_t kStep = 33, kRound = 512;

Registry& GetRegistry() {
  static Registry* registry = new Registry();
  return *registry;
}

}  // namespace

MappedHeap::~MappedHeap() {
  if (!mapping_.base()) return;
  RemovePeerView(program_base_);
  RemoveDeviceSpace(program_base_);
}

void PeerHeaps::RegisterOwn(uint64_t uid, char* base, char* program_base, uint64_t bytes) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto heap = std::make_shared<MappedHeap>();
  heap->base_ = base;
  heap->program_base_ = program_base;
  heap->bytes_ = bytes;
  registry.own[uid] = std::move(heap);
}

Result<std::shared_ptr<MappedHeap>> PeerHeaps::Map(uint64_t uid, uint64_t bytes, UniqueFd fd) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  if (auto it = registry.own.find(uid); it != registry.own.end()) return it->second;
  std::weak_ptr<MappedHeap>& known = registry.mapped[uid];
  if (auto heap = known.lock()) return heap;
  Result<MemoryObject> object = MemoryObject::Adopt(fd.Release(), bytes);
  if (!object.ok()) return object.fault();
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t skew = ++registry.maps * kStep % kRound * page;
  Result<Reservation> mapping = Reservation::Create(skew + bytes, kRound * page);
  if (!mapping.ok()) return mapping.fault();
  auto heap = std::make_shared<MappedHeap>();
  char* const base = mapping->base() + skew;
  if (Fault f = mapping->Map(base, bytes, object->fd(), 0)) return f;
  heap->mapping_ = std::move(*mapping);
  heap->base_ = heap->program_base_ = base;
  heap->bytes_ = bytes;
  if (StrictMode()) {
    Result<boost::interprocess::mapped_region> closed =
        object->MapClosed(NextProgramAddress(object->size()));
    if (!closed.ok()) {
      heap->mapping_ = {};  // it is in no map yet
      return closed.fault();
    }
    heap->closed_ = std::move(*closed);
    heap->program_base_ = static_cast<char*>(heap->closed_.get_address());
  }
  AddDeviceSpace(heap->program_base_, bytes, SpaceKind::kWhole, heap->base_);
  AddPeerView(heap->program_base_, bytes);
  known = heap;
  return heap;
}

}  // namespace hcclrun
