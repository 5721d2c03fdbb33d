#pragma once
// Device memory of one process in others, by a key of text (aclrtIpcMem*). The exporter names a
// part of an allocation; the importer gets an address of its own for the same bytes. Memory that
// the exporter frees while others have it is not used again until they let go. Any thread.

#include <cstdint>
#include <string>

#include "base/fault.h"

namespace hcclrun {

class Device;

// kNotDeviceMemory unless [address, +bytes) lies in memory of MallocDevice().
Result<std::string> ExportIpcMemory(void* address, uint64_t bytes, bool any_pid);
// Own exports only; kForeignHandle otherwise.
Fault AllowIpcPids(const char* key, const int32_t* pids, uint64_t count);
// For use on `device`, until CloseIpcMemory() or the device is reset. kForeignHandle with the
// reason.
Result<void*> ImportIpcMemory(const char* key, Device* device);
// Of an importer: its addresses become invalid. Of the exporter: nobody can import any more.
// kForeignHandle for a key that is neither, that was closed before, or whose memory was freed and
// is nobody's any more.
Fault CloseIpcMemory(const char* key);
void ReleaseIpcMemoryOf(Device* device);

}  // namespace hcclrun
