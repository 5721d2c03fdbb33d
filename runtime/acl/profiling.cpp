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
  return Answer(CallId::aclprofInit, [] { return Fault::None(); });
}

aclError aclprofFinalize(void) {
  return Answer(CallId::aclprofFinalize, [] { return Fault::None(); });
}

aclError aclprofStart(const aclprofConfig*) {
  return Answer(CallId::aclprofStart, [] { return Fault::None(); });
}

aclError aclprofStop(const aclprofConfig*) {
  return Answer(CallId::aclprofStop, [] { return Fault::None(); });
}

aclprofConfig* aclprofCreateConfig(uint32_t*, uint32_t, aclprofAicoreMetrics,
                                   const aclprofAicoreEvents*, uint64_t) {
  return static_cast<aclprofConfig*>(calloc(1, sizeof(aclprofConfig)));
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return Answer(CallId::aclprofDestroyConfig, [&] {
    if (!profilerConfig) return NullArgument("profilerConfig");
    free(const_cast<aclprofConfig*>(profilerConfig));
    return Fault::None();
  });
}

struct aclprofStepInfo {
  int unused;
};

aclError aclprofSetConfig(aclprofConfigType, const char*, size_t) {
  return Answer(CallId::aclprofSetConfig, [] { return Fault::None(); });
}

aclprofStepInfo* aclprofCreateStepInfo(void) {
  return static_cast<aclprofStepInfo*>(calloc(1, sizeof(aclprofStepInfo)));
}

void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo) { free(stepinfo); }

aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag, aclrtStream) {
  return Answer(CallId::aclprofGetStepTimestamp,
                [&] { return stepInfo ? Fault::None() : NullArgument("stepInfo"); });
}

aclError aclprofMarkEx(const char* msg, size_t, aclrtStream) {
  return Answer(CallId::aclprofMarkEx, [&] { return msg ? Fault::None() : NullArgument("msg"); });
}

void* aclprofCreateStamp(void) { return calloc(1, 1); }

void aclprofDestroyStamp(void* stamp) { free(stamp); }

namespace {

aclError WithStamp(CallId id, const void* stamp) {
  return Answer(id, [&] { return stamp ? Fault::None() : NullArgument("stamp"); });
}

}  // namespace

aclError aclprofPush(void* stamp) { return WithStamp(CallId::aclprofPush, stamp); }

aclError aclprofPop(void) {
  return Answer(CallId::aclprofPop, [] { return Fault::None(); });
}

aclError aclprofRangeStart(void* stamp, uint32_t* rangeId) {
  if (stamp && rangeId) *rangeId = 0;
  return rangeId ? WithStamp(CallId::aclprofRangeStart, stamp)
                 : Answer(CallId::aclprofRangeStart, [] { return NullArgument("rangeId"); });
}

aclError aclprofRangeStop(uint32_t) {
  return Answer(CallId::aclprofRangeStop, [] { return Fault::None(); });
}

aclError aclprofSetStampTraceMessage(void* stamp, const char*, uint32_t) {
  return WithStamp(CallId::aclprofSetStampTraceMessage, stamp);
}

aclError aclprofMark(void* stamp) { return WithStamp(CallId::aclprofMark, stamp); }
