#include "base/settings.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/job.h"
#include "base/log.h"
#include "base/soc.h"
#include "base/strict_mode.h"

namespace hcclrun {

bool ParseBytes(const char* text, uint64_t* bytes) {
  char* end;
  double value = strtod(text, &end);
  if (end == text || !(value > 0)) return false;
  double unit = 1;
  if (*end) {
    switch (*end++) {
      case 'k':
      case 'K':
        unit = 1024.0;
        break;
      case 'm':
      case 'M':
        unit = 1024.0 * 1024;
        break;
      case 'g':
      case 'G':
        unit = 1024.0 * 1024 * 1024;
        break;
      case 't':
      case 'T':
        unit = 1024.0 * 1024 * 1024 * 1024;
        break;
      default:
        return false;
    }
    if (*end == 'i') end++;
    if (*end == 'B' || *end == 'b') end++;
    if (*end) return false;
  }
  if (value * unit >= 9e18) return false;
  *bytes = static_cast<uint64_t>(value * unit);
  return *bytes > 0;
}

namespace {

void Ignored(const char* name, const char* value, const char* legal) {
  Tell(LogLevel::kWarning, absl::StrCat(name, "=", value, " is ignored: it must be ", legal));
}

uint64_t BytesVariable(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  uint64_t bytes;
  if (!text) return otherwise;
  if (ParseBytes(text, &bytes)) return bytes;
  Ignored(name, text, "a size such as 8G or 512M");
  return otherwise;
}

int64_t MillisecondsVariable(const char* name, bool zero_is_legal = false) {
  const char* text = getenv(name);
  double seconds;
  if (!text) return -1;
  if (absl::SimpleAtod(text, &seconds) && (seconds > 0 || (zero_is_legal && seconds == 0)) &&
      seconds < 1e9)
    return static_cast<int64_t>(seconds * 1000 + 0.5);
  Ignored(name, text,
          zero_is_legal ? "a number of seconds, 0 or more, decimals allowed"
                        : "a number of seconds above 0, decimals allowed");
  return -1;
}

uint32_t NumberVariable(const char* name, uint32_t otherwise) {
  const char* text = getenv(name);
  uint32_t number;
  if (!text) return otherwise;
  if (absl::SimpleAtoi(text, &number) && number >= 1 && number <= 1024) return number;
  Ignored(name, text, "a number from 1 to 1024");
  return otherwise;
}

// Index of the value among `names`; the first is that of a variable that is not set.
size_t Choice(const char* name, std::initializer_list<const char*> names) {
  const char* text = getenv(name);
  if (!text) return 0;
  size_t index = 0;
  std::string all;
  for (const char* legal : names) {
    if (strcmp(text, legal) == 0) return index;
    absl::StrAppend(&all, all.empty() ? "" : " or ", legal);
    index++;
  }
  Ignored(name, text, all.c_str());
  return 0;
}

Settings Read() {
  Settings s;
  s.hbm_bytes = BytesVariable("HCCLRUN_HBM_SIZE", uint64_t{64} << 30);
  s.hbm_bytes = (s.hbm_bytes + (2u << 20) - 1) & ~uint64_t{(2u << 20) - 1};
  s.memory_bytes = BytesVariable("HCCLRUN_MEMORY", 0);
  s.device_count = NumberVariable(kEnvDeviceCount, 8);
  s.processors = NumberVariable("HCCLRUN_PROCESSORS", 0);
  s.connect_timeout_ms = MillisecondsVariable("HCCLRUN_CONNECT_TIMEOUT");
  s.exec_timeout_ms = MillisecondsVariable("HCCLRUN_EXEC_TIMEOUT");
  s.strict = Choice("HCCLRUN_STRICT", {"0", "1"}) == 1;
  g_strict_mode.store(s.strict, std::memory_order_relaxed);
  s.check_is_error = Choice("HCCLRUN_CHECK", {"warn", "error"}) == 1 || s.strict;
  s.direct = Choice("HCCLRUN_DIRECT", {"0", "1"}) == 1;
  s.explain = Choice("HCCLRUN_EXPLAIN", {"0", "1"}) == 1;
  s.stall_note_ms = MillisecondsVariable("HCCLRUN_STALL_NOTE", true);
  if (s.stall_note_ms < 0) s.stall_note_ms = 5000;
  s.rank_table_wait_ms = MillisecondsVariable("HCCLRUN_RANK_TABLE_WAIT", true);
  if (s.rank_table_wait_ms < 0) s.rank_table_wait_ms = 1'800'000;
  s.accumulate_fp32 = Choice("HCCLRUN_ACCUMULATE", {"element", "fp32"}) == 1;
  s.engine = static_cast<Engine>(Choice("HCCLRUN_ENGINE", {"auto", "classic", "cooperative"}));
  s.soc = kDefaultSoc;
  if (const char* text = getenv("HCCLRUN_SOC")) {
    if (IsSocName(text)) {
      s.soc = text;
    } else {
      Ignored("HCCLRUN_SOC", text, kSocNames);
    }
  }
  s.atlas_a3 = IsAtlasA3(s.soc);
  return s;
}

}  // namespace

const Settings& Settings::Get() {
  static const Settings* settings = new Settings(Read());
  return *settings;
}

}  // namespace hcclrun
