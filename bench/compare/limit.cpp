// What the machine itself can do: the pieces of an operation's window plan, executed by as many
// processes as there are processors, which say nothing to each other between the barriers at the
// ends of the timed part. Prints the same lines as the others, each size twice, with ordinary and
// with streaming stores; the better one is the limit. First two lines about yielding:
// "yield_switch" is the time from one process to another by sched_yield() on one processor.
//
//   compare_limit --ranks N [options of cells.h]

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cells.h"
#include "collective/executor.h"
#include "collective/kernels.h"
#include "shm/processors.h"

namespace hcclrun::compare {
namespace {

char* Shared(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return static_cast<char*>(p);
}

// Zero-filled, shared by all processes. Barrier: the last of a generation opens the next; everybody
// else yields. Values: written before a barrier, read after it.
struct Meeting {
  static constexpr int kMost = 1024;
  std::atomic<int> arrived;
  std::atomic<int> generation;
  double values[kMost];

  void Wait(int processes) {
    const int before = generation.load();
    if (arrived.fetch_add(1) + 1 == processes) {
      arrived.store(0);
      generation.store(before + 1);
      return;
    }
    while (generation.load() == before) sched_yield();
  }
};

hcclrun::Op PlanOp(Op op) {
  switch (op) {
    case Op::kAllGather:
      return hcclrun::Op::kAllGather;
    case Op::kReduceScatter:
      return hcclrun::Op::kReduceScatter;
    case Op::kAllReduce:
      return hcclrun::Op::kAllReduce;
    case Op::kAllToAll:
      return hcclrun::Op::kAllToAll;
    case Op::kBroadcast:
      return hcclrun::Op::kBroadcast;
    case Op::kReduce:
      return hcclrun::Op::kReduce;
    case Op::kScatter:
      return hcclrun::Op::kScatter;
    case Op::kBarrier:
    case Op::kSendRecv:
      break;
  }
  return hcclrun::Op::kBarrier;
}

class Limit : public Side {
 public:
  Limit(Meeting* meeting, int process, int processes, int ranks, DataType type,
        const Operands& operands)
      : meeting_(meeting),
        process_(process),
        processes_(processes),
        ranks_(ranks),
        operands_(operands) {
    run_.dtype = type;
    run_.operands = &operands_;
  }
  void set_streaming(bool on) { run_.streaming = on; }

  int rank() const override { return process_; }
  int size() const override { return processes_; }

  void Run(Op op, size_t bytes, int turn) override {
    if (op == Op::kSendRecv) return Messages(bytes, turn);
    OpShape shape;
    shape.op = PlanOp(op);
    shape.ranks = static_cast<uint32_t>(ranks_);
    shape.root = static_cast<uint32_t>(turn % ranks_);
    shape.elem = ElementSize(run_.dtype);
    shape.count = bytes / shape.elem;
    shape.split = static_cast<uint32_t>((processes_ + ranks_ - 1) / ranks_);
    run_.shape = shape;
    char*& roots_output = operands_.out[shape.root];
    char* const apart = roots_output;
    if (op == Op::kBroadcast)  // has one buffer: nothing is copied on the root
      roots_output = operands_.in[shape.root];
    const Plan plan(shape);
    const uint64_t pieces = plan.PiecesPerRank(0) * shape.ranks;
    const auto first = [&](int p) {
      return pieces * static_cast<uint64_t>(p) / static_cast<uint64_t>(processes_);
    };
    for (uint64_t i = first(process_); i < first(process_ + 1); i++)
      ExecutePiece(run_, plan.At(0, i));
    roots_output = apart;
  }

  void Begin(Op op, size_t bytes, int, int turn) override { Run(op, bytes, turn); }
  void Complete() override {}
  void Barrier() override { meeting_->Wait(processes_); }

  double Max(double mine) override {
    meeting_->values[process_] = mine;
    Barrier();
    const double most =
        *std::max_element(meeting_->values, meeting_->values + processes_);
    Barrier();
    return most;
  }

  void Upload(const void*, size_t) override {}
  void Clear(size_t) override {}
  void Download(void*, size_t) override {}

 private:
  // One message for every pair of ranks, in equal parts if there are fewer pairs than processes.
  void Messages(size_t bytes, int turn) {
    const size_t pairs = static_cast<size_t>(ranks_) / 2, processes = static_cast<size_t>(processes_);
    const size_t parts = (processes + pairs - 1) / pairs;
    const size_t all = pairs * parts, me = static_cast<size_t>(process_);
    for (size_t i = all * me / processes; i < all * (me + 1) / processes; i++) {
      const size_t sender = i / parts * 2 + static_cast<size_t>(turn % 2), part = i % parts;
      const size_t begin = bytes * part / parts / 64 * 64;
      const size_t end = part + 1 == parts ? bytes : bytes * (part + 1) / parts / 64 * 64;
      char* to = operands_.out[sender ^ 1] + begin;
      CopyBytes(&to, 1, operands_.in[sender] + begin, end - begin, run_.streaming);
    }
  }

  Meeting* meeting_;
  const int process_, processes_, ranks_;
  Operands operands_;
  OpRun run_;
};

// Two processes on one processor yield to each other.
void MeasureYield() {
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  auto* turns = reinterpret_cast<std::atomic<int>*>(Shared(4096));
  constexpr int kTurns = 20000;
  const auto play = [turns](int me) {
    while (turns->load() < kTurns) {
      if (turns->load() % 2 == me) turns->fetch_add(1);
      sched_yield();
    }
  };
  const pid_t child = fork();
  if (child == 0) {
    play(1);
    _exit(0);
  }
  const auto begin = std::chrono::steady_clock::now();
  play(0);
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
  waitpid(child, nullptr, 0);
  sched_setaffinity(0, sizeof before, &before);
  std::printf("yield_switch,0,sync,%.4f\n", us.count() / kTurns);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Options options = Parse(argc, argv);
  options.Refuse("the limit", true);
  if (options.ranks < 2) {
    std::fprintf(stderr, "--ranks N, at least 2\n");
    return 2;
  }
  options.modes = {Mode::kSync};
  options.ops.erase(std::remove(options.ops.begin(), options.ops.end(), Op::kBarrier),
                    options.ops.end());
  const int processes = static_cast<int>(std::min(ProcessorCount(), 1024u));
  MeasureYield();

  const Extent extent = options.Largest(options.ranks);
  Operands operands;
  for (int r = 0; r < options.ranks; r++) {
    operands.in.push_back(Shared(extent.in));
    operands.out.push_back(Shared(extent.out));
    std::memset(operands.in.back(), 0, extent.in);
    std::memset(operands.out.back(), 0, extent.out);
  }
  auto* meeting = reinterpret_cast<Meeting*>(Shared(sizeof(Meeting)));
  int process = 0;
  for (int p = 1; p < processes && process == 0; p++) {
    if (fork() == 0) process = p;
  }
  const DataType type = options.type == "fp16"   ? DataType::kFp16
                        : options.type == "bf16" ? DataType::kBf16
                                                 : DataType::kFp32;
  Limit side(meeting, process, processes, options.ranks, type, operands);
  for (const bool streaming : {false, true}) {
    side.set_streaming(streaming);
    RunCells(side, options, options.ranks);
  }
  if (process != 0) _exit(0);
  while (wait(nullptr) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace hcclrun::compare

int main(int argc, char** argv) { return hcclrun::compare::Main(argc, argv); }
