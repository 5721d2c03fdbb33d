#include "comm/peer_heaps.h"

#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "device/memory_map.h"

namespace hcclrun {
namespace {

struct Registry {
  std::mutex mutex;
  absl::flat_hash_map<uint64_t, std::weak_ptr<MappedHeap>> mapped;  // guarded by mutex
  absl::flat_hash_map<uint64_t, std::shared_ptr<MappedHeap>> own;   // guarded by mutex
};

Registry& GetRegistry() {
  static Registry* registry = new Registry();
  return *registry;
}

}  // namespace

MappedHeap::~MappedHeap() {
  if (region_.get_address()) RemovePeerView(base_);
}

void PeerHeaps::RegisterOwn(uint64_t uid, char* base, uint64_t bytes) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto heap = std::make_shared<MappedHeap>();
  heap->base_ = base;
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
  Result<boost::interprocess::mapped_region> region = object->Map();
  if (!region.ok()) return region.fault();
  auto heap = std::make_shared<MappedHeap>();
  heap->region_ = std::move(*region);
  heap->base_ = static_cast<char*>(heap->region_.get_address());
  heap->bytes_ = bytes;
  AddPeerView(heap->base_, bytes);
  known = heap;
  return heap;
}

}  // namespace hcclrun
