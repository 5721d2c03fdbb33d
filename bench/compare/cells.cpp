#include "cells.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hcclrun::compare {
namespace {

constexpr const char* kNames[] = {"barrier",   "allgather", "allreduce", "reducescatter", "alltoall",
                                  "broadcast", "reduce",    "scatter",   "sendrecv"};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void Bad(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(2);
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

size_t Bytes(const std::string& text) {
  char* end;
  size_t bytes = std::strtoull(text.c_str(), &end, 10);
  if (*end == 'K') bytes <<= 10, end++;
  if (*end == 'M') bytes <<= 20, end++;
  if (*end == 'G') bytes <<= 30, end++;
  if (*end || bytes == 0) Bad("not a size: " + text);
  return (bytes + 3) / 4 * 4;
}

// Element i of rank r's input: small whole numbers, so that sums are exact in any order.
float InputOf(int rank, size_t i) { return static_cast<float>((i * 3 + i / 1009 + rank * 7) % 61); }

void FillBlock(float* to, int rank, size_t first, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = InputOf(rank, first + i);
}

// What `rank` must find in its output; empty when it receives nothing.
std::vector<float> Expected(Op op, size_t n, int rank, int ranks) {
  std::vector<float> out;
  const auto sum = [&](size_t first) {
    out.assign(n, 0.0F);
    for (int r = 0; r < ranks; r++) {
      for (size_t i = 0; i < n; i++) out[i] += InputOf(r, first + i);
    }
  };
  const auto block = [&](int of, size_t first) {
    out.resize(out.size() + n);
    FillBlock(out.data() + out.size() - n, of, first, n);
  };
  switch (op) {
    case Op::kBarrier:
      break;
    case Op::kAllGather:
      for (int r = 0; r < ranks; r++) block(r, 0);
      break;
    case Op::kAllToAll:
      for (int r = 0; r < ranks; r++) block(r, rank * n);
      break;
    case Op::kAllReduce:
      sum(0);
      break;
    case Op::kReduce:
      if (rank == 0) sum(0);
      break;
    case Op::kReduceScatter:
      sum(rank * n);
      break;
    case Op::kBroadcast:
      if (rank != 0) block(0, 0);
      break;
    case Op::kScatter:
      block(0, rank * n);
      break;
    case Op::kSendRecv:  // turn 0: even ranks send
      if (rank % 2 == 1) block(rank - 1, 0);
      break;
  }
  return out;
}

class Runner {
 public:
  Runner(Side& side, const Options& options, int ranks)
      : side_(side), options_(options), ranks_(ranks) {}

  double Measure(const Cell& cell) {
    const double budget = options_.budget_ms * 1e-3;
    double once = Timed(cell, 1);
    if (once < budget) once = Timed(cell, Clamp(budget / 8 / once, 5));
    if (once < budget / 20) once = Timed(cell, Clamp(budget / 8 / once, 50));
    constexpr int kRepeats = 3;
    const int times = Clamp(budget / kRepeats / once, 20000);
    double result[kRepeats];
    for (double& r : result) r = Timed(cell, times);
    std::sort(result, result + kRepeats);
    return result[kRepeats / 2] * 1e6 / (cell.mode == Mode::kBatch ? kOutstanding : 1);
  }

  // False if this rank found something wrong.
  bool Check(const Cell& cell) {
    const Extent extent = ExtentOf(cell, ranks_);
    std::vector<float> in(extent.in / sizeof(float)), out;
    FillBlock(in.data(), side_.rank(), 0, in.size());
    if (extent.in) side_.Upload(in.data(), extent.in);
    if (extent.out && cell.op != Op::kBroadcast) side_.Clear(extent.out);
    side_.Barrier();
    if (cell.mode == Mode::kBatch) {
      side_.Begin(cell.op, cell.bytes, 0, 0);
      side_.Complete();
    } else {
      side_.Run(cell.op, cell.bytes, 0);
    }
    const std::vector<float> expected =
        Expected(cell.op, cell.bytes / sizeof(float), side_.rank(), ranks_);
    out.resize(expected.size());
    if (!out.empty()) side_.Download(out.data(), out.size() * sizeof(float));
    for (size_t i = 0; i < out.size(); i++) {
      if (out[i] == expected[i]) continue;
      std::fprintf(stderr, "rank %d: %s of %zu bytes: element %zu is %g instead of %g\n",
                   side_.rank(), Name(cell.op), cell.bytes, i, out[i], expected[i]);
      return false;
    }
    return true;
  }

 private:
  static int Clamp(double times, int most) {
    return std::max(1, std::min(most, static_cast<int>(times)));
  }

  // Seconds per run, of the slowest rank; the same on all ranks.
  double Timed(const Cell& cell, int times) {
    side_.Barrier();
    const double begin = Now();
    for (int t = 0; t < times; t++) {
      if (cell.mode == Mode::kSync) {
        side_.Run(cell.op, cell.bytes, t);
      } else {
        for (int i = 0; i < kOutstanding; i++) side_.Begin(cell.op, cell.bytes, i, t);
        side_.Complete();
      }
    }
    return std::max(1e-9, side_.Max(Now() - begin)) / times;
  }

  Side& side_;
  const Options& options_;
  const int ranks_;
};

}  // namespace

const char* Name(Op op) { return kNames[static_cast<int>(op)]; }

Extent ExtentOf(const Cell& cell, int ranks) {
  const size_t one = cell.bytes, all = cell.bytes * static_cast<size_t>(ranks);
  switch (cell.op) {
    case Op::kBarrier:
      return {0, 0};
    case Op::kAllGather:
      return {one, all};
    case Op::kReduceScatter:
    case Op::kScatter:
      return {all, one};
    case Op::kAllToAll:
      return {all, all};
    default:
      return {one, one};
  }
}

std::vector<Cell> Options::Cells(int for_ranks) const {
  std::vector<Cell> cells;
  for (Op op : ops) {
    for (Mode mode : modes) {
      for (size_t bytes : sizes) {
        const Cell cell = {op, bytes, mode};
        const Extent extent = ExtentOf(cell, for_ranks);
        const size_t out = extent.out * (mode == Mode::kBatch ? kOutstanding : 1);
        if ((extent.in + out) * static_cast<size_t>(for_ranks) > memory) continue;
        cells.push_back(cell);
        if (op == Op::kBarrier) {
          cells.back().bytes = 0;
          break;
        }
      }
    }
  }
  return cells;
}

Extent Options::Largest(int for_ranks) const {
  Extent most = {64, 64};
  for (const Cell& cell : Cells(for_ranks)) {
    const Extent extent = ExtentOf(cell, for_ranks);
    most.in = std::max(most.in, extent.in);
    most.out = std::max(most.out, extent.out * (cell.mode == Mode::kBatch ? kOutstanding : 1));
  }
  return most;
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--check") {
      options.check = true;
      continue;
    }
    if (name == "--buffered") {
      options.buffered = true;
      continue;
    }
    if (name == "--meeting") {
      options.meeting = true;
      continue;
    }
    if (i + 1 == argc) Bad("unknown option, or one without its value: " + name);
    const std::string value = argv[++i];
    if (name == "--ops") {
      for (const std::string& text : Split(value)) {
        const auto found = std::find_if(std::begin(kOps), std::end(kOps),
                                        [&](Op op) { return text == Name(op); });
        if (found == std::end(kOps)) Bad("unknown operation: " + text);
        options.ops.push_back(*found);
      }
    } else if (name == "--sizes") {
      for (const std::string& text : Split(value)) options.sizes.push_back(Bytes(text));
    } else if (name == "--modes") {
      for (const std::string& text : Split(value)) {
        if (text != "sync" && text != "batch") Bad("a mode is sync or batch, not " + text);
        options.modes.push_back(text == "sync" ? Mode::kSync : Mode::kBatch);
      }
    } else if (name == "--budget-ms") {
      options.budget_ms = std::atof(value.c_str());
    } else if (name == "--limit-s") {
      options.limit_s = std::atof(value.c_str());
    } else if (name == "--ranks") {
      options.ranks = std::atoi(value.c_str());
    } else if (name == "--threads") {
      options.threads = std::atoi(value.c_str());
    } else if (name == "--type") {
      if (value != "fp32" && value != "fp16" && value != "bf16")
        Bad("a type is fp32, fp16 or bf16, not " + value);
      options.type = value;
    } else if (name == "--memory") {
      options.memory = Bytes(value);
    } else {
      Bad("unknown option: " + name);
    }
  }
  if (options.check && options.type != "fp32") Bad("--check knows the results of fp32 alone");
  if (options.ops.empty()) options.ops.assign(std::begin(kOps), std::end(kOps));
  if (options.sizes.empty()) options.sizes = {8, 1024, 16 << 10, 1 << 20};
  if (options.modes.empty()) options.modes = {Mode::kSync, Mode::kBatch};
  return options;
}

void Options::Refuse(const char* whose, bool types) const {
  const std::string rest = std::string(" is not for ") + whose;
  if (buffered) Bad("--buffered" + rest);
  if (threads) Bad("--threads" + rest);
  if (!types && type != "fp32") Bad("--type " + type + rest);
}

int RunCells(Side& side, const Options& options, int ranks) {
  const double begin = Now();
  Runner runner(side, options, ranks);
  bool right = true;
  for (const Cell& cell : options.Cells(ranks)) {
    const double us = runner.Measure(cell);
    if (options.check) right = runner.Check(cell) && right;
    if (side.rank() == 0) {
      std::printf("%s,%zu,%s,%.4f\n", Name(cell.op), cell.bytes,
                  cell.mode == Mode::kSync ? "sync" : "batch", us);
      std::fflush(stdout);
    }
    if (side.Max(Now() - begin) > options.limit_s) break;
  }
  return side.Max(right ? 0 : 1) == 0 ? 0 : 1;
}

}  // namespace hcclrun::compare
