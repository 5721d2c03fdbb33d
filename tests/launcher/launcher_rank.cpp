// A rank for the launcher's tests: attaches through the library's lifeline and behaves as its first
// argument says.

#include <dlfcn.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/call.h"
#include "base/clock.h"
#include "shm/lifeline.h"

namespace hcclrun {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// False after 30 s: the test fails then, it does not hang.
bool Await(const std::function<bool()>& condition) {
  Deadline deadline = Deadline::After(30'000);
  while (!condition()) {
    if (deadline.passed()) return false;
    timespec nap = {0, 1'000'000};
    nanosleep(&nap, nullptr);
  }
  return true;
}

[[noreturn]] void Forever() {
  for (;;) pause();
}

int Run(const char* mode, const char* argument) {
  if (strcmp(mode, "load") == 0 && !dlopen(argument, RTLD_NOW)) return 9;
  JobPage* page = Lifeline::Page();
  if (!page) return 10;
  int rank = Lifeline::Rank();
  uint32_t size = page->ranks;
  RankActivity& mine = page->activity[rank];
  if (strcmp(mode, "fresh") == 0) {  // nothing is left of the rank's program before
    return mine.call.load() || mine.sequence.load() || mine.inside.load() || mine.waiting.load() ||
           mine.another.state.load() || mine.differs.state.load() || mine.calls.load();
  }
  if (strcmp(mode, "usage") == 0) {
    fprintf(stderr, "wrong option\n");
    return 2;
  }
  mine.call.store(static_cast<uint32_t>(CallId::HcclAllReduce), kRelaxed);
  mine.sequence.store(41, kRelaxed);
  mine.inside.store(1, kRelaxed);
  int victim = argument ? atoi(argument) : -1;
  if (victim >= 0 && rank != victim) {
    mine.waiting.store(1, kRelaxed);
    mine.waiting_for.store(victim, kRelaxed);
  }
  mine.calls.store(1, std::memory_order_release);
  auto everybody = [&] {
    for (uint32_t r = 0; r < size; r++) {
      if (page->activity[r].calls.load(std::memory_order_acquire) == 0) return false;
    }
    return true;
  };

  if (strcmp(mode, "page") == 0) {
    printf("%u ranks, %llu MiB\n", size,
           static_cast<unsigned long long>(page->memory_limit_bytes >> 20));
    return 0;
  }
  if (strcmp(mode, "blame") == 0) {
    mine.another.state.store(2, kRelaxed);
    return 1;
  }
  if (strcmp(mode, "hang") == 0 || strcmp(mode, "load") == 0) {
    printf("pid %d\n", getpid());
    fflush(stdout);
    Forever();
  }
  if (strcmp(mode, "kill") == 0 || strcmp(mode, "exit") == 0 || strcmp(mode, "stubborn") == 0) {
    if (!Await(everybody)) return 11;
    if (rank == victim && strcmp(mode, "exit") == 0) exit(3);
    if (rank == victim) raise(SIGKILL);
    if (strcmp(mode, "stubborn") == 0) {
      signal(SIGTERM, SIG_IGN);
      Forever();
    }
    return Await([&] { return page->aborting.load() != 0; }) ? 1 : 12;
  }
  if (strcmp(mode, "account") == 0) {  // the account of a rank that ended is zeroed
    std::atomic<uint64_t>& account = page->committed_bytes[0];
    if (rank == 0) {
      account.store(1 << 20, kRelaxed);
      return Await([&] { return page->activity[1].calls.load(kRelaxed) == 2; }) ? 0 : 13;
    }
    if (!Await([&] { return account.load(kRelaxed) != 0; })) return 14;
    mine.calls.store(2, kRelaxed);
    if (!Await([&] { return account.load(kRelaxed) == 0; })) return 15;
    puts("zeroed");
    return 0;
  }
  return 16;
}

}  // namespace
}  // namespace hcclrun

int main(int argc, char** argv) {
  return argc < 2 ? 17 : hcclrun::Run(argv[1], argc > 2 ? argv[2] : nullptr);
}
