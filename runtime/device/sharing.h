#pragma once
// Memory between processes (semantics B.2), without a thread or socket of ours: the importer opens
// the exporter's heap through /proc/<pid>/fd and looks the export up in the heap header
// (device/heap_header.h). Exported are physical memory, parts of allocations (device/ipc_memory.h),
// and the state of notifies and events (device/shared_state.h).
//
// A shareable handle is the exporter's pid (22 bits), the number of its heap's descriptor (20 bits)
// and a random key (22 bits). A fabric handle carries the same, the heap's uid and the export's
// nonce, and so is told apart from handles of earlier processes with certainty. Only processes of
// the same user can open each other's descriptors; everything found behind one is checked before it
// is used.

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <memory>

#include "base/fault.h"
#include "device/physical_memory.h"
#include "shm/memory_object.h"

namespace hcclrun {

class Heap;
struct HeapHeader;
struct ExportRecord;
enum class ExportKind : uint32_t;

// What one process holds of another's export: the open object and an entry in
// the record's importers.
class Import {
 public:
  Import(MemoryObject object, boost::interprocess::mapped_region record_page,
         uint64_t record_in_page, int slot, uint64_t offset, uint64_t size);
  ~Import();
  int fd() const { return object_.fd(); }
  // A view of the exported range; its address is the range's. kAddressSpace.
  Result<boost::interprocess::mapped_region> Map() const;
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }

 private:
  MemoryObject object_;
  boost::interprocess::mapped_region record_page_;
  const uint64_t record_in_page_;
  const int slot_;  // in importers
  const uint64_t offset_, size_;
};

struct FabricHandle {  // 128 bytes as the C API has it
  uint64_t magic;
  uint64_t shareable;
  uint64_t heap_uid;
  uint64_t nonce;
  uint8_t reserved[96];
};
static_assert(sizeof(FabricHandle) == 128);

// Exports `memory`; importers need not be listed when `any_pid`. kForeignHandle when it is imported
// or exported already.
Result<FabricHandle> ExportMemory(const std::shared_ptr<PhysicalMemory>& memory, bool any_pid);
// Exports [offset, +size) of the device's heap, which stays allocated until CloseExport() or
// DetachExports() says that it may go.
Result<FabricHandle> ExportRange(Device* device, uint64_t offset, uint64_t size, ExportKind kind,
                                 uint32_t memory_attribute, bool any_pid);
// The key by which CloseExport() knows an export.
uint64_t ExportKeyOf(const FabricHandle& handle);
// Completes a shareable number to a fabric handle without uid and nonce.
FabricHandle FromShareable(uint64_t shareable);
// Lets `count` more processes import; own exports only. kForeignHandle, kBadValue when the
// list is full.
Fault AllowPids(const FabricHandle& handle, const int32_t* pids, uint64_t count);
// Takes a reference for use on `device`. kForeignHandle with the reason.
Result<std::shared_ptr<PhysicalMemory>> ImportMemory(const FabricHandle& handle, Device* device);
// What stands behind a handle of this kind; *memory_attribute (may be nullptr) is the exporter's.
Result<std::unique_ptr<Import>> ImportRange(const FabricHandle& handle, ExportKind kind,
                                            uint32_t* memory_attribute);

// The owner gives the memory up. True when nobody has it imported: the export is gone and the range
// may be freed. False: AllocateReclaiming() frees the range when the last importer has gone.
bool CloseExport(Device* device, uint64_t key, uint64_t offset);
// Nobody can import any more; who has keeps it. The memory remains the caller's. Own exports only,
// each once: kForeignHandle.
Fault WithdrawExport(const FabricHandle& handle);
// The allocation [offset, +size) is about to be freed. True: it may be, its exports are gone.
// False: another process has a part of it; AllocateReclaiming() frees it later.
bool DetachExports(Device* device, uint64_t offset, uint64_t size);
// As Heap::Allocate(). When there is no room, frees what importers have let go meanwhile and tries
// once more.
Result<uint64_t> AllocateReclaiming(Heap& heap, uint64_t bytes, uint64_t alignment);

}  // namespace hcclrun
