#pragma once
// How jobs with a fault ended: judged one by one, and summed up in tables.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "faults/step_fault.h"
#include "faults/step_job.h"

namespace hcclrun::testing {

class StepStudy {
 public:
  // A job that ended otherwise than it should is told on standard error.
  void Judge(const StepFault& fault, const StepJob& job);
  // In Markdown.
  void Print();
  int bad() const { return bad_; }

 private:
  struct Tally {
    int jobs = 0, missed = 0;       // the rank did not come to the step this time
    int named = 0, unaffected = 0;  // survivors
    int ended = 0;                  // by hcclrun before they had come to an error
    int verdicts = 0;               // that name the victim
    int hung = 0, leaked = 0, wrong = 0, other = 0;
    std::vector<double> error_ms, end_ms;
  };

  static void PrintTimes(const char* what, std::vector<double> times);

  std::map<std::string, Tally> tallies_;
  std::map<std::pair<std::string, std::string>, Tally> steps_;
  int bad_ = 0;
};

}  // namespace hcclrun::testing
