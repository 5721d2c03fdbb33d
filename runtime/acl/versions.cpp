// Versions of the packages that programs look for. There is one library, so all have one version:
// the CANN release whose interface it has.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "acl/acl_rt.h"
#include "acl/boundary.h"

namespace hcclrun {
namespace {

constexpr char kVersion[] = "9.1.0";
constexpr int32_t kVersionNumber = 9 * 10'000'000 + 1 * 100'000 + 0 * 1'000;

Fault CheckPackage(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {"cann",    "runtime", "compiler", "hccl",
                                                 "hcomm",   "toolkit", "opp",      "opp_kernel",
                                                 "driver",  "firmware"};
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames))
    return Fault::None();
  return Fault(FaultKind::kNotSupported, absl::StrCat("the package ", name))
      .WithCode(ACL_ERROR_INVALID_FILE);
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return Answer(CallId::aclsysGetVersionStr, [&]() -> Fault {
    if (!versionStr) return NullArgument("versionStr");
    if (!pkgName) return NullArgument("pkgName");
    if (Fault f = CheckPackage(pkgName)) return f;
    memcpy(versionStr, kVersion, sizeof kVersion);
    return Fault::None();
  });
}

aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return Answer(CallId::aclsysGetVersionNum, [&]() -> Fault {
    if (!versionNum) return NullArgument("versionNum");
    if (!pkgName) return NullArgument("pkgName");
    if (Fault f = CheckPackage(pkgName)) return f;
    *versionNum = kVersionNumber;
    return Fault::None();
  });
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return Answer(CallId::aclsysGetCANNVersion, [&]() -> Fault {
    if (!version) return NullArgument("version");
    const int package = RawValue(name);
    if (package < ACL_PKG_NAME_CANN || package > ACL_PKG_NAME_DRIVER) {
      return InvalidArgument(package, ACL_PKG_NAME_CANN, ACL_PKG_NAME_DRIVER, "name");
    }
    *version = {};
    memcpy(version->version, kVersion, sizeof kVersion);
    version->majorVersion[0] = kVersion[0];
    version->minorVersion[0] = kVersion[2];
    version->releaseVersion[0] = kVersion[4];
    return Fault::None();
  });
}
