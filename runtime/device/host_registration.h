#pragma once
// Host memory that the program registered for use by devices. An emulated device sees host memory
// anyway, at its own address: registrations are kept so that they can be asked for. Any thread.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

// kUnaligned unless `address` is on a page; kRangeMapped when a part is registered already.
Fault RegisterHostMemory(void* address, uint64_t bytes, bool mapped);
// kUnknownHandle unless a registration starts there.
Fault UnregisterHostMemory(void* address);
// The device's address of registered and mapped host memory; kUnknownHandle.
Result<void*> DevicePointerOf(void* address);
bool IsRegisteredHostMemory(const void* address);
// Whether the host memory is the library's own or registered: it stays until the program says so.
bool IsKnownHostMemory(const void* address);

}  // namespace hcclrun
