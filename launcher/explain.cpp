#include "launcher/explain.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rank_list.h"
#include "launcher/call_text.h"
#include "launcher/hardware_paths.h"
#include "launcher/job_report.h"

namespace hcclrun {
namespace {

// What calls of one line have in common.
using Kind = std::tuple<std::string,             // call and communicator
                        uint8_t, uint8_t,        // type, reduction
                        PathTaken, std::string,  // path, why not the window
                        int>;                    // HardwarePath, or -1: it would not use windows

struct Group {
  std::set<int> ranks;
  std::set<uint64_t> counts;
  std::set<uint32_t> roots;
  uint64_t calls = 0;
};

const char* HardwareText(HardwarePath path) {
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

// "(1024 fp32, sum)", "(16 to 1048576 fp32 in 17 sizes, roots 0-3)"
std::string FactsText(const Kind& kind, const Group& group, bool reduces) {
  std::vector<std::string> facts;
  const uint64_t least = *group.counts.begin(), most = *group.counts.rbegin();
  const char* type = Name(static_cast<DataType>(std::get<1>(kind)));
  if (group.counts.size() > 1) {
    facts.push_back(
        absl::StrCat(least, " to ", most, " ", type, " in ", group.counts.size(), " sizes"));
  } else if (most > 0) {
    facts.push_back(absl::StrCat(most, " ", type));
  }
  if (reduces) facts.push_back(Name(static_cast<ReduceOp>(std::get<2>(kind))));
  if (!group.roots.empty()) {
    facts.push_back(
        absl::StrCat(group.roots.size() > 1 ? "roots " : "root ",
                     RankList(std::vector<uint32_t>(group.roots.begin(), group.roots.end()))));
  }
  return facts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(facts, ", "), ")");
}

std::string LineOf(const Kind& kind, const Group& group, bool reduces) {
  const auto& [name, type, reduction, path, reason, hardware] = kind;
  const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
  const uint64_t each = group.calls / ranks.size();
  std::string text = absl::StrCat(
      name, FactsText(kind, group, reduces), ", ", Ranks(ranks),
      each > 1 ? absl::StrCat(", ", each, " times") : "", ": ",
      path == PathTaken::kUnknown ? "not complete" : absl::StrCat(PathName(path), " path"));
  if (!reason.empty()) {
    absl::StrAppend(&text, ", because of ", reason);
  } else if (path == PathTaken::kBuffered) {
    absl::StrAppend(&text, ", because not every rank has its buffers in windows");
  }
  if (hardware >= 0)
    absl::StrAppend(&text, "; ", HardwareText(static_cast<HardwarePath>(hardware)));
  return text;
}

}  // namespace

std::vector<std::string> ExplainLines(const JobHistory& history) {
  struct Line {
    Kind kind;
    Group group;
    bool reduces = false;
  };
  std::vector<Line> lines;  // in the order of first calls
  std::map<Kind, size_t> index;
  uint64_t forgotten = 0;
  for (size_t r = 0; r < history.ranks.size(); r++) {
    const RankHistory& rank = history.ranks[r];
    forgotten += rank.calls_recorded - rank.calls.size();
    for (const RecordedCall& call : rank.calls) {
      if (!call.collective()) continue;
      const int hardware = Eligible(rank, call) ? static_cast<int>(OnHardware(rank, call)) : -1;
      const Kind kind(KindText(history, static_cast<int>(r), call), call.dtype, call.reduce_op,
                      call.path, rank.reason(call), hardware);
      auto [it, added] = index.emplace(kind, lines.size());
      if (added) {
        Line& line = lines.emplace_back();
        line.kind = kind;
        line.reduces = call.reduces();
      }
      Group& group = lines[it->second].group;
      group.ranks.insert(static_cast<int>(r));
      group.counts.insert(call.count);
      if (call.peer != kNoPeer) group.roots.insert(call.peer);
      group.calls++;
    }
  }
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(LineOf(line.kind, line.group, line.reduces));
  if (forgotten)
    texts.push_back(absl::StrCat("and ", forgotten, " earlier calls, which are not kept"));
  return texts;
}

}  // namespace hcclrun
