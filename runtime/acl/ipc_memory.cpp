// Device memory between processes, by key.

#include "device/ipc_memory.h"

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/key_checks.h"

using namespace hcclrun;

aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len,
                                 uint64_t flags) {
  return Answer(CallId::aclrtIpcMemGetExportKey, [&]() -> Fault {
    if (!devPtr) return NullArgument("devPtr");
    if (size == 0) return ZeroArgument("size");
    if (Fault f = CheckKeyBuffer(key, len)) return f;
    if (flags > ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
      return Fault(FaultKind::kBadValue,
                   {flags, 0, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION}, "flags");
    }
    if (Fault f = NeedContext()) return f;
    return WriteKey(
        ExportIpcMemory(devPtr, size, flags == ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION),
        key);
  });
}

aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  return Answer(CallId::aclrtIpcMemSetImportPid, [&]() -> Fault {
    if (!key) return NullArgument("key");
    if (Fault f = CheckPids(pid, num)) return f;
    return AllowIpcPids(key, pid, num);
  });
}

aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  return Answer(CallId::aclrtIpcMemImportByKey, [&]() -> Fault {
    if (!devPtr) return NullArgument("devPtr");
    if (!key) return NullArgument("key");
    if (flags > ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
      return Fault(FaultKind::kBadValue,
                   {flags, 0, ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS}, "flags");
    }
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    Result<void*> address = ImportIpcMemory(key, *device);
    if (!address.ok()) return address.fault();
    *devPtr = *address;
    return Fault::None();
  });
}

aclError aclrtIpcMemClose(const char* key) {
  return Answer(CallId::aclrtIpcMemClose, [&]() -> Fault {
    if (!key) return NullArgument("key");
    return CloseIpcMemory(key);
  });
}
