#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/job.h"
#include "base/speaker.h"

namespace hcclrun {
namespace {

constexpr std::array<const char*, 3> kModuleNames = {"HCCL", "ASCENDCL", "RUNTIME"};
constexpr std::array<const char*, 5> kLevelNames = {"DEBUG", "INFO", "WARNING", "ERROR", "NONE"};

struct Levels {
  std::array<LogLevel, 3> of;
  LogLevel global;
};

LogLevel ParseLevel(absl::string_view text, LogLevel otherwise) {
  int value;
  if (!absl::SimpleAtoi(text, &value) || value < 0 || value > 4) return otherwise;
  return static_cast<LogLevel>(value);
}

Levels ReadLevels() {
  const char* global = getenv("ASCEND_GLOBAL_LOG_LEVEL");
  Levels levels;
  levels.global = global ? ParseLevel(global, LogLevel::kError) : LogLevel::kError;
  levels.of.fill(levels.global);
  if (const char* modules = getenv("ASCEND_MODULE_LOG_LEVEL")) {
    for (absl::string_view item : absl::StrSplit(modules, ':')) {
      std::pair<absl::string_view, absl::string_view> kv =
          absl::StrSplit(item, absl::MaxSplits('=', 1));
      for (size_t m = 0; m < kModuleNames.size(); m++) {
        if (kv.first == kModuleNames[m]) levels.of[m] = ParseLevel(kv.second, levels.of[m]);
      }
    }
  }
  return levels;
}

const Levels& GetLevels() {
  static const Levels levels = ReadLevels();
  return levels;
}

std::string ProgramName() { return program_invocation_short_name; }

void WriteLine(const std::string& line) {
  size_t done = 0;
  while (done < line.size()) {
    ssize_t n = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

}  // namespace

bool LogEnabled(LogModule module, LogLevel level) {
  return level >= GetLevels().of[static_cast<size_t>(module)] && level != LogLevel::kNone;
}

void Log(LogModule module, LogLevel level, absl::string_view text) {
  if (!LogEnabled(module, level)) return;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm local;
  localtime_r(&now.tv_sec, &local);
  WriteLine(absl::StrFormat(
      "[%s] %s(%d,%s):%04d-%02d-%02d-%02d:%02d:%02d.%03d.%03d %s\n",
      kLevelNames[static_cast<size_t>(level)], kModuleNames[static_cast<size_t>(module)], getpid(),
      ProgramName(), local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour,
      local.tm_min, local.tm_sec, now.tv_nsec / 1'000'000, now.tv_nsec / 1'000 % 1'000, text));
}

void Tell(LogLevel level, absl::string_view sentence, uint32_t speaker) {
  if (GetLevels().global == LogLevel::kNone) return;
  const Job& job = Job::Get();
  const std::string speaks =
      WhoSpeaks(SpeakerOf(speaker ? speaker : SpeakerOfThread()), job.rank(), job.size());
  std::string who = speaks.empty() ? "hcclrun: " : absl::StrCat("hcclrun: ", speaks, ": ");
  if (level == LogLevel::kWarning) who += "warning: ";
  WriteLine(absl::StrCat(who, sentence, "\n"));
}

}  // namespace hcclrun
