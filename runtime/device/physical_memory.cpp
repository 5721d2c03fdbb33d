#include "device/physical_memory.h"

#include <mutex>

#include "device/device.h"
#include "device/handle_table.h"
#include "device/memory_map.h"
#include "device/poison.h"
#include "device/sharing.h"

namespace hcclrun {
namespace {

HandleTable<PhysicalMemory>& Table() {
  static HandleTable<PhysicalMemory>* table =
      new HandleTable<PhysicalMemory>(HandleKind::kPhysicalMemory);
  return *table;
}

// Guards user_references_ and the presence of a handle in the table: in it exactly while references
// are owed.
std::mutex& HandleLock() {
  static std::mutex* mutex = new std::mutex();
  return *mutex;
}

}  // namespace

PhysicalMemory::PhysicalMemory(Device* device, uint64_t size, const PhysicalProperties& properties)
    : device_(device), size_(size), identity_(NextMemoryIdentity()), properties_(properties) {}

Result<std::shared_ptr<PhysicalMemory>> PhysicalMemory::Allocate(
    Device* device, uint64_t bytes, const PhysicalProperties& properties) {
  Result<uint64_t> offset = AllocateReclaiming(device->heap(), bytes, kGranule);
  if (!offset.ok()) return offset.fault();
  std::shared_ptr<PhysicalMemory> memory(new PhysicalMemory(device, bytes, properties));
  memory->offset_ = *offset;
  FillPoison(device->heap().base() + *offset, bytes, Poison::kFresh);
  // Symmetric peer pointers name own memory, and that of ranks in other threads, by its place in
  // the heap.
  AddPeerView(device->heap().program_base() + *offset, bytes);
  std::lock_guard<std::mutex> lock(HandleLock());
  memory->user_references_ = 1;
  memory->handle_ = Table().Add(memory);
  return memory;
}

std::shared_ptr<PhysicalMemory> PhysicalMemory::Adopt(Device* device,
                                                      std::unique_ptr<Import> import,
                                                      const PhysicalProperties& properties) {
  std::shared_ptr<PhysicalMemory> memory(new PhysicalMemory(device, import->size(), properties));
  memory->offset_ = import->offset();
  memory->import_ = std::move(import);
  std::lock_guard<std::mutex> lock(HandleLock());
  memory->user_references_ = 1;
  memory->handle_ = Table().Add(memory);
  return memory;
}

PhysicalMemory::~PhysicalMemory() {
  if (import_) return;
  RemovePeerView(device_->heap().program_base() + offset_);
  if (export_key && !CloseExport(device_, export_key, offset_))
    return;  // imported elsewhere: freed later
  FillPoison(device_->heap().base() + offset_, size_, Poison::kFreed);
  device_->heap().Free(offset_);
}

int PhysicalMemory::fd() const { return import_ ? import_->fd() : device_->heap().object().fd(); }

Result<std::shared_ptr<PhysicalMemory>> PhysicalMemory::From(void* handle) {
  std::shared_ptr<PhysicalMemory> memory = Table().Find(handle);
  if (!memory) return UnknownHandle(handle, "physical memory");
  return memory;
}

Fault PhysicalMemory::ReleaseHandle(void* handle) {
  std::shared_ptr<PhysicalMemory> memory;  // dies outside the lock
  std::lock_guard<std::mutex> lock(HandleLock());
  memory = Table().Find(handle);
  if (!memory) return UnknownHandle(handle, "physical memory");
  if (--memory->user_references_ == 0) Table().Remove(handle);
  return Fault::None();
}

void PhysicalMemory::RetainHandle(const std::shared_ptr<PhysicalMemory>& memory) {
  std::lock_guard<std::mutex> lock(HandleLock());
  if (memory->user_references_++ == 0) Table().Restore(memory->handle_, memory);
}

void PhysicalMemory::ReleaseHandlesOf(Device* device) {
  std::vector<std::shared_ptr<PhysicalMemory>> all = Table().All();
  std::lock_guard<std::mutex> lock(HandleLock());
  for (auto& memory : all) {
    if (memory->device_ != device || memory->user_references_ == 0) continue;
    memory->user_references_ = 0;
    Table().Remove(memory->handle_);
  }
}

}  // namespace hcclrun
