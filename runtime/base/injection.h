#pragma once
// Mishaps on request: a rank that is killed, or held up, when it makes a certain call (hcclrun
// --kill and --delay). The launcher checks the requests and hands them to all ranks in a variable;
// each rank picks its own. Nothing but the entry of API calls looks at them, and without the
// variable that is one comparison of a pointer.

#include <cstdint>
#include <string>
#include <vector>

#include "base/call.h"

namespace hcclrun {

inline constexpr char kEnvInject[] = "HCCLRUN_INJECT";

struct Injection {
  enum class What { kKill, kDelay };
  What what = What::kKill;
  int rank = 0;
  CallId call = CallId::kNone;
  uint64_t number = 0;  // of the rank's calls of that function, from 1; 0 = every one
  int64_t delay_ns = 0;
};

// "2:AllReduce#3", for a delay with ":50ms" behind it (us, ms or s). The call may be written
// without its prefix: Hccl, HcclComm, HcclCommSymWin, aclrt or acl. A kill without a number means
// the first call. Returns "" or what is wrong, as the end of a sentence that begins with the text.
std::string ParseInjection(const std::string& text, Injection::What what, Injection* injection);

// The value of the variable for a list of texts that ParseInjection() takes, each after "kill:" or
// "delay:"; and back, without what does not parse.
std::string JoinInjections(const std::vector<std::string>& texts);
std::vector<Injection> SplitInjections(const std::string& value);

// Whether InjectAt() would do anything, ever.
bool AnyInjection();
// At the beginning of a call: does what is asked for, if anything.
void InjectAt(CallId call);

}  // namespace hcclrun
