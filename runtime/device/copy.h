#pragma once
// Copies and fills: which address must be what, and the tasks that do them in stream order.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class Stream;

enum class CopyKind : int32_t {  // aclrtMemcpyKind
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kDefault = 4,
  kHostToBufferToDevice = 5,
  kInnerDeviceToDevice = 6,
  kInterDeviceToDevice = 7,
};

// Checks a copy and does it at once. kBadEnum; kCopyKind when a side is device memory where the
// kind says host or the reverse; kOutsideAllocation; kNotDeviceMemory for addresses of freed or
// unmapped device memory. Host addresses are taken on trust: everything that is not device memory
// counts as host memory.
Fault Copy(void* destination, const void* source, uint64_t bytes, CopyKind kind);
// As above in stream order. The checks are made now and, for device memory, again when
// the copy runs.
Fault CopyInStream(Stream& stream, void* destination, const void* source, uint64_t bytes,
                   CopyKind kind);

// `rows` rows of `width` bytes, which start `destination_pitch` and `source_pitch` apart.
struct CopyRows {
  void* destination;
  uint64_t destination_pitch;
  const void* source;
  uint64_t source_pitch;
  uint64_t width, rows;
};
// As Copy() and CopyInStream(). `width` is at most both pitches, nothing is 0.
Fault CopyMatrix(const CopyRows& copy, CopyKind kind);
Fault CopyMatrixInStream(Stream& stream, const CopyRows& copy, CopyKind kind);

// Sets bytes of device or host memory.
Fault Fill(void* destination, int value, uint64_t bytes);
Fault FillInStream(Stream& stream, void* destination, int value, uint64_t bytes);

}  // namespace hcclrun
