#pragma once
// How the ranks of a job are spread over the servers that it plays, and the servers over SuperPoDs
// (hcclrun --servers, --superpods). All of them are this machine. Ranks are numbered server by
// server, servers SuperPoD by SuperPoD.

#include <cstdint>
#include <string>
#include <vector>

namespace hcclrun {

// Where one rank is.
struct Place {
  uint32_t server = 0;      // in the job
  uint32_t superpod = 0;    // in the job
  uint32_t pod_server = 0;  // the server's number in its SuperPoD
  uint32_t local_rank = 0;  // the rank's number on its server
};

class Topology {
 public:
  // One server, in one SuperPoD.
  Topology() = default;
  // From "4,4" (ranks of each server) and "1,1" (servers of each SuperPoD; empty: all in one).
  // Empty `servers`: not given. On failure *error says what a text must be, for people:
  // "--servers 4,x: it must be ...".
  static Topology Parse(const std::string& servers, const std::string& superpods,
                        std::string* error);

  bool given() const { return !servers_.empty(); }
  uint32_t ranks() const;                                                // 0 when not given
  const std::vector<uint32_t>& servers() const { return servers_; }      // ranks of each
  const std::vector<uint32_t>& superpods() const { return superpods_; }  // servers of each
  uint32_t largest_server() const;  // its ranks; 0 when not given
  // Not given, or beyond the last rank: the first server, with all ranks.
  Place Of(uint32_t rank) const;

 private:
  std::vector<uint32_t> servers_, superpods_;
};

}  // namespace hcclrun
