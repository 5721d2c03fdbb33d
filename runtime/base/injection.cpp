#include "base/injection.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/job.h"
#include "base/log.h"

namespace hcclrun {
namespace {

constexpr int64_t kLongestDelayNs = int64_t{86'400} * 1'000'000'000;

CallId CallOf(absl::string_view name) {
  for (const char* prefix : {"", "Hccl", "HcclComm", "HcclCommSymWin", "aclrt", "acl"}) {
    const std::string whole = absl::StrCat(prefix, name);
    for (uint32_t id = 1; id < static_cast<uint32_t>(CallId::kCount); id++) {
      if (whole == CallName(static_cast<CallId>(id))) return static_cast<CallId>(id);
    }
  }
  return CallId::kNone;
}

bool ParseDelay(absl::string_view text, int64_t* ns) {
  double unit = 0, number;
  for (const auto& [suffix, value] : {std::pair{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}) {
    if (unit == 0 && absl::ConsumeSuffix(&text, suffix)) unit = value;
  }
  if (unit == 0 || !absl::SimpleAtod(text, &number) || !(number >= 0) ||
      number * unit > static_cast<double>(kLongestDelayNs))
    return false;
  *ns = static_cast<int64_t>(number * unit);
  return true;
}

// What this rank is asked to do. `calls` counts its calls of the function.
struct Own {
  explicit Own(const Injection& i) : injection(i) {}
  const Injection injection;
  std::atomic<uint64_t> calls{0};
};

using Owns = std::vector<std::unique_ptr<Own>>;

// Null without any. Never destroyed.
const Owns* OwnInjections() {
  const char* value = getenv(kEnvInject);
  if (!value || Job::Get().rank() < 0) return nullptr;
  auto owns = std::make_unique<Owns>();
  for (const Injection& i : SplitInjections(value)) {
    if (i.rank == Job::Get().rank()) owns->push_back(std::make_unique<Own>(i));
  }
  return owns->empty() ? nullptr : owns.release();
}

}  // namespace

std::string ParseInjection(const std::string& text, Injection::What what, Injection* injection) {
  const bool delays = what == Injection::What::kDelay;
  const char* wanted = delays ? "it must be RANK:CALL:TIME, such as 3:AllReduce:50ms or "
                                "3:AllReduce#2:0.5s"
                              : "it must be RANK:CALL, such as 2:AllReduce or 2:AllReduce#3";
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() != (delays ? 3 : 2)) return wanted;
  injection->what = what;
  if (!absl::SimpleAtoi(parts[0], &injection->rank) || injection->rank < 0) return wanted;
  const std::pair<std::string, std::string> call =
      absl::StrSplit(parts[1], absl::MaxSplits('#', 1));
  injection->number = delays ? 0 : 1;
  if (parts[1].find('#') != std::string::npos &&
      (!absl::SimpleAtoi(call.second, &injection->number) || injection->number == 0))
    return wanted;
  injection->call = CallOf(call.first);
  if (injection->call == CallId::kNone)
    return absl::StrCat(
        "\"", call.first,
        "\" is no call of HCCL or AscendCL that hcclrun has; write HcclAllReduce or "
        "AllReduce");
  if (delays && !ParseDelay(parts[2], &injection->delay_ns)) return wanted;
  return "";
}

std::string JoinInjections(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ",");
}

std::vector<Injection> SplitInjections(const std::string& value) {
  std::vector<Injection> result;
  for (absl::string_view text : absl::StrSplit(value, ',')) {
    Injection injection;
    const bool kills = absl::ConsumePrefix(&text, "kill:");
    if (!kills && !absl::ConsumePrefix(&text, "delay:")) continue;
    if (ParseInjection(std::string(text), kills ? Injection::What::kKill : Injection::What::kDelay,
                       &injection)
            .empty())
      result.push_back(injection);
  }
  return result;
}

namespace {
const Owns* Mishaps() {
  static const Owns* owns = OwnInjections();
  return owns;
}
}  // namespace

bool AnyInjection() { return Mishaps() != nullptr; }

void InjectAt(CallId call) {
  const Owns* owns = Mishaps();
  if (!owns) return;
  for (const std::unique_ptr<Own>& own : *owns) {
    const Injection& i = own->injection;
    if (i.call != call) continue;
    const uint64_t number = own->calls.fetch_add(1, std::memory_order_relaxed) + 1;
    if (i.number != 0 && i.number != number) continue;
    if (i.what == Injection::What::kKill) {
      Tell(LogLevel::kWarning, absl::StrCat("rank ", i.rank, " is killed in its ", CallName(call),
                                            " #", number, ", as --kill asks"));
      kill(getpid(), SIGKILL);
    }
    timespec left = {i.delay_ns / 1'000'000'000, i.delay_ns % 1'000'000'000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
  }
}

}  // namespace hcclrun
