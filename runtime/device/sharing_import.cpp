// The importer's side of shared memory: what stands behind a handle of another process, and its
// view.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "device/device.h"
#include "device/heap_header.h"
#include "device/shareable_number.h"
#include "device/sharing.h"
#include "shm/private_copy.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

using shareable::FdOf;
using shareable::KeyOf;
using shareable::PidOf;
using shareable::Refuse;

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

}  // namespace hcclrun
