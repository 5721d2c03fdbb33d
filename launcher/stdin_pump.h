#pragma once
// Passes a terminal's input to rank 0 through a pipe. The rank leads a background process group of
// the terminal, so reading the terminal itself would stop it (SIGTTIN). Inputs that are not
// terminals are inherited instead.

#include <string>

#include "launcher/event_loop.h"
#include "launcher/fd.h"

namespace hcclrun {

class StdinPump {
 public:
  // `terminal` is not owned. Ends at end of input or when rank 0 closes its end.
  StdinPump(EventLoop* loop, int terminal, Fd to_rank);
  ~StdinPump() { Stop(); }
  void Stop();

 private:
  void OnInput();
  void Flush();

  EventLoop* loop_;
  int terminal_;
  Fd to_rank_;
  std::string pending_;
  bool watching_pipe_ = false;
  EventLoop::TimerId retry_ = 0;
};

}  // namespace hcclrun
