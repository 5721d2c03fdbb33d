#include "base/topology.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hcclrun {
namespace {

constexpr uint32_t kLargest = 1024;

bool ParseCounts(const std::string& text, std::vector<uint32_t>* counts) {
  counts->clear();
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    uint32_t count;
    if (part.find_first_not_of("0123456789") != absl::string_view::npos ||
        !absl::SimpleAtoi(part, &count) || count < 1 || count > kLargest) {
      return false;
    }
    counts->push_back(count);
  }
  return true;
}

uint32_t Sum(const std::vector<uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0u);
}

}  // namespace

Topology Topology::Parse(const std::string& servers, const std::string& superpods,
                         std::string* error) {
  error->clear();
  Topology result;
  if (servers.empty()) {
    if (!superpods.empty()) {
      *error = absl::StrCat("--superpods ", superpods,
                            " needs --servers, whose servers it spreads over SuperPoDs");
    }
    return result;
  }
  if (!ParseCounts(servers, &result.servers_)) {
    *error = absl::StrCat("--servers ", servers,
                          ": it must be the ranks of each server, as in 4,4: whole numbers from 1 "
                          "to 1024");
    return Topology();
  }
  const uint32_t count = static_cast<uint32_t>(result.servers_.size());
  if (superpods.empty()) {
    result.superpods_ = {count};
  } else if (!ParseCounts(superpods, &result.superpods_)) {
    *error = absl::StrCat("--superpods ", superpods,
                          ": it must be the servers of each SuperPoD, as in 1,1: whole numbers "
                          "from 1 to 1024");
  } else if (Sum(result.superpods_) != count) {
    *error = absl::StrCat("--superpods ", superpods, " has ", Sum(result.superpods_),
                          " servers, but --servers ", servers, " has ", count,
                          "; each server is in one SuperPoD");
  }
  return error->empty() ? result : Topology();
}

uint32_t Topology::ranks() const { return Sum(servers_); }

uint32_t Topology::largest_server() const {
  return servers_.empty() ? 0 : *std::max_element(servers_.begin(), servers_.end());
}

Place Topology::Of(uint32_t rank) const {
  Place place;
  place.local_rank = rank;
  if (rank >= ranks()) return place;
  for (uint32_t pod = 0; pod < superpods_.size(); pod++) {
    for (uint32_t s = 0; s < superpods_[pod]; s++, place.server++) {
      const uint32_t size = servers_[place.server];
      if (place.local_rank < size) {
        place.superpod = pod;
        place.pod_server = s;
        return place;
      }
      place.local_rank -= size;
    }
  }
  return place;
}

}  // namespace hcclrun
