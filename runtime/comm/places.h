#pragma once
// Where the ranks of a communicator are, as a rank table says: all on this machine, but the table
// may make it play several servers in several SuperPoDs, and that decides where windows are allowed
// (semantics A.3 steps 7 and 8, A.10 items 5 and 6).

#include <cstdint>
#include <vector>

namespace hcclrun {

struct Places {
  std::vector<uint32_t> server, pod;  // by rank; empty: one server in one SuperPoD

  // Of a communicator of these ranks.
  Places Of(const std::vector<uint32_t>& ranks) const;
  // Why the communicator takes no windows; nullptr if it does.
  const char* WindowsRefused() const;
  // Why its operations use no windows; nullptr if they may.
  const char* WindowPathRefused(bool inter_hccs_disable) const;
};

}  // namespace hcclrun
