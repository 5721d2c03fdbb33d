#pragma once
#include <cstdint>
#include <cstring>

namespace hcclrun {

// The number in an enumeration that a C caller passed. It may be any: reading it as the enumeration
// would be undefined behaviour of ours.
template <class Enum>
int32_t RawValue(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int32_t));
  int32_t raw;
  memcpy(&raw, &value, sizeof raw);
  return raw;
}

}  // namespace hcclrun
