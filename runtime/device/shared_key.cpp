#include "device/shared_key.h"

#include <cstring>

#include "absl/strings/str_format.h"

namespace hcclrun {
namespace {

constexpr size_t kNumbers = 3, kDigits = 16, kTextBytes = 1 + kNumbers * kDigits;
static_assert(kTextBytes < kKeyBufferBytes);

char LetterOf(ExportKind kind) {
  switch (kind) {
    case ExportKind::kPhysicalMemory:
      return 'p';
    case ExportKind::kMemory:
      return 'm';
    case ExportKind::kNotify:
      return 'n';
    case ExportKind::kEvent:
      return 'e';
  }
  return '?';
}

int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string KeyText(ExportKind kind, const FabricHandle& handle) {
  return absl::StrFormat("%c%016x%016x%016x", LetterOf(kind), handle.shareable, handle.heap_uid,
                         handle.nonce);
}

Result<FabricHandle> ParseKey(ExportKind kind, const char* text) {
  const Fault refused(FaultKind::kForeignHandle, "the key was not made by an export call");
  if (strnlen(text, kKeyBufferBytes) != kTextBytes || text[0] != LetterOf(kind)) return refused;
  uint64_t numbers[kNumbers] = {};
  for (size_t i = 0; i < kNumbers * kDigits; i++) {
    const int digit = Digit(text[1 + i]);
    if (digit < 0) return refused;
    numbers[i / kDigits] = numbers[i / kDigits] << 4 | static_cast<uint64_t>(digit);
  }
  FabricHandle handle = FromShareable(numbers[0]);
  handle.heap_uid = numbers[1];
  handle.nonce = numbers[2];
  return handle;
}

}  // namespace hcclrun
