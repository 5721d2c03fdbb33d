#include "comm/places.h"

#include <map>
#include <set>

namespace hcclrun {

Places Places::Of(const std::vector<uint32_t>& ranks) const {
  Places some;
  for (uint32_t r : ranks) {
    if (r < server.size()) some.server.push_back(server[r]);
    if (r < pod.size()) some.pod.push_back(pod[r]);
  }
  return some;
}

const char* Places::WindowsRefused() const {
  return std::set<uint32_t>(pod.begin(), pod.end()).size() > 1
             ? "a symmetric window in a communicator that spans several SuperPoDs"
             : nullptr;
}

const char* Places::WindowPathRefused(bool inter_hccs_disable) const {
  std::map<uint32_t, uint32_t> devices;
  for (uint32_t s : server) devices[s]++;
  if (devices.size() < 2) return nullptr;
  if (inter_hccs_disable) return "item 5: HCCL_INTER_HCCS_DISABLE, and there are several servers";
  for (const auto& [s, count] : devices) {
    if (count != devices.begin()->second)
      return "item 6: the servers have different numbers of devices";
  }
  return devices.begin()->second > 1 ? nullptr : "item 6: each server has one device only";
}

}  // namespace hcclrun
