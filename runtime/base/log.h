#pragma once
// Log lines, always on standard error:
//   [ERROR] HCCL(pid,program):2026-01-31-12:00:00.000.000 text
// Levels follow ASCEND_GLOBAL_LOG_LEVEL (0 debug, 1 info, 2 warning, 3 error, 4 none; 3
// unless set), and ASCEND_MODULE_LOG_LEVEL=HCCL=1:RUNTIME=2 per module. What a user must read
// goes through Tell().

#include <cstdint>

#include "absl/strings/string_view.h"

namespace hcclrun {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kNone = 4 };
enum class LogModule { kHccl, kAscendCl, kRuntime };

bool LogEnabled(LogModule module, LogLevel level);
void Log(LogModule module, LogLevel level, absl::string_view text);

// One sentence to the user, on standard error, prefixed "hcclrun: " and, where known, who says it: the
// process' rank in the job, and which rank of which communicator (`speaker`, base/speaker.h).
// Written with one write(2), so lines of several processes do not mix. Silent only when the global
// level is kNone.
void Tell(LogLevel level, absl::string_view sentence, uint32_t speaker = 0);

}  // namespace hcclrun
