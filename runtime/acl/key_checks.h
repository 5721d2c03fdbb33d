#pragma once
// Arguments of the calls that share things between processes by a key of text.

#include <cstring>
#include <string>

#include "acl/boundary.h"
#include "device/shared_key.h"

namespace hcclrun {

inline Fault CheckKeyBuffer(const char* key, size_t len) {
  if (!key) return NullArgument("key");
  if (len >= kKeyBufferBytes) return Fault::None();
  return Fault(FaultKind::kBadValue, {len, kKeyBufferBytes, UINT64_MAX}, "len");
}

// `key` passed CheckKeyBuffer().
inline Fault WriteKey(Result<std::string> text, char* key) {
  if (!text.ok()) return text.fault();
  memcpy(key, text->c_str(), text->size() + 1);
  return Fault::None();
}

inline Fault CheckPids(const int32_t* pid, size_t num) {
  constexpr uint64_t kMaxPids = 65535;
  if (!pid) return NullArgument("pid");
  if (num == 0) return ZeroArgument("num");
  if (num > kMaxPids) return Fault(FaultKind::kBadValue, {num, 1, kMaxPids}, "num");
  return Fault::None();
}

}  // namespace hcclrun
