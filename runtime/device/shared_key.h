#pragma once
// Exports as text that travels through files and messages: a letter for the kind and 48 hexadecimal
// digits, without a null character inside, shorter than the 65 characters that callers provide.

#include <string>

#include "device/heap_header.h"
#include "device/sharing.h"

namespace hcclrun {

inline constexpr size_t kKeyBufferBytes = 65;  // of callers, with the final null

std::string KeyText(ExportKind kind, const FabricHandle& handle);
// kForeignHandle unless KeyText() made the text for this kind.
Result<FabricHandle> ParseKey(ExportKind kind, const char* text);

}  // namespace hcclrun
