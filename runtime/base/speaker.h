#pragma once
// Who says what a user reads: a rank of a communicator. hcclrun gives a process one rank of the job;
// threads of one process, and processes that something else has started, are told apart by this alone.
//
// A speaker is a number that travels with a fault (Fault::speaker) from where the communicator is known to
// where the sentence is made, perhaps after the communicator is gone. It is known until it is retired, and
// then until kKeptSpeakers more have been: what is said in the name of an older one has no name. Any thread.

#include <cstdint>
#include <string>

namespace hcclrun {

struct Speaker {
  uint32_t rank = 0;
  uint32_t ranks = 0;        // of the communicator; 0: nothing is known of it nor of `rank`
  std::string communicator;  // as messages show it; empty while it has no name
};

inline constexpr uint32_t kKeptSpeakers = 4096;
inline constexpr uint32_t kSomeRanks = 0xffffffff;  // Speaker::ranks: how many is not known

// Never 0. Whoever adds one retires it.
uint32_t AddSpeaker(Speaker speaker);
void RetireSpeaker(uint32_t number);
Speaker SpeakerOf(uint32_t number);

// As long as this lives the calling thread speaks in the name of it: what is said without a speaker.
class SpeaksFor {
 public:
  explicit SpeaksFor(Speaker speaker);
  ~SpeaksFor();
  uint32_t number() const { return number_; }
  SpeaksFor(const SpeaksFor&) = delete;
  SpeaksFor& operator=(const SpeaksFor&) = delete;

 private:
  const uint32_t number_, before_;
};
uint32_t SpeakerOfThread();  // 0: none

// What a message of it begins with: "rank 2 of communicator world"; in a job of hcclrun that has several
// ranks "rank 2", with "(rank 0 of communicator tp)" behind it where that is not the same. "" for a
// process of which nothing is known.
std::string WhoSpeaks(const Speaker& speaker, int job_rank, int job_size);

// The name of a communicator in messages: its own, if the program gave it one. Instead of
// "127.0.0.1%hcclrun_60000_0_4711.173692313.0", which the library makes, "unnamed-1@4711": of the first
// HcclGetRootInfo of process 4711. What the library adds for a sub-communicator stays behind it.
std::string ShownName(const std::string& name);

}  // namespace hcclrun
