#pragma once
// What a shareable handle is made of (device/sharing.h), for the two sides of sharing.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/fault.h"
#include "device/heap_header.h"

namespace hcclrun::shareable {

inline constexpr int kFdBits = 20;
inline constexpr int kPidBits = 22;
static_assert(kPidBits + kFdBits + kExportKeyBits == 64);

inline uint64_t Pack(int32_t pid, int fd, uint64_t key) {
  return uint64_t(pid) << (kFdBits + kExportKeyBits) | uint64_t(fd) << kExportKeyBits | key;
}
inline int32_t PidOf(uint64_t shareable) {
  return static_cast<int32_t>(shareable >> (kFdBits + kExportKeyBits));
}
inline int FdOf(uint64_t shareable) {
  return static_cast<int>(shareable >> kExportKeyBits & ((1u << kFdBits) - 1));
}
inline uint64_t KeyOf(uint64_t shareable) {
  return shareable & ((uint64_t{1} << kExportKeyBits) - 1);
}

// Of a handle that leads to nothing, or to nothing of this kind.
inline Fault Refuse(absl::string_view why) {
  return Fault(FaultKind::kForeignHandle, std::string(why));
}

}  // namespace hcclrun::shareable
