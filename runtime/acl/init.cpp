// aclInit, aclFinalize and the texts of errors (semantics G.4, F.3). Initialising only counts:
// every other call works without it, because programs make some before it or go without
// (aclrtGetDeviceCount, profiling, --help paths).

#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>

#include "acl/acl_rt.h"
#include "acl/boundary.h"

namespace hcclrun {
namespace {

struct InitState {
  std::mutex mutex;
  uint64_t references = 0;  // aclInit calls that were not given back
  bool finalised = false;   // since the last aclInit
};

InitState& State() {
  static InitState* state = new InitState();  // the program may finalise from its exit handlers
  return *state;
}

// A configuration is read and checked as JSON; none of its settings has a meaning here.
Fault CheckConfig(const char* path) {
  if (path == nullptr || *path == 0) return Fault::None();
  FILE* file = fopen(path, "re");
  if (file == nullptr) {
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "open the configuration file of aclInit")
        .WithCode(ACL_ERROR_INVALID_FILE);
  }
  std::string text;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  bool failed = ferror(file) != 0;
  fclose(file);
  if (failed) {
    return Fault(FaultKind::kSystem, {uint64_t(EIO)}, "read the configuration file of aclInit")
        .WithCode(ACL_ERROR_INVALID_FILE);
  }
  bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
  if (blank || nlohmann::json::accept(text)) return Fault::None();
  return NotAllowed(absl::StrCat("configPath names ", path,
                                 ", which is not JSON; pass a JSON file or a null pointer"))
      .WithCode(ACL_ERROR_PARSE_FILE);
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclInit(const char* configPath) {
  return Answer(CallId::aclInit, [&]() -> Fault {
    InitState& state = State();
    std::lock_guard<std::mutex> lock(state.mutex);
    if (Fault f = CheckConfig(configPath)) return f;
    state.finalised = false;
    if (state.references++ > 0) return Fault(FaultKind::kRepeatedInit);
    return Fault::None();
  });
}

// Without aclInit it succeeds once: programs finalise on their way out of a bad option.
aclError aclFinalize(void) {
  return Answer(CallId::aclFinalize, []() -> Fault {
    InitState& state = State();
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.finalised) return Fault(FaultKind::kRepeatedFinalize);
    state.references = 0;
    state.finalised = true;
    Device::ResetAll();
    return Fault::None();
  });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return Answer(CallId::aclFinalizeReference, [&]() -> Fault {
    InitState& state = State();
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.references == 0) return Fault(FaultKind::kRepeatedFinalize);
    if (--state.references == 0) {
      state.finalised = true;
      Device::ResetAll();
    }
    if (refCount) *refCount = state.references;
    return Fault::None();
  });
}

const char* aclGetRecentErrMsg(void) {
  if (InForkedChild()) return nullptr;
  try {
    return TakeRecentErrorMessage();
  } catch (...) {
    return nullptr;
  }
}
