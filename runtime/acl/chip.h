#pragma once
// The emulated chip, of the Atlas A3 family, as far as programs can ask. Nothing of it
// is used here. Its name is in base/soc.h; with another name (HCCLRUN_SOC) these numbers stay.

#include <cstdint>

namespace hcclrun {

inline constexpr uint32_t kCubeCores = 24;
inline constexpr uint32_t kVectorCores = 48;
inline constexpr uint32_t kAicpuCores = 6;
inline constexpr int64_t kL2Bytes = int64_t{192} << 20;
inline constexpr int64_t kVectorLocalBytes = int64_t{192} << 10;  // unified buffer of a vector core
inline constexpr int64_t kArchitecture = 2201;
inline constexpr int32_t kDiesPerChip = 2;  // a device is a die

}  // namespace hcclrun
