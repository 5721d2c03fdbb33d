#pragma once
// The forms of rank tables, each from its JSON document (comm/rank_table.h).

#include <nlohmann/json.hpp>
#include <string>

#include "comm/rank_table.h"

namespace hcclrun {

// "1.0" (servers) and "1.2" (SuperPoDs).
Result<RankTable> ParseConciseTable(const nlohmann::json& table, const std::string& origin,
                                    bool superpods, bool inter_hccs_disable);
// Without a version: groups of instances.
Result<RankTable> ParseStandardTable(const nlohmann::json& table, const std::string& origin);
// "2.0": ranks in layers of networks.
Result<RankTable> ParseLayeredTable(const nlohmann::json& table, const std::string& origin);

// One rank as a table gives it, in the table's order.
struct RankEntry {
  int64_t rank = 0, device = 0;
  uint32_t server = 0, pod = 0;
  std::string where;  // its path in the table
};
class JsonFields;
// By rank, after the rules that all forms have: ranks 0 to N - 1, each once, those of a server next
// to each other; no device twice on a server. Faults go to `fields`.
RankTable Arrange(const std::vector<RankEntry>& entries, JsonFields* fields);

}  // namespace hcclrun
