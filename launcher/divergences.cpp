#include "launcher/divergences.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "base/rank_list.h"

namespace hcclrun {
namespace {

CallId IdOf(const RecordedCall& call) { return static_cast<CallId>(call.call); }

bool IsDivergable(CallId call) {
  return call == CallId::HcclCommSymWinRegister || call == CallId::HcclCommSymWinDeregister ||
         call == CallId::HcclCommDestroy;
}

}  // namespace

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
