#include "comm/places.h"

#include <algorithm>
#include <map>

namespace hcclrun {
namespace {

bool AllEqual(const std::vector<uint32_t>& numbers) {
  for (uint32_t n : numbers) {
    if (n != numbers[0]) return false;
  }
  return true;
}

}  // namespace

Places Places::Of(const std::vector<uint32_t>& ranks) const {
  Places some;
  for (uint32_t r : ranks) {
    if (r < server.size()) some.server.push_back(server[r]);
    if (r < pod.size()) some.pod.push_back(pod[r]);
  }
  return some;
}

bool Places::one_server() const { return AllEqual(server); }
bool Places::one_pod() const { return AllEqual(pod); }

bool Places::even() const {
  std::map<uint32_t, uint32_t> devices;
  for (uint32_t s : server) devices[s]++;
  for (const auto& [s, count] : devices) {
    if (count != devices.begin()->second) return false;
  }
  return true;
}

const char* Places::WindowsRefused() const {
  return one_pod() ? nullptr : "a symmetric window in a communicator that spans several SuperPoDs";
}

const char* Places::WindowPathRefused(bool inter_hccs_disable) const {
  if (!one_pod()) return "item 4: the ranks are in several SuperPoDs, which have no windows";
  if (one_server()) return nullptr;
  if (inter_hccs_disable) return "item 5: HCCL_INTER_HCCS_DISABLE, and there are several servers";
  if (!even()) return "item 6: the servers have different numbers of devices";
  if (std::count(server.begin(), server.end(), server[0]) > 1) return nullptr;
  return "item 6: each server has one device only";
}

const char* Places::StrictRefused(bool inter_hccs_disable) const {
  if (inter_hccs_disable)
    return "HCCL_DETERMINISTIC=strict together with HCCL_INTER_HCCS_DISABLE=TRUE";
  return even() ? nullptr
                : "HCCL_DETERMINISTIC=strict between servers with different numbers of devices";
}

}  // namespace hcclrun
