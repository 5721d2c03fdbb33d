#include "launcher/hardware_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "base/fault.h"
#include "base/rank_list.h"
#include "collective/types.h"
#include "launcher/job_report.h"

namespace hcclrun {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr uint64_t kNoWindowOffset = UINT64_MAX;

CallId IdOf(const RecordedCall& call) { return static_cast<CallId>(call.call); }

bool UsesWindows(CallId call) {
  return call == CallId::HcclAllReduce || call == CallId::HcclAllGather ||
         call == CallId::HcclReduceScatter || call == CallId::HcclAlltoAll;
}

uint64_t BytesOf(const RecordedCall& call) {
  return call.count * ElementSize(static_cast<DataType>(call.dtype));
}

// Items 1 to 7 let the call use windows: it does, or its buffers overlap, which only hcclrun minds.
// Reasons begin with the item that does not hold.
bool Eligible(const RankHistory& rank, const RecordedCall& call) {
  return call.kind == OperationRecord::kCollective && UsesWindows(IdOf(call)) &&
         !absl::StartsWith(rank.reason(call), "item ");
}

bool NotRegistered(const RankHistory& rank, const RecordedCall& call) {
  return absl::StartsWith(rank.reason(call), "item 7:") &&
         (call.in_window == kNoWindowOffset || call.out_window == kNoWindowOffset);
}

HardwarePath OnHardware(const RankHistory& rank, const RecordedCall& call) {
  const RecordedCommunicator* c = rank.communicator(call.comm);
  return c ? PathByThresholds(call.call, BytesOf(call), c->size, c->servers, c->stage_bytes)
           : HardwarePath::kDepends;
}

const char* Text(HardwarePath path) {
  switch (path) {
    case HardwarePath::kBuffered:
      return "an A3 would stay on the buffered path for so few bytes";
    case HardwarePath::kWindow:
      return "an A3 would use the windows";
    case HardwarePath::kDepends:
      break;
  }
  return "an A3 would use the windows if its devices form double rings, else the buffered path";
}

// The operations of one communicator, by number; of each rank its call.
struct Operation {
  std::vector<std::pair<int, const RecordedCall*>> calls;
};
using Operations = std::map<std::pair<uint64_t, uint64_t>, Operation>;  // key, sequence

Operations Collect(const JobHistory& history) {
  Operations operations;
  for (size_t r = 0; r < history.ranks.size(); r++) {
    for (const RecordedCall& call : history.ranks[r].calls) {
      const RecordedCommunicator* c = history.ranks[r].communicator(call.comm);
      if (!c || call.kind != OperationRecord::kCollective) continue;
      operations[{c->key, call.sequence}].calls.push_back({static_cast<int>(r), &call});
    }
  }
  return operations;
}

// A kind of trouble: its first place, and how often.
struct Trouble {
  std::string first;
  uint64_t times = 0;
  std::set<int> ranks;
};

class Troubles {
 public:
  explicit Troubles(const JobHistory& history) : history_(history) {}

  std::vector<std::string> Find() {
    const Operations operations = Collect(history_);
    for (const auto& [key, operation] : operations) OneOperation(key, operation);
    Streams();
    Registrations();
    std::vector<std::string> lines;
    for (const auto& [kind, trouble] : found_) {
      lines.push_back(absl::StrCat(
          trouble.first, trouble.times > 1 ? absl::StrCat(" (", trouble.times, " times)") : "",
          ": ", kind));
    }
    return lines;
  }

 private:
  const RankHistory& Rank(int rank) const { return history_.ranks[static_cast<size_t>(rank)]; }

  void Add(const std::string& kind, const std::string& where) {
    Trouble& trouble = found_[kind];
    if (trouble.times++ == 0) trouble.first = where;
  }

  void OneOperation(std::pair<uint64_t, uint64_t> key, const Operation& operation) {
    const auto& [rank, call] = operation.calls.front();
    const std::string name = TextWithFacts(Rank(rank), *call);
    bool mismatch = false, offsets = false, differ = false;
    std::vector<int> eligible, not_registered;
    for (const auto& [r, c] : operation.calls) {
      mismatch |= c->fault == static_cast<uint32_t>(FaultKind::kMismatch);
      offsets |= c->fault == static_cast<uint32_t>(FaultKind::kWindowOffsets);
      if (Eligible(Rank(r), *c)) {
        eligible.push_back(r);
        differ |= c->in_window != call->in_window || c->out_window != call->out_window;
      } else if (NotRegistered(Rank(r), *c)) {
        not_registered.push_back(r);
      }
    }
    const HardwarePath path = OnHardware(Rank(rank), *call);
    const bool maybe = path != HardwarePath::kBuffered;
    if (mismatch) {
      // A call's first use is compared on hardware, too.
      if (!used_.count({key.first, call->call})) {
        Add("the ranks' calls do not match; on an A3 the first call of its kind is refused as here",
            name);
      } else {
        Add("the ranks' calls do not match; an A3 compares only the first call of each kind: it "
            "would hang until HCCL_EXEC_TIMEOUT or give wrong data",
            name);
      }
    }
    used_.insert({key.first, call->call});
    if (offsets || (differ && eligible.size() == operation.calls.size() && maybe)) {
      Add("the ranks' buffers lie at different offsets of the windows; an A3 computes its peers' "
          "addresses from its own offsets and would corrupt memory silently",
          name);
    } else if (!eligible.empty() && !not_registered.empty() && maybe) {
      Add(absl::StrCat("only some ranks have their buffers in windows (not ", Ranks(not_registered),
                       "): the ranks of an A3 would choose different algorithms and time out"),
          name);
    } else if (!not_registered.empty() && not_registered.size() == operation.calls.size() &&
               registered_.count(key.first)) {
      Add("the communicator has windows, but the buffers are not in them: the buffered path is "
          "taken "
          "without a word",
          name);
    }
    const CallId id = IdOf(*call);
    const bool overwrites = id == CallId::HcclAllReduce || id == CallId::HcclReduceScatter;
    if (overwrites && maybe && Eligible(Rank(rank), *call) && call->in_window != call->out_window) {
      Add("on the window path an A3 overwrites the input with partial sums; do not read it "
          "afterwards",
          name);
    }
  }

  // One communicator on several streams of a rank.
  void Streams() {
    for (size_t r = 0; r < history_.ranks.size(); r++) {
      std::map<uint32_t, const RecordedCall*> first;
      for (const RecordedCall& call : history_.ranks[r].calls) {
        if (call.kind == OperationRecord::kLocal) continue;
        auto [it, added] = first.emplace(call.comm, &call);
        if (added || it->second->stream == call.stream) continue;
        Add("its communicator is used in several streams; on an A3 that is undefined unless events "
            "order them",
            Text_(static_cast<int>(r), call));
      }
    }
  }

  std::string Text_(int rank, const RecordedCall& call) const {
    return absl::StrCat(TextWithFacts(Rank(rank), call), " on rank ", rank);
  }

  // Sizes that the ranks pass to one registration.
  void Registrations() {
    for (const RankHistory& rank : history_.ranks) {
      for (const RecordedCommunicator& c : rank.communicators) {
        if (c.rank != 0) continue;
        CompareSizes(c);
      }
    }
  }

  void CompareSizes(const RecordedCommunicator& first) {
    std::map<uint64_t, std::pair<uint64_t, int>> sizes;  // by round: bytes and rank of the first
    for (size_t r = 0; r < history_.ranks.size(); r++) {
      const RankHistory& rank = history_.ranks[r];
      uint64_t round = 0;
      for (const RecordedCall& call : rank.calls) {
        const RecordedCommunicator* c = rank.communicator(call.comm);
        if (!c || c->key != first.key || call.kind != OperationRecord::kLocal ||
            IdOf(call) != CallId::HcclCommSymWinRegister)
          continue;
        auto [it, added] = sizes.emplace(round++, std::pair(call.bytes, static_cast<int>(r)));
        if (!added && it->second.first != call.bytes) {
          Add("the ranks pass different sizes, which the documentation forbids and no A3 notices",
              absl::StrCat("HcclCommSymWinRegister #", round, " of communicator ", first.name, " (",
                           it->second.first, " on rank ", it->second.second, ", ", call.bytes,
                           " on rank ", r, ")"));
        }
      }
    }
  }

 public:
  // Communicators that have a window; to be told before Find().
  std::set<uint64_t> registered_;

 private:
  const JobHistory& history_;
  std::map<std::string, Trouble> found_;
  std::set<std::pair<uint64_t, uint32_t>> used_;  // communicator and call, compared before
};

bool IsDivergable(CallId call) {
  return call == CallId::HcclCommSymWinRegister || call == CallId::HcclCommSymWinDeregister ||
         call == CallId::HcclCommDestroy;
}

}  // namespace

HardwarePath PathByThresholds(uint32_t call, uint64_t bytes, uint32_t ranks, uint32_t servers,
                              uint64_t stage_bytes) {
  const uint64_t devices = ranks / std::max<uint32_t>(servers, 1);
  const bool one = servers <= 1, many = devices > 2;
  auto rings = [](bool large) { return large ? HardwarePath::kWindow : HardwarePath::kDepends; };
  switch (static_cast<CallId>(call)) {
    case CallId::HcclAllGather:
      if (many && (one                ? bytes <= 512 * kKiB && bytes * ranks <= stage_bytes
                   : devices % 4 == 0 ? bytes * servers <= kMiB
                                      : bytes * servers <= 512 * kKiB))
        return HardwarePath::kBuffered;
      return rings(bytes * devices > 16 * kMiB);
    case CallId::HcclReduceScatter:
      if (many && (one                          ? bytes <= kMiB
                   : (ranks & (ranks - 1)) == 0 ? bytes * servers <= 2 * kMiB
                                                : bytes <= 256 * kKiB))
        return HardwarePath::kBuffered;
      return rings(bytes * devices > 16 * kMiB);
    case CallId::HcclAllReduce:
      if (many &&
          (one ? bytes <= 512 * kKiB * ranks && bytes <= stage_bytes / 4 : bytes <= kMiB * devices))
        return HardwarePath::kBuffered;
      return rings(bytes > 16 * kMiB * servers);
    case CallId::HcclAlltoAll:
      return HardwarePath::kWindow;
    default:
      return HardwarePath::kBuffered;
  }
}

std::vector<std::string> ExplainLines(const JobHistory& history) {
  // Call, communicator, count, type, reduction, path, reason, what hardware would do.
  using Kind = std::tuple<std::string, PathTaken, std::string, int>;
  struct Group {
    std::set<int> ranks;
    uint64_t calls = 0;
  };
  std::vector<std::pair<Kind, Group>> groups;
  std::map<Kind, size_t> index;
  uint64_t forgotten = 0;
  for (size_t r = 0; r < history.ranks.size(); r++) {
    const RankHistory& rank = history.ranks[r];
    forgotten += rank.calls_recorded - rank.calls.size();
    for (const RecordedCall& call : rank.calls) {
      if (call.kind != OperationRecord::kCollective) continue;
      // All numbers of one kind together.
      RecordedCall any = call;
      any.sequence = 0;
      std::string name = TextWithFacts(rank, any);
      if (const size_t number = name.find(" #1"); number != name.npos) name.erase(number, 3);
      const int hardware = Eligible(rank, call) ? static_cast<int>(OnHardware(rank, call)) : -1;
      const Kind kind(name, call.path, rank.reason(call), hardware);
      auto [it, added] = index.emplace(kind, groups.size());
      if (added) groups.push_back({kind, {}});
      groups[it->second].second.ranks.insert(static_cast<int>(r));
      groups[it->second].second.calls++;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [kind, group] : groups) {
    const auto& [name, path, reason, hardware] = kind;
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    const uint64_t each = group.calls / ranks.size();
    std::string text = absl::StrCat(name, ", ", Ranks(ranks),
                                    each > 1 ? absl::StrCat(", ", each, " times") : "", ": ");
    if (path == PathTaken::kUnknown) {
      absl::StrAppend(&text, "not complete");
    } else {
      absl::StrAppend(&text, PathName(path), " path");
    }
    if (!reason.empty()) {
      absl::StrAppend(&text, ", because of ", reason);
    } else if (path == PathTaken::kBuffered) {
      absl::StrAppend(&text, ", because not every rank has its buffers in windows");
    }
    if (hardware >= 0) absl::StrAppend(&text, "; ", Text(static_cast<HardwarePath>(hardware)));
    lines.push_back(text);
  }
  if (forgotten)
    lines.push_back(absl::StrCat("and ", forgotten, " earlier calls, which are not kept"));
  return lines;
}

std::vector<std::string> HardwareTroubles(const JobHistory& history) {
  Troubles troubles(history);
  for (const RankHistory& rank : history.ranks) {
    for (const RecordedCall& call : rank.calls) {
      const RecordedCommunicator* c = rank.communicator(call.comm);
      if (c && call.kind == OperationRecord::kLocal && IdOf(call) == CallId::HcclCommSymWinRegister)
        troubles.registered_.insert(c->key);
    }
  }
  return troubles.Find();
}

std::vector<std::string> Divergences(const JobHistory& history) {
  // By communicator and rank: the calls with their places, in order.
  struct Sequence {
    int rank;
    std::vector<std::string> calls;
    bool alive;
  };
  std::map<uint64_t, std::vector<Sequence>> all;
  std::map<uint64_t, std::string> names;
  for (size_t r = 0; r < history.ranks.size(); r++) {
    const RankHistory& rank = history.ranks[r];
    if (rank.calls_recorded > rank.calls.size()) return {};
    for (const RecordedCommunicator& c : rank.communicators) {
      Sequence sequence = {static_cast<int>(r), {}, c.alive};
      for (const RecordedCall& call : rank.calls) {
        if (call.comm != c.id || call.kind != OperationRecord::kLocal || !IsDivergable(IdOf(call)))
          continue;
        sequence.calls.push_back(absl::StrCat(CallName(IdOf(call)), " after ", call.sequence,
                                              call.sequence == 1 ? " operation" : " operations"));
      }
      all[c.key].push_back(std::move(sequence));
      names[c.key] = c.name;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [key, sequences] : all) {
    size_t longest = 0;
    for (const Sequence& s : sequences) longest = std::max(longest, s.calls.size());
    for (size_t i = 0; i < longest; i++) {
      std::map<std::string, std::vector<int>> what;
      for (const Sequence& s : sequences)
        what[i < s.calls.size() ? s.calls[i] : "nothing more"].push_back(s.rank);
      if (what.size() < 2) continue;
      std::string text = absl::StrCat("the ranks of communicator ", names[key],
                                      " differ in local calls that all should make together; call ",
                                      i + 1, " is ");
      bool first = true;
      for (const auto& [call, ranks] : what) {
        absl::StrAppend(&text, first ? "" : ", ", call, " on ", Ranks(ranks));
        first = false;
      }
      lines.push_back(text);
      break;
    }
  }
  return lines;
}

}  // namespace hcclrun
