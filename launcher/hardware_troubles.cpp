#include "launcher/hardware_troubles.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/call.h"
#include "base/fault.h"
#include "base/rank_list.h"
#include "launcher/call_text.h"
#include "launcher/hardware_paths.h"

namespace hcclrun {
namespace {

constexpr uint64_t kNoWindowOffset = UINT64_MAX;
constexpr size_t kMaxStragglers = 4;

bool IsRegistration(const RecordedCall& call) {
  return call.kind == OperationRecord::kLocal &&
         call.call == static_cast<uint32_t>(CallId::HcclCommSymWinRegister);
}

bool NotRegistered(const RankHistory& rank, const RecordedCall& call) {
  return absl::StartsWith(rank.reason(call), "item 7:") &&
         (call.in_window == kNoWindowOffset || call.out_window == kNoWindowOffset);
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
};

class Troubles {
 public:
  explicit Troubles(const JobHistory& history) : history_(history) {}

  std::vector<std::string> Find() {
    FindRegistered();
    const Operations operations = Collect(history_);
    for (const auto& [key, operation] : operations) OneOperation(key, operation);
    Transfers();
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
  const RankHistory& Rank(int rank) const { return history_.rank(rank); }

  void Add(const std::string& kind, const std::string& where) {
    Trouble& trouble = found_[kind];
    if (trouble.times++ == 0) trouble.first = where;
  }

  void OneOperation(std::pair<uint64_t, uint64_t> key, const Operation& operation) {
    const auto& [rank, call] = operation.calls.front();
    const std::string name = TextWithFacts(history_, rank, *call);
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
    if (mismatch) Mismatch(key.first, operation, name);
    for (const auto& [r, c] : operation.calls) used_.insert({key.first, c->call});
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
          "taken without a word",
          name);
    }
    const auto op = static_cast<Op>(call->op);
    const bool overwrites = op == Op::kAllReduce || op == Op::kReduceScatter;
    if (overwrites && maybe && Eligible(Rank(rank), *call) && call->in_window != call->out_window) {
      Add("on the window path an A3 overwrites the input with partial sums; do not read it "
          "afterwards",
          name);
    }
  }

  // The first call of its kind on a communicator is compared on hardware, too; later ones are not,
  // and neither are different operations.
  void Mismatch(uint64_t key, const Operation& operation, const std::string& name) {
    bool same = true, first = true;
    for (const auto& [r, c] : operation.calls) {
      same &= c->call == operation.calls.front().second->call;
      first &= used_.count({key, c->call}) == 0 && Rank(r).calls_recorded == Rank(r).calls.size();
    }
    if (!same) {
      Add("the ranks call different operations; on an A3 each of them would wait for the others "
          "until HCCL_CONNECT_TIMEOUT, or HCCL_EXEC_TIMEOUT where it has been used before",
          name);
    } else if (first) {
      Add("the ranks' calls do not match; on an A3 the first call of its kind is refused as here",
          name);
    } else {
      Add("the ranks' calls do not match; an A3 compares only the first call of each kind: it "
          "would hang until HCCL_EXEC_TIMEOUT or give wrong data",
          name);
    }
  }

  void Transfers() {
    for (size_t r = 0; r < history_.ranks.size(); r++) {
      for (const RecordedCall& call : history_.ranks[r].calls) {
        if (call.kind != OperationRecord::kSend ||
            call.fault != static_cast<uint32_t>(FaultKind::kTransferMismatch))
          continue;
        Add("a send and its receive differ; an A3 does not compare them: it would hang until "
            "HCCL_EXEC_TIMEOUT or leave a part of the receiver's buffer as it was",
            OnRank(static_cast<int>(r), call));
      }
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
            OnRank(static_cast<int>(r), call));
      }
    }
  }

  std::string OnRank(int rank, const RecordedCall& call) const {
    return absl::StrCat(TextWithFacts(history_, rank, call), " on rank ", rank);
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
    struct Size {
      uint64_t bytes;
      int rank;
    };
    std::map<uint64_t, Size> sizes;  // by the registration's number: those of its first rank
    for (size_t r = 0; r < history_.ranks.size(); r++) {
      const RankHistory& rank = history_.ranks[r];
      for (const RecordedCall& call : rank.calls) {
        const RecordedCommunicator* c = rank.communicator(call.comm);
        if (!c || c->key != first.key || !IsRegistration(call) || call.count == 0) continue;
        auto [it, added] = sizes.emplace(call.count, Size{call.bytes, static_cast<int>(r)});
        if (added || it->second.bytes == call.bytes) continue;
        Add("the ranks pass different sizes, which the documentation forbids and no A3 notices",
            absl::StrCat("HcclCommSymWinRegister #", call.count, " of communicator ", first.name,
                         " (", it->second.bytes, " on rank ", it->second.rank, ", ", call.bytes,
                         " on rank ", r, ")"));
      }
    }
  }

  // Communicators that have had a window.
  void FindRegistered() {
    for (const RankHistory& rank : history_.ranks) {
      for (const RecordedCall& call : rank.calls) {
        const RecordedCommunicator* c = rank.communicator(call.comm);
        if (c && IsRegistration(call)) registered_.insert(c->key);
      }
    }
  }

  const JobHistory& history_;
  std::set<uint64_t> registered_;
  std::map<std::string, Trouble> found_;
  std::set<std::pair<uint64_t, uint32_t>> used_;  // communicator and call, compared before
};

}  // namespace

std::vector<std::string> HardwareTroubles(const JobHistory& history) {
  return Troubles(history).Find();
}

std::vector<std::string> HardwareHang(const WaitGraph& graph) {
  const std::string fate =
      ": an A3 would wait as well, until HCCL_EXEC_TIMEOUT (1836 s unless it is set), and end in a "
      "notify time-out that does not say who is missing";
  std::vector<std::string> lines;
  for (const WaitCycle& cycle : graph.cycles) {
    std::vector<std::string> waits;
    for (size_t e : cycle.edges) waits.push_back(EdgeText(graph, graph.edges[e]));
    lines.push_back(absl::StrCat("deadlock, ", absl::StrJoin(waits, "; "), fate));
  }
  for (const Straggler& s : graph.stragglers) {
    if (lines.size() >= kMaxStragglers) break;
    if (s.waiting.empty()) continue;
    lines.push_back(absl::StrCat(
        Ranks(s.waiting), s.waiting.size() > 1 ? " wait for " : " waits for ", s.doing, fate));
  }
  return lines;
}

}  // namespace hcclrun
