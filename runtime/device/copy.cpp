#include "device/copy.h"

#include <cstring>
#include <memory>
#include <vector>

#include "device/memory_detail.h"
#include "device/memory_map.h"
#include "device/stream.h"

namespace hcclrun {
namespace {

// Copies up to here may run in the thread that queues them.
constexpr uint64_t kCheapBytes = 64 << 10;

uintptr_t Number(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// Finds out whether [address, +bytes) is usable device memory; host memory is anything the map does
// not know.
Fault Classify(const void* address, uint64_t bytes, const char* parameter, bool* on_device) {
  *on_device = FindMemory(address).kind != MemoryKind::kNone;
  if (*on_device) return CheckDeviceRange(address, bytes, parameter);
  if (IsVacantDeviceAddress(address))
    return NotDeviceMemory(address, parameter);
  return Fault::None();
}

enum class Side { kHost, kDevice, kAny };
struct KindRow {
  Side source, destination;
};

bool Sides(CopyKind kind, KindRow* row) {
  switch (kind) {
    case CopyKind::kHostToHost:
      *row = {Side::kHost, Side::kHost};
      return true;
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToBufferToDevice:
      *row = {Side::kHost, Side::kDevice};
      return true;
    case CopyKind::kDeviceToHost:
      *row = {Side::kDevice, Side::kHost};
      return true;
    case CopyKind::kDeviceToDevice:
    case CopyKind::kInnerDeviceToDevice:
    case CopyKind::kInterDeviceToDevice:
      *row = {Side::kDevice, Side::kDevice};
      return true;
    case CopyKind::kDefault:
      *row = {Side::kAny, Side::kAny};
      return true;
  }
  return false;
}

Fault CheckSides(const void* destination, uint64_t destination_bytes, const void* source,
                 uint64_t source_bytes, CopyKind kind) {
  KindRow row;
  if (!Sides(kind, &row)) return Fault(FaultKind::kBadEnum, {uint64_t(kind)}, "kind");
  bool source_on_device, destination_on_device;
  if (Fault f = Classify(destination, destination_bytes, "dst", &destination_on_device)) return f;
  if (Fault f = Classify(source, source_bytes, "src", &source_on_device)) return f;
  auto wrong = [](Side side, bool on_device) {
    return side != Side::kAny && (side == Side::kDevice) != on_device;
  };
  const char* what = nullptr;
  if (wrong(row.destination, destination_on_device)) {
    what = destination_on_device ? "dst is device memory, host memory was expected"
                                 : "dst is host memory, device memory was expected";
  } else if (wrong(row.source, source_on_device)) {
    what = source_on_device ? "src is device memory, host memory was expected"
                            : "src is host memory, device memory was expected";
  }
  if (what)
    return Fault(FaultKind::kCopyKind, {uint64_t(kind), Number(source), Number(destination)}, what);
  return Fault::None();
}

Fault CheckCopy(const void* destination, const void* source, uint64_t bytes, CopyKind kind) {
  return CheckSides(destination, bytes, source, bytes, kind);
}

Fault CheckRows(const CopyRows& copy, CopyKind kind) {
  const uint64_t gaps = copy.rows - 1, highest = UINT64_MAX / copy.rows;
  if (copy.destination_pitch > highest || copy.source_pitch > highest)
    return Fault(FaultKind::kBadValue, {copy.rows, 1, UINT64_MAX}, "height (times the pitch)");
  return CheckSides(copy.destination, gaps * copy.destination_pitch + copy.width, copy.source,
                    gaps * copy.source_pitch + copy.width, kind);
}

void DoRows(const CopyRows& copy) {
  char* const to = EngineView(copy.destination);
  const char* const from = EngineView(copy.source);
  for (uint64_t row = 0; row < copy.rows; row++) {
    memmove(to + row * copy.destination_pitch, from + row * copy.source_pitch, copy.width);
  }
}

class CopyRowsTask : public Task {
 public:
  CopyRowsTask(const CopyRows& copy, CopyKind kind) : copy_(copy), kind_(kind) {}
  Progress Advance(Fault* fault) override {
    *fault = CheckRows(copy_, kind_);
    if (!*fault) DoRows(copy_);
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool CheapToStart() const override { return copy_.width * copy_.rows <= kCheapBytes; }
  bool Uses(const MemoryInfo& memory) const override {
    const uint64_t gaps = copy_.rows - 1;
    return Overlaps(copy_.destination, gaps * copy_.destination_pitch + copy_.width, memory) ||
           Overlaps(copy_.source, gaps * copy_.source_pitch + copy_.width, memory);
  }
  const char* Name() const override { return "copy"; }

 private:
  const CopyRows copy_;
  const CopyKind kind_;
};

class CopyTask : public Task {
 public:
  CopyTask(void* destination, const void* source, uint64_t bytes, CopyKind kind)
      : destination_(destination), source_(source), bytes_(bytes), kind_(kind) {
    if (kind != CopyKind::kHostToBufferToDevice) return;
    const char* from = static_cast<const char*>(source);
    buffer_.assign(from, from + bytes);
    source_ = buffer_.data();
  }
  Progress Advance(Fault* fault) override {
    // The memory may have been freed or unmapped since the call.
    *fault = CheckCopy(destination_, source_, bytes_, kind_);
    if (!*fault) memmove(EngineView(destination_), EngineView(source_), bytes_);
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool CheapToStart() const override { return bytes_ <= kCheapBytes; }
  bool Uses(const MemoryInfo& memory) const override {
    return Overlaps(destination_, bytes_, memory) || Overlaps(source_, bytes_, memory);
  }
  const char* Name() const override { return "copy"; }

 private:
  void* const destination_;
  const void* source_;
  const uint64_t bytes_;
  const CopyKind kind_;
  std::vector<char> buffer_;  // of kHostToBufferToDevice: the caller's memory is free at once
};

class FillTask : public Task {
 public:
  FillTask(void* destination, int value, uint64_t bytes)
      : destination_(destination), value_(value), bytes_(bytes) {}
  Progress Advance(Fault* fault) override {
    *fault = Fill(destination_, value_, bytes_);
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool CheapToStart() const override { return bytes_ <= kCheapBytes; }
  bool Uses(const MemoryInfo& memory) const override {
    return Overlaps(destination_, bytes_, memory);
  }
  const char* Name() const override { return "memset"; }

 private:
  void* const destination_;
  const int value_;
  const uint64_t bytes_;
};

}  // namespace

Fault Copy(void* destination, const void* source, uint64_t bytes, CopyKind kind) {
  if (Fault f = CheckCopy(destination, source, bytes, kind)) return f;
  memmove(EngineView(destination), EngineView(source), bytes);
  return Fault::None();
}

Fault CopyInStream(Stream& stream, void* destination, const void* source, uint64_t bytes,
                   CopyKind kind) {
  if (Fault f = CheckCopy(destination, source, bytes, kind)) return f;
  return stream.Enqueue(std::make_unique<CopyTask>(destination, source, bytes, kind));
}

Fault CopyMatrix(const CopyRows& copy, CopyKind kind) {
  if (Fault f = CheckRows(copy, kind)) return f;
  DoRows(copy);
  return Fault::None();
}

Fault CopyMatrixInStream(Stream& stream, const CopyRows& copy, CopyKind kind) {
  if (Fault f = CheckRows(copy, kind)) return f;
  return stream.Enqueue(std::make_unique<CopyRowsTask>(copy, kind));
}

Fault Fill(void* destination, int value, uint64_t bytes) {
  bool on_device;
  if (Fault f = Classify(destination, bytes, "devPtr", &on_device)) return f;
  memset(EngineView(destination), value, bytes);
  return Fault::None();
}

Fault FillInStream(Stream& stream, void* destination, int value, uint64_t bytes) {
  bool on_device;
  if (Fault f = Classify(destination, bytes, "devPtr", &on_device)) return f;
  return stream.Enqueue(std::make_unique<FillTask>(destination, value, bytes));
}

}  // namespace hcclrun
