#pragma once
// Where the ranks of a communicator are: all on this machine, but hcclrun --servers or a rank table
// may make it play several servers in several SuperPoDs, and that decides where windows are allowed
// and used (semantics A.3 step 7, A.10 items 4 to 6), and what strict determinism can do (C.4).

#include <cstdint>
#include <vector>

namespace hcclrun {

struct Places {
  std::vector<uint32_t> server, pod;  // by rank

  // Of a communicator of these ranks.
  Places Of(const std::vector<uint32_t>& ranks) const;
  bool one_server() const;
  bool one_pod() const;
  // Every server has as many of the ranks as the others.
  bool even() const;
  // Why the communicator has no symmetric heap; nullptr if it can have one.
  const char* WindowsRefused() const;
  // Why its operations use no windows, with the item of A.10; nullptr if they may.
  const char* WindowPathRefused(bool inter_hccs_disable) const;
  // Why strict determinism has no algorithm here; nullptr if it has.
  const char* StrictRefused(bool inter_hccs_disable) const;
};

}  // namespace hcclrun
