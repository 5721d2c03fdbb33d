// What the steps of base/step.h do in the core that tests/faults builds.
//
//   HCCLRUN_STEP_FAULT=RANK:STEP#N:ACTION  rank RANK does ACTION when it comes to STEP for the N-th
//                                          time: kill, halt (it stops for good), stop (until the
//                                          driver continues it), or delay (20 ms)
//   HCCLRUN_STEP_LOG=FILE                  every rank appends "RANK STEP TIMES" lines when it exits
//   HCCLRUN_STEP_NOISE=SEED                every rank yields or naps for a moment at random steps

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "base/job.h"
#include "base/step.h"
#include "faults/step_board.h"

namespace hcclrun {
namespace {

void Nap(int64_t ns) {
  const timespec nap = {0, ns};
  nanosleep(&nap, nullptr);
}

class Steps {
 public:
  static Steps& Get() {
    static Steps* steps = new Steps();
    return *steps;
  }

  void At(const char* name) {
    if (log_ >= 0) Count(name);
    if (noise_) Noise();
    if (!step_.empty() && step_ == name && comings_.fetch_add(1) + 1 == number_) Act();
  }

 private:
  Steps() {
    rank_ = std::to_string(Job::Get().rank());
    board_ = testing::StepBoard::Open();
    if (const char* fault = getenv("HCCLRUN_STEP_FAULT")) {
      const std::string text = fault;
      const size_t colon = text.find(':'), hash = text.find('#'), last = text.rfind(':');
      if (text.substr(0, colon) == rank_) {
        step_ = text.substr(colon + 1, hash - colon - 1);
        number_ = atoi(text.c_str() + hash + 1);
        action_ = text.substr(last + 1);
      }
    }
    if (const char* file = getenv("HCCLRUN_STEP_LOG")) {
      log_ = open(file, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
      std::atexit([] { Get().Write(); });
    }
    if (const char* seed = getenv("HCCLRUN_STEP_NOISE"))
      noise_ = strtoull(seed, nullptr, 10) * 1024 + static_cast<uint64_t>(Job::Get().rank()) + 1;
  }

  void Count(const char* name) {
    std::lock_guard<std::mutex> lock(mutex_);
    seen_[name]++;
  }

  void Write() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string lines;
    for (const auto& [name, times] : seen_)
      lines += rank_ + " " + name + " " + std::to_string(times) + "\n";
    (void)!write(log_, lines.data(), lines.size());
  }

  void Noise() {
    thread_local std::minstd_rand random(
        static_cast<uint32_t>(noise_ + threads_.fetch_add(1, std::memory_order_relaxed) * 7919));
    switch (random() % 8) {
      case 0:
      case 1:
        sched_yield();
        break;
      case 2:
        Nap(static_cast<int64_t>(random() % 200'000));
        break;
      default:
        break;
    }
  }

  void Act() {
    if (board_) {
      board_->doomed_pid.store(getpid());
      board_->lost.store(action_ == "kill" || action_ == "halt");
      board_->doomed_ns.store(testing::StepBoard::Now());
    }
    if (action_ == "delay") return Nap(20'000'000);
    kill(getpid(), action_ == "kill" ? SIGKILL : SIGSTOP);
  }

  testing::StepBoard* board_ = nullptr;
  std::string rank_, step_, action_;
  int number_ = 0;
  std::atomic<int> comings_{0};
  int log_ = -1;
  uint64_t noise_ = 0;
  std::atomic<uint64_t> threads_{0};
  std::mutex mutex_;
  std::map<std::string, int> seen_;  // guarded by mutex_
};

}  // namespace

void AtStep(const char* name) { Steps::Get().At(name); }

}  // namespace hcclrun
