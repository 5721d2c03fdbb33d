// Notifies, within and between processes.

#include "device/notify.h"

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/key_checks.h"

namespace hcclrun {
namespace {

// Calls `use(notify)` with the notify of a C handle.
template <class Use>
Fault WithNotify(aclrtNotify handle, Use&& use) {
  if (!handle) return NullArgument("notify");
  Result<std::shared_ptr<Notify>> notify = Notify::From(handle);
  if (!notify.ok()) return notify.fault();
  return use(**notify);
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  return Answer(CallId::aclrtCreateNotify, [&]() -> Fault {
    if (!notify) return NullArgument("notify");
    if (flag > ACL_NOTIFY_DEVICE_USE_ONLY)
      return Fault(FaultKind::kBadValue, {flag, 0, ACL_NOTIFY_DEVICE_USE_ONLY}, "flag");
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    Result<void*> created = Notify::Create(*device);
    if (!created.ok()) return created.fault();
    *notify = *created;
    return Fault::None();
  });
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
  return Answer(CallId::aclrtDestroyNotify, [&]() -> Fault {
    if (!notify) return NullArgument("notify");
    return Notify::Destroy(notify);
  });
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  return Answer(CallId::aclrtRecordNotify, [&] {
    return WithNotify(notify, [&](Notify& n) {
      return WithStream(stream, [&](const std::shared_ptr<Stream>& s) { return n.RecordIn(*s); });
    });
  });
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
  return Answer(CallId::aclrtWaitAndResetNotify, [&] {
    return WithNotify(notify, [&](Notify& n) {
      return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
        return n.WaitIn(*s, timeout ? int64_t{timeout} * 1000 : -1);
      });
    });
  });
}

aclError aclrtNotifyGetExportKey(aclrtNotify notify, char* key, size_t len, uint64_t flags) {
  return Answer(CallId::aclrtNotifyGetExportKey, [&] {
    return WithNotify(notify, [&](Notify& n) -> Fault {
      if (Fault f = CheckKeyBuffer(key, len)) return f;
      if (flags != ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT &&
          flags != ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
        return Fault(FaultKind::kBadEnum, {flags}, "flags");
      }
      return WriteKey(n.ExportKey(flags == ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION), key);
    });
  });
}

aclError aclrtNotifyImportByKey(aclrtNotify* notify, const char* key, uint64_t flags) {
  return Answer(CallId::aclrtNotifyImportByKey, [&]() -> Fault {
    if (!notify) return NullArgument("notify");
    if (!key) return NullArgument("key");
    if (flags != ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT &&
        flags != ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
      return Fault(FaultKind::kBadEnum, {flags}, "flags");
    }
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    Result<void*> imported = Notify::Import(key, *device);
    if (!imported.ok()) return imported.fault();
    *notify = *imported;
    return Fault::None();
  });
}

aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t* pid, size_t num) {
  return Answer(CallId::aclrtNotifySetImportPid, [&] {
    return WithNotify(notify, [&](Notify& n) -> Fault {
      if (Fault f = CheckPids(pid, num)) return f;
      return n.AllowPids(pid, num);
    });
  });
}
