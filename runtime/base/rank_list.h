#pragma once
// Lists of ranks as people read them.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hcclrun {

// "0-2,4" for ascending ranks.
template <class Rank>
std::string RankList(const std::vector<Rank>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) last++;
    absl::StrAppend(&text, text.empty() ? "" : ",", ranks[i]);
    if (last > i) absl::StrAppend(&text, "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

// "rank 3" or "ranks 0-2,4".
template <class Rank>
std::string Ranks(const std::vector<Rank>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", RankList(ranks));
}

}  // namespace hcclrun
