#include "device/host_functions.h"

#include <atomic>
#include <memory>

#include "device/memory_map.h"
#include "device/program_view.h"
#include "device/stream.h"

namespace hcclrun {
namespace {

// Tasks of user code that live.
std::atomic<uint32_t> g_user_code{0};

class UserCodeTask : public Task {
 public:
  UserCodeTask() { g_user_code.fetch_add(1, std::memory_order_relaxed); }
  ~UserCodeTask() override { g_user_code.fetch_sub(1, std::memory_order_relaxed); }
  void WaitForProgress(int64_t) override {}
  bool NeedsWorker() const override { return true; }
};

class HostFunctionTask : public UserCodeTask {
 public:
  HostFunctionTask(void (*function)(void*), void* argument)
      : function_(function), argument_(argument) {}
  Progress Advance(Fault*) override {
    Recorder::Wait(waiter, {WaitKind::kHostFunction});
    function_(argument_);
    return Progress::kDone;
  }
  const char* Name() const override { return "host function"; }

 private:
  void (*const function_)(void*);
  void* const argument_;
};

class KernelTask : public UserCodeTask {
 public:
  KernelTask(int (*kernel)(void*), void* argument) : kernel_(kernel), argument_(argument) {}
  Progress Advance(Fault* fault) override {
    Recorder::Wait(waiter, {WaitKind::kHostFunction});
    const OpenProgramView open;
    const int result = kernel_(argument_);
    if (result != 0) *fault = Fault(FaultKind::kKernelFailed, {uint64_t(int64_t{result})});
    return Progress::kDone;
  }
  const char* Name() const override { return "kernel"; }

 private:
  int (*const kernel_)(void*);
  void* const argument_;
};

}  // namespace

bool UserCodeQueued() { return g_user_code.load(std::memory_order_relaxed) != 0; }

Fault RunInStream(Stream& stream, void (*function)(void*), void* argument) {
  return stream.Enqueue(std::make_unique<HostFunctionTask>(function, argument));
}

Fault RunKernelInStream(Stream& stream, int (*kernel)(void*), void* argument) {
  return stream.Enqueue(std::make_unique<KernelTask>(kernel, argument));
}

}  // namespace hcclrun
