#pragma once
// The calling thread's floating-point modes, set aside for the length of a kernel. A program may
// have switched on flush-to-zero, another rounding mode or traps for its own arithmetic; ranks that
// compute pieces of one result must not differ by that. Reading the control register costs little;
// it is written only if it has to change.

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hcclrun::kernels {

class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() : saved_(Get()) {
    if ((saved_ & kModes) != kDefault) Set(kDefault);
  }
  ~DefaultFloatEnvironment() {
    if ((saved_ & kModes) != kDefault) Set(saved_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  using Register = uint32_t;
  static constexpr Register kModes = 0xffc0,
                            kDefault = 0x1f80;  // MXCSR but for its status flags; all traps masked
  static Register Get() { return _mm_getcsr(); }
  static void Set(Register value) { _mm_setcsr(value); }
#elif defined(__aarch64__)
  using Register = uint64_t;
  static constexpr Register kModes = 0x07ff9f07,
                            kDefault = 0;  // FPCR: rounding, flushing, default NaN, traps
  static Register Get() {
    Register value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Set(Register value) { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
#else
  using Register = uint32_t;
  static constexpr Register kModes = 0, kDefault = 0;
  static Register Get() { return 0; }
  static void Set(Register) {}
#endif

  const Register saved_;
};

}  // namespace hcclrun::kernels
