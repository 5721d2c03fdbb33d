#pragma once
// A counter that is cheaper to read than the clock, for records that nobody reads unless something
// goes wrong. It runs at one constant rate on all processors, but whoever writes records must know
// that (TicksAreSteady), and whoever reads them needs two pairs of (ticks, NowNs()) to convert.

#include <cstdint>

#include "base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace hcclrun {

inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<uint64_t>(NowNs());
#endif
}

// False where the counter may stand still or change its rate: then NowNs() has to do.
inline bool TicksAreSteady() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
  return true;
#endif
}

}  // namespace hcclrun
