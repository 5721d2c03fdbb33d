#pragma once
// The first granule of every heap: who it is, and what its owner exports to other processes
// (aclrtMem*Shareable*, aclrtIpc*, aclrtNotify*).
//
// Writers and readers. The owner writes the header once, before anybody else can see the heap, and
// alone writes slots and records, except for ExportRecord::importers, where importing processes
// enter and remove themselves. An importer takes everything it reads as hearsay: it copies,
// range-checks and only then uses it. The owner in turn keeps its own copy of each record and reads
// back nothing but `importers`.
//
// Publication. A slot becomes visible by a release store of its word after the record is complete,
// and importers load it with acquire. An importer first enters its pid in `importers` and then
// looks at `state`; an owner that gives the memory up first sets `state` to closed and then looks
// at `importers`. All four are seq_cst (store, then load, on both sides), so at least one of the
// two sees the other: either the import fails, or the memory stays.
//
// A record's pages serve later records but nothing else, so an importer that comes too late
// enters its pid in a record at worst; looking at `state`, `key` and `nonce` again after it
// entered, it notices.
//
// Death. An importer that dies leaves its pid behind; the owner does not count pids that have
// ended. When the owner dies, the object lives on through the descriptors and mappings of
// importers, and nobody reuses its ranges.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hcclrun {

inline constexpr uint64_t kHeapMagic = 0x7061656863636863;  // "hcchheap"
inline constexpr uint32_t kHeapVersion = 2;
inline constexpr uint32_t kExportSlots = 16384;
inline constexpr uint32_t kExportKeyBits = 22;
// Per export; hardware allows 65535, no machine runs them.
inline constexpr uint32_t kMaxAllowedPids = 1024;
inline constexpr uint32_t kMaxImporters = 960;  // per export

// The constants, as strangers read them, by pread.
struct HeapIdentity {
  uint64_t magic;
  uint32_t version;
  int32_t owner_pid;
  uint64_t uid;
  uint64_t size;
};

struct HeapHeader {
  HeapIdentity identity;
  uint64_t reserved[12];
  // Entry key % kExportSlots: 0 = free, else key << 42 | offset of the record in the heap.
  std::atomic<uint64_t> slots[kExportSlots];
};
static_assert(sizeof(HeapHeader) <= 192 * 1024);

inline constexpr int kSlotKeyShift = 64 - kExportKeyBits;

inline constexpr uint32_t kExportOpen = 1;
inline constexpr uint32_t kExportClosed = 2;

enum class ExportKind : uint32_t {
  kPhysicalMemory = 0,  // whole granules
  kMemory = 1,          // any part of an allocation
  kNotify = 2,          // a NotifyState
  kEvent = 3,           // an IpcEventState
};

// Lies in a page range of its own in the heap. The constants are written before the slot is
// published and, when the record is used again, after `state` was closed.
struct ExportRecord {
  uint64_t magic;               // kHeapMagic
  std::atomic<uint64_t> nonce;  // random; part of the fabric handle
  std::atomic<uint64_t> key;
  uint64_t offset;  // of the memory in the heap
  uint64_t size;
  uint32_t memory_attribute;  // aclrtMemAttr
  int32_t device;             // the exporter's number of it
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> any_pid;        // 1 = importers need not be listed
  std::atomic<uint32_t> allowed_count;  // grows only; entries below it are final (release, acquire)
  uint32_t kind;                        // ExportKind
  std::atomic<int32_t> allowed[kMaxAllowedPids];
  std::atomic<int32_t> importers[kMaxImporters];  // pid of a live import, 0 = free
};
inline constexpr uint64_t kExportRecordBytes = 8192;
static_assert(sizeof(ExportRecord) <= kExportRecordBytes);

}  // namespace hcclrun
