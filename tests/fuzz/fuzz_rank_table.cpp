// Rank tables: any JSON object is either a table, with as many devices as places, or a fault that
// says why.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "comm/rank_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto table = nlohmann::json::parse(data + 1, data + size, nullptr, false);
  if (table.is_discarded() || !table.is_object()) return 0;
  auto parsed = hcclrun::ParseRankTable(table, "table", data[0] & 1);
  if (parsed.ok() ? parsed->devices.empty() : parsed.fault().text.empty()) abort();
  hcclrun::KeyOfRankTable(table);
  return 0;
}
