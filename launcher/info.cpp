#include "launcher/info.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/hccl_variables.h"
#include "base/settings.h"
#include "launcher/environment.h"

namespace hcclrun {
namespace {

std::string Bytes(uint64_t bytes) {
  if (bytes == 0) return "what the machine has";
  for (auto [shift, unit] : {std::pair{30, " GiB"}, std::pair{20, " MiB"}, std::pair{10, " KiB"}}) {
    if (bytes % (uint64_t{1} << shift) == 0) return absl::StrCat(bytes >> shift, unit);
  }
  return absl::StrCat(bytes, " bytes");
}

std::string Seconds(int64_t milliseconds) {
  return milliseconds < 0 ? "as HCCL's own variable says"
                          : absl::StrCat(double(milliseconds) / 1000, " s");
}

constexpr char kRow[] = "%-30s %-24s %-12s %s\n";

void Line(const char* name, const std::string& value, const char* meaning) {
  const char* set = getenv(name);
  printf(kRow, name, value.c_str(), set ? "environment" : "default", meaning);
}

}  // namespace

int RunInfo() {
  const Settings& s = Settings::Get();
  printf(kRow, "setting", "value", "from", "meaning");
  Line("HCCLRUN_HBM_SIZE", Bytes(s.hbm_bytes), "address space per device (--hbm)");
  Line("HCCLRUN_MEMORY", Bytes(s.memory_bytes), "bound on device memory of the job (--memory)");
  bool counted = getenv("HCCLRUN_DEVICE_COUNT") != nullptr;
  Line("HCCLRUN_DEVICE_COUNT", counted ? std::to_string(s.device_count) : "number of ranks",
       "devices a rank sees");
  Line("HCCLRUN_SOC", s.soc,
       s.atlas_a3 ? "the chip that is played (--soc)"
                  : "the chip that is played (--soc); no symmetric windows");
  Line("HCCLRUN_CONNECT_TIMEOUT", Seconds(s.connect_timeout_ms),
       "wait for the other ranks at creation");
  Line("HCCLRUN_EXEC_TIMEOUT", Seconds(s.exec_timeout_ms),
       "wait for the other ranks in an operation");
  Line("HCCLRUN_CHECK", s.check_is_error ? "error" : "warn", "what disagreeing ranks get");
  Line("HCCLRUN_DIRECT", s.direct ? "1" : "0", "1: all device memory may go zero copy");
  Line("HCCLRUN_EXPLAIN", s.explain ? "1" : "0", "1: say which path each operation took and why");
  Line("HCCLRUN_STRICT", s.strict ? "1" : "0",
       "1: device memory is closed to the host, and poisoned (--strict)");
  Line("HCCLRUN_STALL_NOTE", s.stall_note_ms ? Seconds(s.stall_note_ms) : "never",
       "a wait for other ranks that is told");
  constexpr const char* kEngines[] = {"auto", "classic", "cooperative"};
  Line("HCCLRUN_ENGINE", kEngines[static_cast<int>(s.engine)], "who executes an operation");
  Line("HCCLRUN_PROCESSORS", s.processors ? std::to_string(s.processors) : "as many as they may use",
       "that ranks are taken to have");
  Line("HCCLRUN_ACCUMULATE", s.accumulate_fp32 ? "fp32" : "element",
       "what fp16 and bf16 are summed up in");
  Line("HCCLRUN_RANK_TABLE_WAIT", Seconds(s.rank_table_wait_ms),
       "for a rank table that is not completed");
  for (const HcclVariable& v : HcclVariables()) {
    const char* set = getenv(v.name);
    std::string value = set ? absl::StrCat("\"", set, "\"") : *v.otherwise ? v.otherwise : "-";
    if (set && !v.is_legal(set)) absl::StrAppend(&value, v.refused ? " ILLEGAL" : " (ignored)");
    Line(v.name, value, v.meaning);
  }
  const std::string illegal = IllegalHcclVariable();
  if (!illegal.empty()) printf("every HCCL initialisation will fail: %s\n", illegal.c_str());
  std::string library = LibraryDirectory();
  printf("libraries: %s\n", library.empty() ? "none beside this hcclrun" : library.c_str());
  return 0;
}

}  // namespace hcclrun
