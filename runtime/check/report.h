#pragma once
// From a typed fact to what a caller sees: the result code, the sentence on standard error and in
// aclGetRecentErrMsg(), and the note of what this rank is doing in the job page.

#include <atomic>
#include <cstdint>
#include <string>

#include "base/call.h"
#include "base/fault.h"
#include "shm/job_page.h"
#include "shm/recorder.h"

namespace hcclrun {

// Result codes (0 for no fault) as the table in check/fault_table.cpp
// says; Fault::code_override wins.
int32_t AclCodeOf(const Fault& fault);
int32_t HcclCodeOf(const Fault& fault);

// The sentence: what was given, what was expected, what to do. Without the call's name, which the
// report adds.
std::string SentenceOf(const Fault& fault);

// One public call, as a local of the function that implements it. Notes the call in the job page
// while it runs; turns a fault into the code to return, telling the user once. Cheap when nothing
// goes wrong: a few relaxed stores. `noted` false leaves the page alone (queries that a program may
// call millions of times).
class ApiCall {
 public:
  explicit ApiCall(CallId call, bool noted = true);
  ~ApiCall() {
    if (!activity_) return;
    if (thread_) {
      // When a call that did not wait ended is known well enough from when it began.
      if (Recorder::Waits(*thread_)) [[unlikely]]
        NoteEnd();
      thread_->inside.store(0, std::memory_order_relaxed);
    }
    activity_->inside.store(0, std::memory_order_relaxed);
  }
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  int32_t Acl(const Fault& fault);   // aclError to return
  int32_t Hccl(const Fault& fault);  // HcclResult to return

 private:
  void NoteEnd() const;
  void Tell(const Fault& fault, int32_t code, const char* ei_code);
  CallId call_;
  bool noted_;
  RankActivity* activity_ = nullptr;
  Waiter* thread_ = nullptr;  // this thread's, in the flight recorder
};

// aclGetRecentErrMsg: newest first, cleared by the call, nullptr when empty; valid until the
// thread's next call.
const char* TakeRecentErrorMessage();

}  // namespace hcclrun
