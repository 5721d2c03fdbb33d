#pragma once
// What a rank leaves in RankActivity::blames (shm/job_page.h) together with the sentence of its first
// call that failed because of more than itself.

#include <cstdint>

namespace hcclrun {

inline constexpr uint32_t kBlamesAnotherRank = 1;  // and is no first cause
inline constexpr uint32_t kCallsDiffered = 2;      // whose fault it is, the sentence shows at best

}  // namespace hcclrun
