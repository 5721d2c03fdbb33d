#pragma once
// Rank tables (semantics D.4, D.5): JSON files that say which rank runs on which device of which
// server. Versions "1.0", "1.2", "2.0", and the older form without a version. All servers of a
// table are this machine.
//
// Every fault is a kRankTable whose text says file, field, what is wrong and what is expected, with
// the result code of that occasion.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/fault.h"
#include "comm/places.h"

namespace hcclrun {

struct RankTable {
  std::vector<int32_t> devices;  // physical ids, by rank
  Places places;                 // of all ranks
};

// The file's JSON object, once its "status" is "completed": while it is another one the file is
// read again every second, for at most wait_ms. Stage "load file" of semantics D.4: code 4.
Result<nlohmann::json> LoadRankTable(const std::string& path, int64_t wait_ms);

// Reads a complete table; `origin` names it in faults. Devices of several servers in one SuperPoD
// need no addresses unless inter_hccs_disable.
Result<RankTable> ParseRankTable(const nlohmann::json& table, const std::string& origin,
                                 bool inter_hccs_disable);

// The key (comm/root_info.h) under which the ranks of this table find each other: of the same user,
// in the same job as far as the launcher names one, whatever the file's formatting.
std::string KeyOfRankTable(const nlohmann::json& table);

}  // namespace hcclrun
