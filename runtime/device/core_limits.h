#pragma once
// How many cores kernels may use: kept for whoever asks, as there are no cores.

#include <atomic>
#include <cstdint>

namespace hcclrun {

struct CoreLimits {
  static constexpr int kTypes = 2;          // aclrtDevResLimitType
  std::atomic<uint32_t> of[kTypes] = {};  // 0 = not limited here

  void Reset() {
    for (std::atomic<uint32_t>& limit : of) limit.store(0, std::memory_order_relaxed);
  }
};

}  // namespace hcclrun
