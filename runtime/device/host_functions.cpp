#include "device/host_functions.h"

#include <memory>

#include "device/stream.h"

namespace hcclrun {
namespace {

class HostFunctionTask : public Task {
 public:
  HostFunctionTask(void (*function)(void*), void* argument)
      : function_(function), argument_(argument) {}
  Progress Advance(Fault*) override {
    Recorder::Wait(waiter, {WaitKind::kHostFunction});
    function_(argument_);
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool NeedsWorker() const override { return true; }
  const char* Name() const override { return "host function"; }

 private:
  void (*const function_)(void*);
  void* const argument_;
};

class KernelTask : public Task {
 public:
  KernelTask(int (*kernel)(void*), void* argument) : kernel_(kernel), argument_(argument) {}
  Progress Advance(Fault* fault) override {
    Recorder::Wait(waiter, {WaitKind::kHostFunction});
    const int result = kernel_(argument_);
    if (result != 0) *fault = Fault(FaultKind::kKernelFailed, {uint64_t(int64_t{result})});
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool NeedsWorker() const override { return true; }
  const char* Name() const override { return "kernel"; }

 private:
  int (*const kernel_)(void*);
  void* const argument_;
};

}  // namespace

Fault RunInStream(Stream& stream, void (*function)(void*), void* argument) {
  return stream.Enqueue(std::make_unique<HostFunctionTask>(function, argument));
}

Fault RunKernelInStream(Stream& stream, int (*kernel)(void*), void* argument) {
  return stream.Enqueue(std::make_unique<KernelTask>(kernel, argument));
}

}  // namespace hcclrun
