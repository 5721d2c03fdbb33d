#pragma once
// Physical memory (aclrtDrvMemHandle): a page range of a heap with reference
// counts (semantics B.2).
//
// A PhysicalMemory lives while somebody holds a shared_ptr to it: the handle table for as long as
// the user owes aclrtFreePhysical calls, every mapping, every symmetric window. Own memory returns
// to the heap when the last one goes and no other process has it imported; memory that is still
// imported elsewhere waits in a list that later allocations look through. Imported memory keeps the
// exporter's object open and its entry in the export record.

#include <cstdint>
#include <memory>

#include "base/fault.h"
#include "shm/memory_object.h"

namespace hcclrun {

class Device;
class Import;

struct PhysicalProperties {
  int32_t handle_type = 0;
  int32_t allocation_type = 0;
  int32_t memory_attribute = 0;  // aclrtMemAttr
  int32_t location_type = 1;     // aclrtMemLocationType
  uint32_t location_id = 0;
};

class PhysicalMemory {
 public:
  // `bytes`, a multiple of kGranule, of `device`; committed. The user owns one reference
  // of the handle.
  static Result<std::shared_ptr<PhysicalMemory>> Allocate(Device* device, uint64_t bytes,
                                                          const PhysicalProperties& properties);
  // Memory of another process, for sharing_import.cpp.
  static std::shared_ptr<PhysicalMemory> Adopt(Device* device, std::unique_ptr<Import> import,
                                               const PhysicalProperties& properties);
  // From the C handle; kUnknownHandle when the user holds no reference.
  static Result<std::shared_ptr<PhysicalMemory>> From(void* handle);
  // One reference less or more for the user's handle.
  static Fault ReleaseHandle(void* handle);
  static void RetainHandle(const std::shared_ptr<PhysicalMemory>& memory);
  // Drops all references that the user holds of memory of `device`.
  static void ReleaseHandlesOf(Device* device);
  ~PhysicalMemory();

  void* handle() const { return handle_; }
  Device* device() const { return device_; }
  bool imported() const { return import_ != nullptr; }
  uint64_t size() const { return size_; }
  uint64_t heap_offset() const { return offset_; }  // in fd()'s object
  int fd() const;
  uint64_t identity() const { return identity_; }
  const PhysicalProperties& properties() const { return properties_; }

  // The record of the export, 0 = not exported. For sharing_export.cpp, under its lock.
  uint64_t export_key = 0;

 private:
  PhysicalMemory(Device* device, uint64_t size, const PhysicalProperties& properties);

  Device* const device_;
  const uint64_t size_;
  const uint64_t identity_;
  const PhysicalProperties properties_;
  uint64_t offset_ = 0;
  std::unique_ptr<Import> import_;
  void* handle_ = nullptr;
  uint64_t user_references_ = 0;  // guarded by the handle lock in physical_memory.cpp
};

}  // namespace hcclrun
