#include "base/speaker.h"

#include <deque>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hcclrun {
namespace {

struct Speakers {
  std::mutex mutex;
  absl::flat_hash_map<uint32_t, Speaker> known;  // by number; guarded by mutex
  std::deque<uint32_t> retired;                  // of those, oldest first; guarded by mutex
  uint32_t last = 0;                             // guarded by mutex
};

Speakers& GetSpeakers() {
  static Speakers* speakers = new Speakers();  // used by threads that outlive static destruction
  return *speakers;
}

thread_local uint32_t t_speaker = 0;

// The decimal digits that `text` begins with, which it loses.
absl::string_view TakeDigits(absl::string_view* text) {
  size_t n = 0;
  while (n < text->size() && absl::ascii_isdigit((*text)[n])) n++;
  const absl::string_view digits = text->substr(0, n);
  text->remove_prefix(n);
  return digits;
}

bool TakeDot(absl::string_view* text) {
  if (text->empty() || text->front() != '.') return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

uint32_t AddSpeaker(Speaker speaker) {
  Speakers& s = GetSpeakers();
  std::lock_guard<std::mutex> lock(s.mutex);
  while (++s.last == 0 || s.known.contains(s.last)) {
  }
  s.known[s.last] = std::move(speaker);
  return s.last;
}

void RetireSpeaker(uint32_t number) {
  Speakers& s = GetSpeakers();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.known.contains(number)) return;
  s.retired.push_back(number);
  if (s.retired.size() <= kKeptSpeakers) return;
  s.known.erase(s.retired.front());
  s.retired.pop_front();
}

Speaker SpeakerOf(uint32_t number) {
  Speakers& s = GetSpeakers();
  std::lock_guard<std::mutex> lock(s.mutex);
  const auto found = s.known.find(number);
  return found != s.known.end() ? found->second : Speaker();
}

SpeaksFor::SpeaksFor(Speaker speaker)
    : number_(AddSpeaker(std::move(speaker))), before_(std::exchange(t_speaker, number_)) {}
SpeaksFor::~SpeaksFor() {
  t_speaker = before_;
  RetireSpeaker(number_);
}
uint32_t SpeakerOfThread() { return t_speaker; }

std::string WhoSpeaks(const Speaker& speaker, int job_rank, int job_size) {
  std::string member;
  if (speaker.ranks != 0) {
    member = absl::StrCat("rank ", speaker.rank);
    if (!speaker.communicator.empty()) {
      absl::StrAppend(&member, " of communicator ", speaker.communicator);
    } else if (speaker.ranks != kSomeRanks) {
      absl::StrAppend(&member, " of ", speaker.ranks);
    }
  }
  if (job_rank < 0) return member;
  const std::string rank = absl::StrCat("rank ", job_rank);
  const bool same =
      member.empty() ||
      (speaker.rank == static_cast<uint32_t>(job_rank) &&
       (speaker.ranks == static_cast<uint32_t>(job_size) || speaker.ranks == kSomeRanks));
  if (same) return rank;
  // The only process of a job is no rank of what it does with several threads.
  return job_size == 1 ? member : absl::StrCat(rank, " (", member, ")");
}

// CreateRootInfo() in comm/root_info.cpp makes these names.
std::string ShownName(const std::string& name) {
  constexpr char kOwn[] = "127.0.0.1%hcclrun_60000_";
  absl::string_view rest = name;
  if (!absl::StartsWith(rest, kOwn)) return name;
  rest.remove_prefix(sizeof kOwn - 1);
  if (TakeDigits(&rest).empty() || rest.empty() || rest.front() != '_') return name;
  rest.remove_prefix(1);
  const absl::string_view tag = rest;
  uint64_t n = 0;
  const absl::string_view pid = TakeDigits(&rest);
  if (!pid.empty() && TakeDot(&rest) && !TakeDigits(&rest).empty() && TakeDot(&rest) &&
      absl::SimpleAtoi(TakeDigits(&rest), &n))
    return absl::StrCat("unnamed-", n + 1, "@", pid, rest);
  // Of --shared-root-info: the same for all, so the job's name says nothing.
  rest = tag;
  while (!rest.empty() && rest.front() != '.') rest.remove_prefix(1);
  if (TakeDot(&rest) && absl::SimpleAtoi(TakeDigits(&rest), &n))
    return absl::StrCat("unnamed-", n + 1, rest);
  return name;
}

}  // namespace hcclrun
