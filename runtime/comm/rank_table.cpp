// Files, and the two newer forms of tables, "1.0" and "1.2"; the others are in
// rank_table_forms.cpp.

#include "comm/rank_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/fork_guard.h"
#include "base/job.h"
#include "base/log.h"
#include "base/settings.h"
#include "comm/json_fields.h"
#include "comm/rank_table_forms.h"
#include "shm/lifeline.h"

namespace hcclrun {
namespace {

using Json = nlohmann::json;
constexpr int64_t kLargestFile = int64_t{1} << 28;

Fault FileFault(const std::string& path, const std::string& text) {
  return Fault(FaultKind::kRankTable, absl::StrCat(path, ": ", text))
      .WithCode(JsonFields::kInternal);
}

Result<std::string> ReadFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return FileFault(path, absl::StrCat("cannot be opened: ", strerror(errno)));
  struct stat status;
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return FileFault(path, "is not a file");
  if (status.st_size > kLargestFile) return FileFault(path, "is larger than 256 MiB");
  std::string text(static_cast<size_t>(status.st_size), 0);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = read(fd.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileFault(path, absl::StrCat("cannot be read: ", strerror(errno)));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

Result<Json> ReadJson(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.fault();
  Json table = Json::parse(*text, nullptr, false);
  if (table.is_discarded() || !table.is_object())
    return FileFault(path, "is not a JSON object; check commas, quotes and brackets");
  return table;
}

// "completed", or whatever else the table says.
Result<std::string> StatusOf(const Json& table, const std::string& origin) {
  if (!table.contains("status")) {
    return Fault(FaultKind::kRankTable, {JsonFields::kItemMissing},
                 absl::StrCat(origin, ": status: it is missing; it must be \"completed\""))
        .WithCode(JsonFields::kInternal);
  }
  const Json& status = table["status"];
  return status.is_string() ? status.get<std::string>() : status.dump();
}

}  // namespace

Result<Json> LoadRankTable(const std::string& path, int64_t wait_ms) {
  if (!absl::EndsWith(path, ".json")) return FileFault(path, "the name must end with .json");
  const Deadline deadline = Deadline::After(wait_ms);
  for (bool told = false;; told = true) {
    Result<Json> table = ReadJson(path);
    if (!table.ok()) return table.fault();
    Result<std::string> status = StatusOf(*table, path);
    if (!status.ok()) return status.fault();
    if (*status == "completed") return table;
    if (deadline.passed()) {
      return FileFault(path,
                       absl::StrCat("status: it is still \"", status->substr(0, 40), "\" after ",
                                    wait_ms / 1000, " s; it must become \"completed\""));
    }
    if (!told) {
      Tell(LogLevel::kWarning,
           absl::StrCat("the rank table ", path, " has the status \"", status->substr(0, 40),
                        "\"; waiting for \"completed\""));
    }
    if (const JobPage* page = Lifeline::Page();
        page && page->aborting.load(std::memory_order_acquire))
      return FileFault(path, "the job ended while its status was waited for");
    const int64_t nap_ns = deadline.Remaining(1'000'000'000);
    timespec nap = {nap_ns / 1'000'000'000, static_cast<long>(nap_ns % 1'000'000'000)};
    nanosleep(&nap, nullptr);
  }
}

Result<RankTable> ParseRankTable(const Json& table, const std::string& origin,
                                 bool inter_hccs_disable) {
  if (!table.contains("version")) return ParseStandardTable(table, origin);
  const Json& version = table["version"];
  if (version == "1.0" || version == "1.2") {
    // Only Atlas A3 knows SuperPoDs; other chips do not look at them.
    return ParseConciseTable(table, origin, version == "1.2" && Settings::Get().atlas_a3,
                             inter_hccs_disable);
  }
  if (version == "2.0") return ParseLayeredTable(table, origin);
  JsonFields fields(origin, JsonFields::kStrings);
  fields.Illegal("version",
                 absl::StrCat("it is ", version.dump().substr(0, 40),
                              "; \"1.0\", \"1.2\", \"2.0\" or no version at all are understood"),
                 version.is_string() ? JsonFields::kNotSupported : JsonFields::kParameter);
  return fields.fault();
}

std::string KeyOfRankTable(const Json& table) {
  std::string job = absl::StrCat(Job::Get().id(), " ", Job::Get().secret());
  // What launchers other than hcclrun call a job, the same in all its processes.
  if (!Job::Get().launched()) {
    for (const char* name :
         {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID",
          "TORCHELASTIC_RUN_ID", "MASTER_PORT"}) {
      if (const char* value = getenv(name)) absl::StrAppend(&job, " ", name, "=", value);
    }
  }
  return absl::StrCat("rank table ", table.dump(), " job ", job);
}

}  // namespace hcclrun
