// The exporter's side of shared memory: what is exported, to whom, and when it may go.

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "device/device.h"
#include "device/heap_header.h"
#include "device/shareable_number.h"
#include "device/sharing.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

using shareable::kFdBits;
using shareable::kPidBits;
using shareable::KeyOf;
using shareable::Pack;
using shareable::PidOf;
using shareable::Refuse;

// A range of a heap that its owner gave up while others had it; goes with the last export of it.
struct HeldRange {
  HeldRange(Device* device, uint64_t offset) : device(device), offset(offset) {}
  Device* const device;
  const uint64_t offset;
  ~HeldRange() { device->heap().Free(offset); }
};

// The owner's own knowledge of an export: what it wrote into the record, out of peers' reach.
struct Export {
  Device* device;
  ExportRecord* record;  // in the own view of the heap
  uint64_t record_offset;
  uint64_t memory_offset;
  uint64_t nonce;
  bool closed = false;              // nobody may import any more, importers remain
  bool withdrawn = false;           // WithdrawExport() was called
  std::shared_ptr<HeldRange> held;  // what is freed with this export
};

// Never destroyed: memory may be released from exit handlers.
struct Exports {
  std::mutex mutex;
  std::map<uint64_t, Export> by_key;
  std::multimap<Device*, uint64_t> spare_records;  // offsets in the device's heap
};

Exports& Own() {
  static Exports* exports = new Exports();
  return *exports;
}

HeapHeader* HeaderOf(Device* device) {
  return reinterpret_cast<HeapHeader*>(device->heap().base());
}

uint64_t Random() {
  uint64_t n = 0;
  while (n == 0) (void)!getrandom(&n, sizeof n, 0);
  return n;
}

bool HasLiveImporter(const ExportRecord& record) {
  for (const std::atomic<int32_t>& importer : record.importers) {
    int32_t pid = importer.load(std::memory_order_seq_cst);
    if (pid > 0 && !ProcessEnded(pid)) return true;
  }
  return false;
}

void Erase(Exports& exports, std::map<uint64_t, Export>::iterator it) {
  HeaderOf(it->second.device)->slots[it->first % kExportSlots].store(0, std::memory_order_release);
  exports.spare_records.emplace(it->second.device, it->second.record_offset);
  exports.by_key.erase(it);
}

// Drops the exports that were given up and that nobody has any more.
void ReclaimLocked(Exports& exports) {
  for (auto it = exports.by_key.begin(); it != exports.by_key.end();) {
    auto here = it++;
    if (here->second.closed && !HasLiveImporter(*here->second.record)) Erase(exports, here);
  }
}

// The own export that a handle stands for, whether it is closed or not. exports.mutex is held.
Result<std::map<uint64_t, Export>::iterator> FindOwn(Exports& exports, const FabricHandle& handle) {
  if (handle.magic != kHeapMagic) return Refuse("it was not made by an export call");
  if (PidOf(handle.shareable) != getpid()) return Refuse("this process did not export it");
  auto it = exports.by_key.find(KeyOf(handle.shareable));
  if (it == exports.by_key.end() || (handle.nonce && handle.nonce != it->second.nonce))
    return Refuse("the memory is not exported any more");
  return it;
}

// The offset of a record's place in the heap, one that was used before if there is any.
Result<uint64_t> TakeRecordPlace(Exports& exports, Device* device) {
  auto spare = exports.spare_records.find(device);
  if (spare != exports.spare_records.end()) {
    uint64_t offset = spare->second;
    exports.spare_records.erase(spare);
    return offset;
  }
  Result<uint64_t> offset = device->heap().Allocate(kExportRecordBytes, kDevicePage);
  if (offset.ok()) {
    void* place = device->heap().base() + *offset;
    memset(place, 0, kExportRecordBytes);
    new (place) ExportRecord;
  }
  return offset;
}

}  // namespace

FabricHandle FromShareable(uint64_t shareable) {
  FabricHandle handle = {};
  handle.magic = kHeapMagic;
  handle.shareable = shareable;
  return handle;
}

Result<FabricHandle> ExportMemory(const std::shared_ptr<PhysicalMemory>& memory, bool any_pid) {
  if (memory->imported()) return Refuse("imported memory cannot be exported again");
  static std::mutex* exporting = new std::mutex();  // guards export_key
  std::lock_guard<std::mutex> lock(*exporting);
  if (memory->export_key) return Refuse("the memory has been exported before");
  Result<FabricHandle> handle = ExportRange(
      memory->device(), memory->heap_offset(), memory->size(), ExportKind::kPhysicalMemory,
      static_cast<uint32_t>(memory->properties().memory_attribute), any_pid);
  if (handle.ok()) memory->export_key = ExportKeyOf(*handle);
  return handle;
}

uint64_t ExportKeyOf(const FabricHandle& handle) { return KeyOf(handle.shareable); }

Result<FabricHandle> ExportRange(Device* device, uint64_t offset, uint64_t size, ExportKind kind,
                                 uint32_t memory_attribute, bool any_pid) {
  Heap& heap = device->heap();
  int fd = heap.object().fd();
  if (fd >= 1 << kFdBits || getpid() >= 1 << kPidBits)
    return Refuse("the descriptor of the memory is too large");
  Exports& exports = Own();
  std::lock_guard<std::mutex> lock(exports.mutex);
  if (exports.by_key.size() >= kExportSlots / 2) ReclaimLocked(exports);
  if (exports.by_key.size() >= kExportSlots / 2) return Refuse("too many exports are alive");
  uint64_t slots = offsetof(HeapHeader, slots);
  if (Fault f = heap.Commit(slots, sizeof(HeapHeader) - slots)) return f;
  Result<uint64_t> record_offset = TakeRecordPlace(exports, device);
  if (!record_offset.ok()) return record_offset.fault();
  // At most half of the slots are taken, so a free one turns up soon. A key is unique among all
  // heaps of the process.
  uint64_t key;
  do {
    key = Random() & ((uint64_t{1} << kExportKeyBits) - 1);
  } while (key == 0 || exports.by_key.count(key) ||
           HeaderOf(device)->slots[key % kExportSlots].load(std::memory_order_relaxed) != 0);

  ExportRecord* record = reinterpret_cast<ExportRecord*>(heap.base() + *record_offset);
  const uint64_t nonce = Random();
  for (std::atomic<int32_t>& importer : record->importers)
    importer.store(0, std::memory_order_relaxed);
  record->magic = kHeapMagic;
  record->offset = offset;
  record->size = size;
  record->kind = static_cast<uint32_t>(kind);
  record->memory_attribute = memory_attribute;
  record->device = device->id();
  record->any_pid.store(any_pid, std::memory_order_relaxed);
  record->allowed_count.store(0, std::memory_order_relaxed);
  record->key.store(key, std::memory_order_seq_cst);
  record->nonce.store(nonce, std::memory_order_seq_cst);
  record->state.store(kExportOpen, std::memory_order_seq_cst);
  HeaderOf(device)->slots[key % kExportSlots].store(key << kSlotKeyShift | *record_offset,
                                                    std::memory_order_release);

  exports.by_key[key] = {device, record, *record_offset, offset, nonce, false, false, nullptr};
  FabricHandle handle = FromShareable(Pack(getpid(), fd, key));
  handle.heap_uid = heap.uid();
  handle.nonce = nonce;
  return handle;
}

Fault AllowPids(const FabricHandle& handle, const int32_t* pids, uint64_t count) {
  Exports& exports = Own();
  std::lock_guard<std::mutex> lock(exports.mutex);
  auto own = FindOwn(exports, handle);
  if (!own.ok()) return own.fault();
  const Export& exported = (*own)->second;
  if (exported.closed) return Refuse("the memory is not exported any more");
  ExportRecord* record = exported.record;
  uint32_t used = record->allowed_count.load(std::memory_order_relaxed);
  if (used > kMaxAllowedPids) return Refuse("its export table is damaged");
  if (count > kMaxAllowedPids - used) {
    return Fault(FaultKind::kBadValue, {count, 1, kMaxAllowedPids - used}, "pidNum");
  }
  for (uint64_t i = 0; i < count; i++)
    record->allowed[used + i].store(pids[i], std::memory_order_relaxed);
  record->allowed_count.store(used + static_cast<uint32_t>(count), std::memory_order_release);
  return Fault::None();
}

bool CloseExport(Device* device, uint64_t key, uint64_t offset) {
  Exports& exports = Own();
  std::lock_guard<std::mutex> lock(exports.mutex);
  auto it = exports.by_key.find(key);
  if (it == exports.by_key.end() || it->second.device != device ||
      it->second.memory_offset != offset)
    return true;
  it->second.record->state.store(kExportClosed, std::memory_order_seq_cst);
  if (HasLiveImporter(*it->second.record)) {
    it->second.closed = true;
    it->second.held = std::make_shared<HeldRange>(device, offset);
    return false;
  }
  Erase(exports, it);
  return true;
}

Fault WithdrawExport(const FabricHandle& handle) {
  Exports& exports = Own();
  std::lock_guard<std::mutex> lock(exports.mutex);
  auto own = FindOwn(exports, handle);
  if (!own.ok()) return own.fault();
  Export& exported = (*own)->second;
  if (exported.withdrawn) return Refuse("the memory is not exported any more");
  exported.record->state.store(kExportClosed, std::memory_order_seq_cst);
  exported.closed = exported.withdrawn = true;
  if (!HasLiveImporter(*exported.record)) Erase(exports, *own);
  return Fault::None();
}

bool DetachExports(Device* device, uint64_t offset, uint64_t size) {
  Exports& exports = Own();
  std::lock_guard<std::mutex> lock(exports.mutex);
  std::shared_ptr<HeldRange> held;
  for (auto it = exports.by_key.begin(); it != exports.by_key.end();) {
    auto here = it++;
    Export& exported = here->second;
    if (exported.device != device || exported.memory_offset < offset ||
        exported.memory_offset - offset >= size) {
      continue;
    }
    exported.record->state.store(kExportClosed, std::memory_order_seq_cst);
    exported.closed = true;
    if (!HasLiveImporter(*exported.record)) {
      Erase(exports, here);
      continue;
    }
    if (!held) held = std::make_shared<HeldRange>(device, offset);
    exported.held = held;
  }
  return held == nullptr;
}

Result<uint64_t> AllocateReclaiming(Heap& heap, uint64_t bytes, uint64_t alignment) {
  Result<uint64_t> offset = heap.Allocate(bytes, alignment);
  if (offset.ok()) return offset;
  Exports& exports = Own();
  {
    std::lock_guard<std::mutex> lock(exports.mutex);
    ReclaimLocked(exports);
  }
  return heap.Allocate(bytes, alignment);
}

}  // namespace hcclrun
