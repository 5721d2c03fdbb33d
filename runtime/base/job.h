#pragma once
// Who this process is: what hcclrun told it. hcclrun gives a rank its job id, a secret and a
// lifeline (the abstract socket of the launcher), nothing else; without hcclrun all three are
// absent and rank() is -1.

#include <cstdint>
#include <string>

#include "base/topology.h"

namespace hcclrun {

class Job {
 public:
  // Read once from the environment; immutable afterwards.
  static const Job& Get();

  bool launched() const { return !id_.empty(); }
  int rank() const { return rank_; }  // of the job, -1 without hcclrun
  int size() const { return size_; }  // ranks of the job, 0 without hcclrun
  const std::string& id() const { return id_; }
  const std::string& secret() const { return secret_; }  // hex
  // Abstract socket name without the leading NUL.
  const std::string& lifeline() const { return lifeline_; }
  bool shared_root_info() const { return shared_root_info_; }  // --shared-root-info
  const Topology& topology() const { return topology_; }       // --servers, --superpods
  // Of this process: the first server's when the launcher gave no topology.
  const Place& place() const { return place_; }

 private:
  Job();
  std::string id_, secret_, lifeline_;
  int rank_ = -1;
  int size_ = 0;
  bool shared_root_info_ = false;
  Topology topology_;
  Place place_;
};

// Names of the variables that hcclrun sets for its ranks.
inline constexpr char kEnvJob[] = "HCCLRUN_JOB";
inline constexpr char kEnvSecret[] = "HCCLRUN_SECRET";
inline constexpr char kEnvLifeline[] = "HCCLRUN_LIFELINE";
inline constexpr char kEnvRank[] = "HCCLRUN_RANK";
inline constexpr char kEnvSize[] = "HCCLRUN_SIZE";
inline constexpr char kEnvSharedRootInfo[] = "HCCLRUN_SHARED_ROOT_INFO";
inline constexpr char kEnvServers[] = "HCCLRUN_SERVERS";
inline constexpr char kEnvSuperPods[] = "HCCLRUN_SUPERPODS";
inline constexpr char kEnvDeviceCount[] = "HCCLRUN_DEVICE_COUNT";

}  // namespace hcclrun
