#pragma once
// HCCLRUN_STRICT for places that every call passes: one relaxed load. False until Settings are read
// for the first time, which is before there is any device memory.

#include <atomic>

namespace hcclrun {

inline std::atomic<bool> g_strict_mode{false};  // set by Settings
inline bool StrictMode() { return g_strict_mode.load(std::memory_order_relaxed); }

}  // namespace hcclrun
