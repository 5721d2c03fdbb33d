#include "base/job.h"

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace hcclrun {
namespace {
std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}
}  // namespace

Job::Job()
    : id_(Variable(kEnvJob)), secret_(Variable(kEnvSecret)), lifeline_(Variable(kEnvLifeline)) {
  if (!absl::SimpleAtoi(Variable(kEnvRank), &rank_)) rank_ = -1;
  if (!absl::SimpleAtoi(Variable(kEnvSize), &size_)) size_ = 0;
  shared_root_info_ = Variable(kEnvSharedRootInfo) == "1";
  if (!launched()) return;
  std::string error;  // the launcher has checked them
  topology_ = Topology::Parse(Variable(kEnvServers), Variable(kEnvSuperPods), &error);
  if (rank_ >= 0) place_ = topology_.Of(static_cast<uint32_t>(rank_));
}

const Job& Job::Get() {
  // Never destroyed: used by threads that outlive static destruction.
  static const Job* job = new Job();
  return *job;
}

}  // namespace hcclrun
