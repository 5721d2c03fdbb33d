// Rank tables: any text is either a table, with as many devices as places, or a fault that says why.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "comm/rank_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto table = hcclrun::ParseRankTable(text, "table", data[0] & 1);
  if (table.ok() ? table->devices.empty() : table.fault().text.empty()) abort();
  hcclrun::KeyOfRankTable(text);
  return 0;
}
