#pragma once
// What an address is, in words.

#include <cstdint>
#include <string>

#include "base/fault.h"

namespace hcclrun {

// kNotDeviceMemory, kOutsideAllocation, kBuffersOverlap, kFreedInUse.
std::string MemorySentence(const Fault& fault);

}  // namespace hcclrun
