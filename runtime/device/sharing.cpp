#include "device/sharing.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/device.h"
#include "device/heap_header.h"
#include "shm/private_copy.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

constexpr int kFdBits = 20;
constexpr int kPidBits = 22;
static_assert(kPidBits + kFdBits + kExportKeyBits == 64);

uint64_t Pack(int32_t pid, int fd, uint64_t key) {
  return uint64_t(pid) << (kFdBits + kExportKeyBits) | uint64_t(fd) << kExportKeyBits | key;
}
int32_t PidOf(uint64_t shareable) {
  return static_cast<int32_t>(shareable >> (kFdBits + kExportKeyBits));
}
int FdOf(uint64_t shareable) {
  return static_cast<int>(shareable >> kExportKeyBits & ((1u << kFdBits) - 1));
}
uint64_t KeyOf(uint64_t shareable) { return shareable & ((uint64_t{1} << kExportKeyBits) - 1); }

Fault Refuse(absl::string_view why) { return Fault(FaultKind::kForeignHandle, std::string(why)); }

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

// Opens what may be a heap of another process, without side effects on whatever else it may be.
Result<MemoryObject> OpenHeap(int32_t pid, int fd) {
  std::string path = absl::StrCat("/proc/", pid, "/fd/", fd);
  UniqueFd probe(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!probe.valid()) {
    if (errno == EACCES || errno == EPERM) {
      return Refuse(absl::StrCat("process ", pid,
                                 " belongs to another user or forbids access to its descriptors"));
    }
    return Refuse(
        absl::StrCat("its exporter (process ", pid, ") has ended or has released the memory"));
  }
  struct stat st;
  if (fstat(probe.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return Refuse("it does not lead to device memory");
  if (st.st_uid != geteuid())
    return Refuse(absl::StrCat("process ", pid, " belongs to another user"));
  UniqueFd opened(open(absl::StrCat("/proc/self/fd/", probe.get()).c_str(), O_RDWR | O_CLOEXEC));
  if (!opened.valid()) return Refuse(absl::StrCat("opening the memory failed: ", strerror(errno)));
  Result<MemoryObject> object = MemoryObject::Adopt(opened.Release(), 2 * kGranule);
  if (!object.ok()) return Refuse("it does not lead to device memory");
  return object;
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

// Reads the header and the slot by pread: a hole of the object must not get pages because a
// stranger looked at it.
Result<uint64_t> FindRecord(const MemoryObject& object, const FabricHandle& handle) {
  HeapIdentity head;
  if (pread(object.fd(), &head, sizeof head, 0) != sizeof head || head.magic != kHeapMagic) {
    return Refuse("it does not lead to device memory");
  }
  if (head.version != kHeapVersion) return Refuse("its exporter runs another version of hcclrun");
  if (head.owner_pid != PidOf(handle.shareable) || head.size != object.size() ||
      (handle.heap_uid && handle.heap_uid != head.uid)) {
    return Refuse("it is from a process that has ended");
  }
  uint64_t key = KeyOf(handle.shareable), word;
  uint64_t at = offsetof(HeapHeader, slots) + key % kExportSlots * sizeof(std::atomic<uint64_t>);
  if (pread(object.fd(), &word, sizeof word, static_cast<off_t>(at)) != sizeof word || word == 0 ||
      word >> kSlotKeyShift != key) {
    return Refuse("its exporter has released the memory");
  }
  uint64_t offset = word & ((uint64_t{1} << kSlotKeyShift) - 1);
  if (offset % kDevicePage || offset < kGranule || offset > object.size() - kExportRecordBytes) {
    return Refuse("its export table is damaged");
  }
  return offset;
}

bool Allowed(const ExportRecord& record, int32_t pid) {
  if (record.any_pid.load(std::memory_order_acquire)) return true;
  uint32_t count = std::min(record.allowed_count.load(std::memory_order_acquire), kMaxAllowedPids);
  for (uint32_t i = 0; i < count; i++) {
    if (record.allowed[i].load(std::memory_order_relaxed) == pid) return true;
  }
  return false;
}

// Enters this process; the index in importers or -1.
int EnterImporter(ExportRecord* record) {
  for (uint32_t i = 0; i < kMaxImporters; i++) {
    int32_t seen = record->importers[i].load(std::memory_order_relaxed);
    if (seen != 0 && (seen < 0 || !ProcessEnded(seen))) continue;
    if (record->importers[i].compare_exchange_strong(seen, getpid(), std::memory_order_seq_cst)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

Import::Import(MemoryObject object, boost::interprocess::mapped_region record_page,
               uint64_t record_in_page, int slot, uint64_t offset, uint64_t size)
    : object_(std::move(object)),
      record_page_(std::move(record_page)),
      record_in_page_(record_in_page),
      slot_(slot),
      offset_(offset),
      size_(size) {}

Result<boost::interprocess::mapped_region> Import::Map() const {
  try {
    boost::interprocess::mapped_region region(object_, boost::interprocess::read_write,
                                              static_cast<off_t>(offset_), size_);
    const uint64_t page = boost::interprocess::mapped_region::get_page_size();
    const uint64_t lead = offset_ % page;
    ShieldMapping(static_cast<char*>(region.get_address()) - lead,
                  (lead + size_ + page - 1) / page * page);
    return region;
  } catch (const boost::interprocess::interprocess_exception& e) {
    return Fault(FaultKind::kAddressSpace, {size_, uint64_t(e.get_native_error())});
  }
}

Import::~Import() {
  if (InForkedChild()) return;
  char* page = static_cast<char*>(record_page_.get_address());
  ExportRecord* record = reinterpret_cast<ExportRecord*>(page + record_in_page_);
  int32_t mine = getpid();
  record->importers[slot_].compare_exchange_strong(mine, 0, std::memory_order_seq_cst);
}

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

Result<std::unique_ptr<Import>> ImportRange(const FabricHandle& handle, ExportKind kind,
                                            uint32_t* memory_attribute) {
  if (handle.magic != kHeapMagic) return Refuse("it was not made by an export call");
  const int32_t pid = PidOf(handle.shareable);
  if (pid == getpid()) return Refuse("the exporting process cannot import its own memory");
  if (pid <= 0) return Refuse("it was not made by an export call");
  Result<MemoryObject> object = OpenHeap(pid, FdOf(handle.shareable));
  if (!object.ok()) return object.fault();
  Result<uint64_t> record_offset = FindRecord(*object, handle);
  if (!record_offset.ok()) return record_offset.fault();

  boost::interprocess::mapped_region page;
  uint64_t page_size = boost::interprocess::mapped_region::get_page_size();
  uint64_t page_start = *record_offset / page_size * page_size,
           in_page = *record_offset - page_start;
  try {
    page = boost::interprocess::mapped_region(*object, boost::interprocess::read_write,
                                              static_cast<off_t>(page_start),
                                              in_page + kExportRecordBytes);
  } catch (const boost::interprocess::interprocess_exception& e) {
    return Fault(FaultKind::kAddressSpace, {kExportRecordBytes, uint64_t(e.get_native_error())});
  }
  ShieldMapping(page.get_address(), page.get_size());
  ExportRecord* record =
      reinterpret_cast<ExportRecord*>(static_cast<char*>(page.get_address()) + in_page);
  const uint64_t nonce = record->nonce.load(std::memory_order_seq_cst);
  auto current = [&] {
    return record->state.load(std::memory_order_seq_cst) == kExportOpen &&
           record->key.load(std::memory_order_seq_cst) == KeyOf(handle.shareable) &&
           record->nonce.load(std::memory_order_seq_cst) == nonce &&
           (!handle.nonce || handle.nonce == nonce);
  };
  if (record->magic != kHeapMagic || !current())
    return Refuse("its exporter has released the memory");
  if (record->kind != static_cast<uint32_t>(kind))
    return Refuse("it stands for something of another kind");
  const uint64_t offset = PrivateCopy(record->offset), size = PrivateCopy(record->size);
  const uint64_t unit = kind == ExportKind::kPhysicalMemory ? kGranule : 1;
  if (size == 0 || offset % unit || size % unit || offset < kGranule || size > object->size() ||
      offset > object->size() - size) {
    return Refuse("its export table is damaged");
  }
  if (!Allowed(*record, getpid())) {
    return Refuse(absl::StrCat("process ", getpid(), " is not on the exporter's list; process ",
                               pid, " must call aclrtMemSetPidToShareableHandle first"));
  }
  int slot = EnterImporter(record);
  if (slot < 0)
    return Refuse(absl::StrCat("it has been imported ", kMaxImporters, " times already"));
  auto import =
      std::make_unique<Import>(std::move(*object), std::move(page), in_page, slot, offset, size);
  if (memory_attribute) *memory_attribute = record->memory_attribute;
  // Entered first, looked second: see heap_header.h. ~Import takes the entry back.
  if (!current()) return Refuse("its exporter has released the memory");
  return import;
}

Result<std::shared_ptr<PhysicalMemory>> ImportMemory(const FabricHandle& handle, Device* device) {
  uint32_t memory_attribute;
  Result<std::unique_ptr<Import>> import =
      ImportRange(handle, ExportKind::kPhysicalMemory, &memory_attribute);
  if (!import.ok()) return import.fault();
  PhysicalProperties properties;
  properties.memory_attribute = static_cast<int32_t>(memory_attribute);
  properties.location_id = static_cast<uint32_t>(device->id());
  return PhysicalMemory::Adopt(device, std::move(*import), properties);
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
