// Log lines of the program.

#include <cstdarg>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "base/log.h"

using namespace hcclrun;

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
               const char* fmt, ...) {
  const int raw = RawValue(logLevel);
  if (!fmt || raw < ACL_DEBUG || raw > ACL_ERROR || InForkedChild()) return;
  const LogLevel level = static_cast<LogLevel>(raw);
  if (!LogEnabled(LogModule::kAscendCl, level)) return;
  char text[2048];
  va_list arguments;
  va_start(arguments, fmt);
  const int length = vsnprintf(text, sizeof text, fmt, arguments);
  va_end(arguments);
  if (length < 0) return;
  try {
    std::string where = file ? absl::StrCat("[", file, ":", line, "] ") : "";
    if (func) absl::StrAppend(&where, func, ": ");
    Log(LogModule::kAscendCl, level, absl::StrCat(where, text));
  } catch (...) {  // out of memory: a log line is not worth the program
  }
}
