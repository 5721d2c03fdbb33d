// Profiling is accepted and collects nothing. Programs make these calls before aclInit and never
// check for a device.

#include <cstdlib>

#include "acl/acl_prof.h"
#include "acl/boundary.h"

using namespace hcclrun;

struct aclprofConfig {
  int unused;
};

aclError aclprofInit(const char*, size_t) {
  return Answer(CallId::aclprof, [] { return Fault::None(); });
}

aclError aclprofFinalize(void) {
  return Answer(CallId::aclprof, [] { return Fault::None(); });
}

aclError aclprofStart(const aclprofConfig*) {
  return Answer(CallId::aclprof, [] { return Fault::None(); });
}

aclError aclprofStop(const aclprofConfig*) {
  return Answer(CallId::aclprof, [] { return Fault::None(); });
}

aclprofConfig* aclprofCreateConfig(uint32_t*, uint32_t, aclprofAicoreMetrics,
                                   const aclprofAicoreEvents*, uint64_t) {
  return static_cast<aclprofConfig*>(calloc(1, sizeof(aclprofConfig)));
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return Answer(CallId::aclprof, [&] {
    if (!profilerConfig) return NullArgument("profilerConfig");
    free(const_cast<aclprofConfig*>(profilerConfig));
    return Fault::None();
  });
}
