// What the tests of symmetric windows share.
#pragma once

#include <vector>

#include "ranks/arena.h"
#include "support/rank_test.h"

namespace hcclrun::testing {

inline HcclResult Register(HcclComm comm, void* address, uint64_t bytes,
                           HcclCommSymWindow* window) {
  return HcclCommSymWinRegister(comm, address, bytes, window, 1);
}

// A pattern that tells ranks apart.
inline std::vector<uint32_t> Pattern(uint32_t rank, size_t count, uint32_t salt = 0) {
  std::vector<uint32_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(Hash(rank, i, salt));
  return values;
}

}  // namespace hcclrun::testing
