#pragma once
// The rank table of a job with --servers (semantics D.5), a file that exists as long as the job:
// RANK_TABLE_FILE in the environment of the ranks names it. The launcher removes it; when the
// launcher is killed, its guard does (launcher/guard.h).

#include <string>

#include "base/topology.h"

namespace hcclrun {

// The table's text. Every server has the devices 0, 1, ...; `superpods`: form "1.2", with
// SuperPoDs, otherwise "1.0". `device_count` numbers devices within a SuperPoD.
std::string RankTableText(const Topology& topology, uint32_t device_count, bool superpods);

// In the folder for temporary files, with a name that HcclCommInitClusterInfo accepts.
std::string RankTablePath(const std::string& job_id);

class RankTableFile {
 public:
  RankTableFile() = default;
  ~RankTableFile();  // removes it
  RankTableFile(const RankTableFile&) = delete;
  // A new file that only this user can read; why not otherwise, "" if done.
  std::string Write(const std::string& path, const std::string& text);

 private:
  std::string path_;  // empty: not written
};

}  // namespace hcclrun
