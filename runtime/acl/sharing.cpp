// Physical memory between processes (semantics B.2).

#include "device/sharing.h"

#include <cstring>

#include "acl/acl_rt.h"
#include "acl/boundary.h"

namespace hcclrun {
namespace {

constexpr uint64_t kMaxPids = 65535;

static_assert(sizeof(FabricHandle) == sizeof(aclrtMemFabricHandle));

Fault CheckShareType(int type) {
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT || type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC)
    return Fault::None();
  return Fault(FaultKind::kBadEnum, {uint64_t(type)}, "shareType");
}

Result<FabricHandle> Export(aclrtDrvMemHandle handle, uint64_t flags) {
  if (flags > ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
    return Fault(FaultKind::kBadValue, {flags, 0, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION},
                 "flags");
  }
  if (Fault f = NeedContext()) return f;
  Result<std::shared_ptr<PhysicalMemory>> memory = PhysicalMemory::From(handle);
  if (!memory.ok()) return memory.fault();
  return ExportMemory(*memory, flags == ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
}

Fault AllowChecked(const FabricHandle& handle, int32_t* pid, size_t pidNum) {
  if (!pid) return NullArgument("pid");
  if (pidNum == 0) return ZeroArgument("pidNum");
  if (pidNum > kMaxPids) return Fault(FaultKind::kBadValue, {pidNum, 1, kMaxPids}, "pidNum");
  if (Fault f = NeedContext()) return f;
  return AllowPids(handle, pid, pidNum);
}

// Reads what a V2 call points at; the user's struct may lie anywhere.
FabricHandle ReadHandle(const void* shareable, int type) {
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
    FabricHandle handle;
    memcpy(&handle, shareable, sizeof handle);
    return handle;
  }
  uint64_t number;
  memcpy(&number, shareable, sizeof number);
  return FromShareable(number);
}

Fault ImportChecked(const FabricHandle& shareable, Device* device, aclrtDrvMemHandle* handle) {
  Result<std::shared_ptr<PhysicalMemory>> memory = ImportMemory(shareable, device);
  if (!memory.ok()) return memory.fault();
  *handle = (*memory)->handle();
  return Fault::None();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                         uint64_t flags, uint64_t* shareableHandle) {
  return Answer(CallId::aclrtMemExportToShareableHandle, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    if (!shareableHandle) return NullArgument("shareableHandle");
    if (RawValue(handleType) != ACL_MEM_HANDLE_TYPE_NONE) {
      return Fault(FaultKind::kBadEnum, {uint64_t(RawValue(handleType))}, "handleType");
    }
    Result<FabricHandle> exported = Export(handle, flags);
    if (!exported.ok()) return exported.fault();
    *shareableHandle = exported->shareable;
    return Fault::None();
  });
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                           aclrtMemSharedHandleType shareType,
                                           void* shareableHandle) {
  return Answer(CallId::aclrtMemExportToShareableHandleV2, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    if (!shareableHandle) return NullArgument("shareableHandle");
    if (Fault f = CheckShareType(RawValue(shareType))) return f;
    Result<FabricHandle> exported = Export(handle, flags);
    if (!exported.ok()) return exported.fault();
    if (shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
      memcpy(shareableHandle, &*exported, sizeof *exported);
    } else {
      memcpy(shareableHandle, &exported->shareable, sizeof exported->shareable);
    }
    return Fault::None();
  });
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  return Answer(CallId::aclrtMemSetPidToShareableHandle,
                [&] { return AllowChecked(FromShareable(shareableHandle), pid, pidNum); });
}

aclError aclrtMemSetPidToShareableHandleV2(void* shareableHandle,
                                           aclrtMemSharedHandleType shareType, int32_t* pid,
                                           size_t pidNum) {
  return Answer(CallId::aclrtMemSetPidToShareableHandleV2, [&]() -> Fault {
    if (!shareableHandle) return NullArgument("shareableHandle");
    if (Fault f = CheckShareType(RawValue(shareType))) return f;
    return AllowChecked(ReadHandle(shareableHandle, RawValue(shareType)), pid, pidNum);
  });
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                           aclrtDrvMemHandle* handle) {
  return Answer(CallId::aclrtMemImportFromShareableHandle, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    if (Fault f = NeedContext()) return f;
    Result<Device*> device = Device::Get(deviceId);
    if (!device.ok()) return device.fault();
    return ImportChecked(FromShareable(shareableHandle), *device, handle);
  });
}

aclError aclrtMemImportFromShareableHandleV2(void* shareableHandle,
                                             aclrtMemSharedHandleType shareType, uint64_t flags,
                                             aclrtDrvMemHandle* handle) {
  return Answer(CallId::aclrtMemImportFromShareableHandleV2, [&]() -> Fault {
    if (!shareableHandle) return NullArgument("shareableHandle");
    if (!handle) return NullArgument("handle");
    if (Fault f = CheckShareType(RawValue(shareType))) return f;
    if (flags != 0) return Fault(FaultKind::kBadValue, {flags, 0, 0}, "flags");
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    return ImportChecked(ReadHandle(shareableHandle, RawValue(shareType)), *device, handle);
  });
}
