// What programs ask about devices, and access between them.

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/chip.h"
#include "base/fork_guard.h"
#include "base/job.h"
#include "base/settings.h"
#include "base/soc.h"

namespace hcclrun {
namespace {

Fault NotOnThisChip() { return Fault(FaultKind::kNotSupported, "an attribute of SIMT cores"); }

// The size of the heap that the device has or would get.
Result<int64_t> MemoryBytes(int32_t id) {
  Result<Device*> device = Device::Get(id);
  if (!device.ok()) return device.fault();
  return static_cast<int64_t>((*device)->heap().size());
}

Result<int64_t> Attribute(int32_t id, int attribute) {
  const int32_t physical = Device::PhysicalId(id);
  switch (attribute) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      return kAicpuCores;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      return kCubeCores;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      return kVectorCores;
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE:
      return kVectorLocalBytes;
    case ACL_DEV_ATTR_WARP_SIZE:
    case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_MAX_GRID_DIM_X:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Y:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Z:
    case ACL_DEV_ATTR_MAX_BLOCK_PER_GRID:
    case ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_X:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Y:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Z:
      return NotOnThisChip();
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      return MemoryBytes(id);
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      return kL2Bytes;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      return physical / kDiesPerChip;
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:  // as in the rank table that hcclrun writes
      return Job::Get().place().pod_server * Settings::Get().device_count + physical;
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
      return Job::Get().place().pod_server;
    case ACL_DEV_ATTR_SUPER_POD_ID:
      return Job::Get().place().superpod;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_MAINBOARD_ID:
    case ACL_DEV_ATTR_IS_VIRTUAL:
      return 0;
    case ACL_DEV_ATTR_HD_CONNECT_TYPE:
      return ACL_HOST_DEVICE_CONNECT_TYPE_HCCS;
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR:
      return ACL_DEVICE_FORM_FACTOR_POD;
    case ACL_DEV_ATTR_NPU_ARCH:
      return kArchitecture;
  }
  return Fault(FaultKind::kBadEnum, {uint64_t(attribute)}, "attr");
}

// The number of this boot of this machine, 32 hexadecimal digits between dashes; zeros if the
// kernel does not tell.
void ReadBootId(uint8_t (&bytes)[16]) {
  char text[64] = {};
  UniqueFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (file.valid()) (void)!read(file.get(), text, sizeof text - 1);
  std::string digits;
  for (const char* c = text; *c; c++) {
    if (absl::ascii_isxdigit(static_cast<unsigned char>(*c))) digits += *c;
  }
  if (digits.size() == 2 * sizeof bytes)
    memcpy(bytes, absl::HexStringToBytes(digits).data(), sizeof bytes);
}

// The peer of the thread's device in the calls that open and close access.
Fault CheckPeer(int32_t peer) {
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  if ((*device)->id() == peer)
    return InvalidArgument("peerDeviceId is the thread's own device; pass another one");
  return Device::CheckId(peer);
}

// Logical and physical numbers of devices.
Fault SameNumber(int32_t given, int32_t* result, const char* parameter, const char* out) {
  if (!result) return NullArgument(out);
  for (uint32_t id = 0; id < Device::Count(); id++) {
    if (Device::PhysicalId(static_cast<int32_t>(id)) != given) continue;
    *result = given;
    return Fault::None();
  }
  return Fault(FaultKind::kBadDevice, {uint64_t(int64_t{given}), Device::Count()}, parameter);
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

const char* aclrtGetSocName(void) { return Settings::Get().soc.c_str(); }

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return Answer(CallId::aclrtGetDeviceInfo, [&]() -> Fault {
    if (!value) return NullArgument("value");
    if (Fault f = Device::CheckId(deviceId)) return f;
    Result<int64_t> found = Attribute(static_cast<int32_t>(deviceId), RawValue(attr));
    if (!found.ok()) return found.fault();
    *value = *found;
    return Fault::None();
  });
}

aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType,
                                  int32_t* value) {
  return Answer(CallId::aclrtGetDeviceCapability, [&]() -> Fault {
    if (!value) return NullArgument("value");
    if (Fault f = Device::CheckId(deviceId)) return f;
    const int feature = RawValue(devFeatureType);
    if (feature != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
        feature != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
      return Fault(FaultKind::kBadEnum, {uint64_t(feature)}, "devFeatureType");
    }
    *value = ACL_DEV_FEATURE_NOT_SUPPORT;
    return Fault::None();
  });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return Answer(CallId::aclGetDeviceCapability, [&]() -> Fault {
    if (!value) return NullArgument("value");
    if (Fault f = Device::CheckId(deviceId)) return f;
    switch (RawValue(deviceInfo)) {
      case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = kCubeCores;
        return Fault::None();
      case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = kVectorCores;
        return Fault::None();
      case ACL_DEVICE_INFO_L2_SIZE:
        *value = kL2Bytes;
        return Fault::None();
    }
    return InvalidArgument(uint64_t(RawValue(deviceInfo)), ACL_DEVICE_INFO_AI_CORE_NUM,
                           ACL_DEVICE_INFO_L2_SIZE, "deviceInfo");
  });
}

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return Answer(CallId::aclGetCannAttributeList, [&]() -> Fault {
    if (!cannAttrList) return NullArgument("cannAttrList");
    if (!num) return NullArgument("num");
    static constexpr aclCannAttr kAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};
    *cannAttrList = kAttributes;
    *num = sizeof kAttributes / sizeof kAttributes[0];
    return Fault::None();
  });
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return Answer(CallId::aclGetCannAttribute, [&]() -> Fault {
    if (!value) return NullArgument("value");
    const int attribute = RawValue(cannAttr);
    if (attribute < ACL_CANN_ATTR_INF_NAN || attribute > ACL_CANN_ATTR_JIT_COMPILE) {
      return InvalidArgument(uint64_t(attribute), ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_JIT_COMPILE,
                             "cannAttr");
    }
    *value = attribute != ACL_CANN_ATTR_JIT_COMPILE;
    return Fault::None();
  });
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  return Answer(CallId::aclrtDeviceGetUuid, [&]() -> Fault {
    if (!uuid) return NullArgument("uuid");
    if (Fault f = Device::CheckId(deviceId)) return f;
    uint8_t bytes[16] = {};
    ReadBootId(bytes);
    const uint32_t physical = static_cast<uint32_t>(Device::PhysicalId(deviceId)) + 1;
    const uint32_t server = Job::Get().place().server;
    for (int i = 0; i < 4; i++) {
      bytes[8 + i] ^= static_cast<uint8_t>(server >> (8 * (3 - i)));
      bytes[12 + i] ^= static_cast<uint8_t>(physical >> (8 * (3 - i)));
    }
    memcpy(uuid->bytes, bytes, sizeof bytes);
    return Fault::None();
  });
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return Answer(CallId::aclrtQueryDeviceStatus, [&]() -> Fault {
    if (!deviceStatus) return NullArgument("deviceStatus");
    if (Fault f = Device::CheckId(deviceId)) return f;
    *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return Fault::None();
  });
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  return Answer(CallId::aclrtGetDeviceUtilizationRate, [&]() -> Fault {
    if (!utilizationInfo) return NullArgument("utilizationInfo");
    if (utilizationInfo->utilizationExtend != nullptr) {
      return InvalidArgument("utilizationInfo.utilizationExtend is set; it must be null");
    }
    Result<Device*> device = Device::Get(deviceId);
    if (!device.ok()) return device.fault();
    const Heap& heap = (*device)->heap();
    utilizationInfo->cubeUtilization = -1;
    utilizationInfo->vectorUtilization = -1;
    utilizationInfo->aicpuUtilization = -1;
    utilizationInfo->memoryUtilization =
        static_cast<int32_t>(heap.used_bytes() / (heap.size() / 100));
    return Fault::None();
  });
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  return Answer(CallId::aclrtGetLogicDevIdByUserDevId, [&]() -> Fault {
    if (!logicDevId) return NullArgument("logicDevId");
    if (Fault f = Device::CheckId(userDevid)) return f;
    *logicDevId = Device::PhysicalId(userDevid);
    return Fault::None();
  });
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t* const phyDevId) {
  return Answer(CallId::aclrtGetPhyDevIdByLogicDevId,
                [&] { return SameNumber(logicDevId, phyDevId, "logicDevId", "phyDevId"); });
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t* const logicDevId) {
  return Answer(CallId::aclrtGetLogicDevIdByPhyDevId,
                [&] { return SameNumber(phyDevId, logicDevId, "phyDevId", "logicDevId"); });
}

aclError aclrtCheckArchCompatibility(const char* socVersion, int32_t* canCompatible) {
  return Answer(CallId::aclrtCheckArchCompatibility, [&]() -> Fault {
    if (!socVersion) return NullArgument("socVersion");
    if (!canCompatible) return NullArgument("canCompatible");
    *canCompatible = absl::StartsWith(socVersion, SocFamily(Settings::Get().soc));
    return Fault::None();
  });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return Answer(CallId::aclrtGetPrimaryCtxState, [&]() -> Fault {
    if (!active) return NullArgument("active");
    if (Fault f = Device::CheckId(deviceId)) return f;
    *active = Device::HasDefaultContext(deviceId);
    if (flags) *flags = 0;
    return Fault::None();
  });
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return Answer(CallId::aclrtDeviceCanAccessPeer, [&]() -> Fault {
    if (!canAccessPeer) return NullArgument("canAccessPeer");
    if (deviceId == peerDeviceId)
      return InvalidArgument("peerDeviceId equals deviceId; pass another device");
    if (Fault f = Device::CheckId(deviceId)) return f;
    if (Fault f = Device::CheckId(peerDeviceId)) return f;
    *canAccessPeer = 1;
    return Fault::None();
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return Answer(CallId::aclrtDeviceEnablePeerAccess, [&]() -> Fault {
    if (flags != 0) {
      return Fault(FaultKind::kBadValue, {flags, 0, 0}, "flags")
          .WithCode(ACL_ERROR_FEATURE_UNSUPPORTED);
    }
    return CheckPeer(peerDeviceId);
  });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return Answer(CallId::aclrtDeviceDisablePeerAccess, [&] { return CheckPeer(peerDeviceId); });
}
