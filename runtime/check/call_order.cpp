#include "check/call_order.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/rank_list.h"
#include "base/speaker.h"
#include "check/details.h"
#include "comm/matching.h"
#include "shm/job_ranks.h"
#include "shm/lifeline.h"
#include "shm/recorder.h"

namespace hcclrun {
namespace {

constexpr auto kInOrder =
    std::memory_order_acquire;  // every load keeps those behind it (recorder.h)
constexpr size_t kMostOddGroups = 3;

// Calls of one rank on the communicator by their number, as far as they are kept.
using Calls = std::map<uint64_t, Descriptor>;

// The key under which all members have recorded the communicator; 0: none.
uint64_t KeyOf(const OpDetail& d) {
  const RecorderView* mine = Recorder::Mine();
  for (uint32_t i = 0; mine && i < mine->layout.communicators; i++) {
    const CommunicatorRecord& c = mine->communicators[i];
    const std::string kept(c.name, strnlen(c.name, sizeof c.name)), shown = ShownName(kept);
    const bool cut = kept.size() + 1 == sizeof c.name;
    if (c.id.load(kInOrder) != 0 && c.alive.load(kInOrder) != 0 &&
        c.rank.load(kInOrder) == d.own_rank && c.size.load(kInOrder) == d.ranks &&
        (d.communicator == shown || (cut && absl::StartsWith(d.communicator, shown))))
      return c.key.load(kInOrder);
  }
  return 0;
}

// What another rank wrote is copied and not trusted; a copy that changed meanwhile is none.
Calls CallsOf(const RankPosition& position, uint64_t key) {
  Calls calls;
  JobPage* page = Lifeline::Page();
  const int job_rank = JobRankOf(position.pid);
  if (!page || !Recorder::Mine() || job_rank < 0) return calls;
  const RecorderLayout& layout = Recorder::Mine()->layout;  // checked when it was taken
  const RecorderView view =
      RecorderView::At(reinterpret_cast<char*>(page), layout, static_cast<uint32_t>(job_rank));
  uint32_t comm = 0;
  for (uint32_t i = 0; i < layout.communicators; i++) {
    const CommunicatorRecord& c = view.communicators[i];
    if (c.key.load(kInOrder) == key && c.rank.load(kInOrder) == position.rank)
      comm = c.id.load(kInOrder);
  }
  if (comm == 0) return calls;
  const uint64_t last = view.next->load(kInOrder), kept = layout.operations;
  for (uint64_t n = last > kept ? last - kept + 1 : 1; n <= last && n != 0; n++) {
    const OperationRecord& r = view.operation(n);
    if (r.number.load(kInOrder) != n || r.comm.load(kInOrder) != comm ||
        r.kind.load(kInOrder) != OperationRecord::kCollective)
      continue;
    Descriptor d = {};
    d.op = r.op.load(kInOrder);
    d.dtype = r.dtype.load(kInOrder);
    d.reduce_op = r.reduce_op.load(kInOrder);
    d.flags = r.flags.load(kInOrder) & kFlagWindow;
    d.root = r.peer.load(kInOrder);
    d.count = r.count.load(kInOrder);
    d.call = r.call.load(kInOrder);
    d.sequence = r.sequence.load(kInOrder);
    if (r.number.load(kInOrder) == n) calls[d.sequence] = d;
  }
  return calls;
}

// Whether all known calls of `a` from `k` on are like those of `b` from `k` + 1 on, and there are
// any.
bool IsBehind(const Calls& a, const Calls& b, uint64_t k) {
  size_t alike = 0;
  for (auto it = a.lower_bound(k); it != a.end(); ++it) {
    const auto other = b.find(it->first + 1);
    if (other == b.end()) break;
    if (*FirstDifference(it->second, other->second)) return false;
    alike++;
  }
  return alike > 0;
}

// "#8, HcclAllReduce(count 4, fp32, sum),", or as much as is known of which of several like calls,
// all of which the others have made, too.
std::string OneOf(const Calls& calls, const Calls& others, uint64_t k) {
  const auto it = calls.find(k);
  if (it == calls.end()) return absl::StrCat("#", k + 1);
  uint64_t first = k;
  for (; first > 0; first--) {
    const auto before = calls.find(first - 1), theirs = others.find(first - 1);
    if (before == calls.end() || *FirstDifference(before->second, it->second) ||
        theirs == others.end() || *FirstDifference(theirs->second, it->second))
      break;
  }
  return first == k ? absl::StrCat("#", k + 1, ", ", CallText(it->second), ",")
                    : absl::StrCat("one of #", first + 1, " to #", k + 1, ", all ",
                                   CallText(it->second), ",");
}

}  // namespace

std::string ShiftInRecords(const OpDetail& d) {
  std::vector<std::pair<const OpDetail::Call*, std::vector<uint32_t>>> groups;  // of like calls
  for (const OpDetail::Call& c : d.calls) {
    if (!c.posted) continue;
    auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) {
      return !*FirstDifference(g.first->descriptor, c.descriptor);
    });
    if (it == groups.end()) it = groups.insert(groups.end(), {&c, {}});
    it->second.push_back(c.position.rank);
  }
  const uint64_t key = KeyOf(d), k = d.sequence;
  if (key == 0 || groups.size() < 2 || groups.size() > kMostOddGroups + 1) return "";
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const Calls most = CallsOf(groups[0].first->position, key);
  std::string text;
  for (size_t g = 1; g < groups.size(); g++) {
    const Calls odd = CallsOf(groups[g].first->position, key);
    const bool left_out = IsBehind(odd, most, k), too_many = IsBehind(most, odd, k);
    if (left_out == too_many) continue;
    const std::vector<uint32_t>& ranks = groups[g].second;
    absl::StrAppend(
        &text, "; ", Ranks(ranks), ranks.size() == 1 ? " seems" : " seem",
        left_out ? " to have left out " : " to have made a call too many, ",
        OneOf(left_out ? most : odd, left_out ? odd : most, k),
        ranks.size() < groups[0].second.size()
            ? ""
            : absl::StrCat(" or ", Ranks(groups[0].second),
                           left_out ? " to have called it too often," : " to have left it out,"),
        " since ", ranks.size() == 1 ? "its" : "their", " calls from #", k + (left_out ? 1 : 2),
        " on are like the others' from #", k + (left_out ? 2 : 1), " on");
  }
  return text;
}

}  // namespace hcclrun
