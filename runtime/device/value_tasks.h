#pragma once
// Streams that write a 64-bit word of device memory, and streams that wait until such a word has a
// value. The word may be changed by anything: a stream of this process, a copy, another process. A
// waiting stream therefore looks again and again, at least every millisecond; writes of this
// process wake it at once. A write has release, a look acquire semantics: what was done before the
// write in its stream is seen behind the wait.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class Stream;

enum class ValueTest : uint32_t {  // ACL_STREAM_WAIT_VALUE_*
  kGreaterOrEqual = 0,             // (int64)(word - value) >= 0
  kEqual = 1,
  kAnd = 2,  // (word & value) != 0
  kNor = 3,  // ~(word | value) != 0
};

// kUnaligned unless `address` is a multiple of 8; kNotDeviceMemory, kOutsideAllocation.
Fault WriteValueInStream(Stream& stream, void* address, uint64_t value);
// As above; the test is made on the word as it is when the stream comes to it, and later. The task
// fails when the memory is freed meanwhile.
Fault WaitValueInStream(Stream& stream, void* address, uint64_t value, ValueTest test);

}  // namespace hcclrun
