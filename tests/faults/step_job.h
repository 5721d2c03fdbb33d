#pragma once
// One job of step_faults.cpp under the core with steps, from its start to its end.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "faults/step_board.h"
#include "faults/step_fault.h"

namespace hcclrun::testing {

inline constexpr int64_t kMs = 1'000'000;

class StepJob {
 public:
  StepJob(const StepConfig& config, std::vector<std::string> variables, int timeout_s);
  ~StepJob();
  StepJob(const StepJob&) = delete;
  StepJob& operator=(const StepJob&) = delete;

  // True once it has ended. With `continues` its stopped rank goes on after a while.
  bool Poll(bool continues);

  const StepBoard& board() const { return *board_; }
  bool hung() const { return hung_; }
  int code() const { return code_; }
  int64_t end_ns() const { return end_ns_; }
  std::string Output() const;

 private:
  int board_fd_, output_;
  StepBoard* board_;
  pid_t pid_ = -1;
  int64_t begin_ns_, end_ns_ = 0;
  bool hung_ = false;
  int64_t continued_ns_ = 0;
  int code_ = -1;
};

void NapForPolling();

}  // namespace hcclrun::testing
