#include "device/shared_key.h"

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

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

}  // namespace

std::string KeyText(ExportKind kind, const FabricHandle& handle) {
  return absl::StrFormat("%c%016x%016x%016x", LetterOf(kind), handle.shareable, handle.heap_uid,
                         handle.nonce);
}

Result<FabricHandle> ParseKey(ExportKind kind, const char* text) {
  const Fault refused(FaultKind::kForeignHandle, "the key was not made by an export call");
  if (strnlen(text, kKeyBufferBytes) != kTextBytes || text[0] != LetterOf(kind)) return refused;
  uint64_t numbers[kNumbers] = {};
  for (size_t i = 0; i < kNumbers; i++) {
    if (!absl::SimpleHexAtoi(absl::string_view(text + 1 + i * kDigits, kDigits), &numbers[i]))
      return refused;
  }
  FabricHandle handle = FromShareable(numbers[0]);
  handle.heap_uid = numbers[1];
  handle.nonce = numbers[2];
  // The conversion takes other spellings, too.
  if (KeyText(kind, handle) != text) return refused;
  return handle;
}

}  // namespace hcclrun
