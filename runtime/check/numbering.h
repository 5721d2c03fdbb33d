#pragma once
// Ranks of communicators that are other ranks of the job. Sentences about a communicator count as
// it does, and say once what that means where hcclrun's labels and reports count otherwise.

#include <string>
#include <vector>

#include "comm/details.h"

namespace hcclrun {

// ", rank 6 of the job", to follow a rank or its process; "" when it has the same number there, or
// when that is not known, or is that of the process that speaks.
std::string InJob(const RankPosition& position);

// " (ranks 0-2 of communicator tp are ranks 1,4-5 of the job)", for the ranks of a sentence; ""
// when they are all the same.
std::string Numbering(const std::string& communicator, const std::vector<RankPosition>& positions);

template <class Calls>
std::string NumberingOf(const std::string& communicator, const Calls& calls) {
  std::vector<RankPosition> positions;
  for (const auto& call : calls) positions.push_back(call.position);
  return Numbering(communicator, positions);
}

}  // namespace hcclrun
