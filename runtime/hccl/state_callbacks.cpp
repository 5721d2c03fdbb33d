#include "hccl/state_callbacks.h"

#include <map>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/raw_value.h"
#include "hccl/guard.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace hcclrun {
namespace {

struct Callback {
  HcclCommStateCallback function;
  void* args;
};

// Never destroyed: communicators may be destroyed in exit handlers.
struct Callbacks {
  std::mutex mutex;
  std::map<std::string, Callback> by_name;  // guarded by mutex
};

Callbacks& GetCallbacks() {
  static Callbacks* callbacks = new Callbacks();
  return *callbacks;
}

}  // namespace

void TellStateCallbacks(HcclComm comm, HcclCommStatePhase phase) {
  std::map<std::string, Callback> called;
  {
    Callbacks& callbacks = GetCallbacks();
    std::lock_guard<std::mutex> lock(callbacks.mutex);
    called = callbacks.by_name;
  }
  for (const auto& [name, callback] : called) {
    const int32_t answer = RawValue(callback.function(comm, phase, callback.args));
    if (answer != HCCL_SUCCESS) {
      Tell(LogLevel::kWarning,
           absl::StrCat("communicator state callback ", name, " answered ", answer, " in phase ",
                        static_cast<int>(phase), " of HcclCommStatePhase; the call goes on"));
    }
  }
}

}  // namespace hcclrun

extern "C" {

HcclResult HcclCommRegCommStateCallback(const char* regName, HcclCommStateCallback cb, void* args) {
  return Guarded(CallId::HcclCommRegCommStateCallback, [&]() -> Fault {
    if (!regName) return Null("regName");
    Callbacks& callbacks = GetCallbacks();
    std::lock_guard<std::mutex> lock(callbacks.mutex);
    if (cb) {
      callbacks.by_name[regName] = {cb, args};
    } else {
      callbacks.by_name.erase(regName);
    }
    return Fault::None();
  });
}

}  // extern "C"
