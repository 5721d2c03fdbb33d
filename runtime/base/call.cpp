#include "base/call.h"

namespace hcclrun {

const char* CallName(CallId call) {
  static const char* const kNames[] = {"no call",
#define HCCLRUN_CALL_NAME(name) #name,
                                       HCCLRUN_CALLS(HCCLRUN_CALL_NAME)
#undef HCCLRUN_CALL_NAME
  };
  return call < CallId::kCount ? kNames[static_cast<uint32_t>(call)] : kNames[0];
}

}  // namespace hcclrun
