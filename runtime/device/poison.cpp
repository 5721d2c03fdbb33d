#include "device/poison.h"

#include <cstring>

#include "base/strict_mode.h"

namespace hcclrun {

void FillPoison(char* at, uint64_t bytes, Poison poison) {
  if (!StrictMode()) return;
  const uint32_t word = static_cast<uint32_t>(poison);
  const char* const pattern = reinterpret_cast<const char*>(&word);
  auto byte = [&](uint64_t i) { at[i] = pattern[(reinterpret_cast<uintptr_t>(at) + i) % 4]; };
  uint64_t i = 0;
  for (; i < bytes && (reinterpret_cast<uintptr_t>(at) + i) % 4; i++) byte(i);
  for (; i + 4 <= bytes; i += 4) memcpy(at + i, &word, 4);
  for (; i < bytes; i++) byte(i);
}

}  // namespace hcclrun
