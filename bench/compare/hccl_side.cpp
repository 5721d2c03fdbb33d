// The comparison's hcclrun program: the public C API, buffers in symmetric windows (or plain device
// memory with --buffered), every check of the default mode on.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <thread>
#include <vector>

#include "../buffers.h"
#include "../session.h"
#include "cells.h"
#include "hcclrun/bootstrap.h"

namespace hcclrun::compare {
namespace {

using bench::Buffer;
using bench::Path;
using bench::Session;

class Hccl : public Side {
 public:
  Hccl(Session* session, const Extent& extent, Path path, HcclDataType type)
      : session_(*session),
        in_(*session, extent.in, path),
        out_(*session, extent.out, path),
        comm_(session->comm()),
        stream_(session->stream()),
        type_(type) {
    in_.Upload(std::vector<char>(in_.bytes()).data(), in_.bytes());
    Clear(out_.bytes());
  }

  int rank() const override { return static_cast<int>(session_.rank()); }
  int size() const override { return static_cast<int>(session_.size()); }

  void Run(Op op, size_t bytes, int turn) override {
    Begin(op, bytes, 0, turn);
    Complete();
  }

  void Begin(Op op, size_t bytes, int index, int turn) override {
    const uint64_t n = bytes / (type_ == HCCL_DATA_TYPE_FP32 ? 4 : 2);
    const uint32_t root = static_cast<uint32_t>(turn + index) % session_.size();
    void* in = in_.data();
    char* out = static_cast<char*>(out_.data()) +
                ExtentOf({op, bytes, Mode::kBatch}, size()).out * static_cast<size_t>(index);
    switch (op) {
      case Op::kBarrier:
        return BENCH_CHECK(HcclBarrier(comm_, stream_));
      case Op::kAllGather:
        return BENCH_CHECK(HcclAllGather(in, out, n, type_, comm_, stream_));
      case Op::kAllReduce:
        return BENCH_CHECK(HcclAllReduce(in, out, n, type_, HCCL_REDUCE_SUM, comm_, stream_));
      case Op::kReduceScatter:
        return BENCH_CHECK(HcclReduceScatter(in, out, n, type_, HCCL_REDUCE_SUM, comm_, stream_));
      case Op::kAllToAll:
        return BENCH_CHECK(HcclAlltoAll(in, n, type_, out, n, type_, comm_, stream_));
      case Op::kBroadcast:
        return BENCH_CHECK(HcclBroadcast(session_.rank() == root ? in : out, n, type_, root, comm_, stream_));
      case Op::kReduce:
        return BENCH_CHECK(HcclReduce(in, out, n, type_, HCCL_REDUCE_SUM, root, comm_, stream_));
      case Op::kScatter:
        return BENCH_CHECK(HcclScatter(in, out, n, type_, root, comm_, stream_));
      case Op::kSendRecv: {
        const int peer = rank() ^ 1;
        if (peer >= size()) return;
        if (rank() % 2 == turn % 2)
          return BENCH_CHECK(
              HcclSend(in, n, type_, static_cast<uint32_t>(peer), comm_, stream_));
        return BENCH_CHECK(HcclRecv(out, n, type_, static_cast<uint32_t>(peer), comm_, stream_));
      }
    }
  }

  void Complete() override { BENCH_CHECK(aclrtSynchronizeStream(stream_)); }

  void Barrier() override {
    BENCH_CHECK(HcclBarrier(comm_, stream_));
    Complete();
  }

  double Max(double mine) override {
    return static_cast<double>(
               session_.Worst({0, static_cast<int64_t>(mine * 1e9)}).nanoseconds) *
           1e-9;
  }

  void Upload(const void* from, size_t bytes) override { in_.Upload(from, bytes); }
  void Clear(size_t bytes) override { out_.Poison(bytes); }
  void Download(void* to, size_t bytes) override { out_.Download(to, bytes); }

 private:
  Session& session_;
  Buffer in_, out_;
  HcclComm comm_;
  aclrtStream stream_;
  const HcclDataType type_;
};

int RunRank(Session* session, const Extent& extent, const Options& options) {
  const HcclDataType type = options.type == "fp16"   ? HCCL_DATA_TYPE_FP16
                            : options.type == "bf16" ? HCCL_DATA_TYPE_BFP16
                                                     : HCCL_DATA_TYPE_FP32;
  Hccl side(session, extent, options.buffered ? Path::kBuffered : Path::kWindow, type);
  return RunCells(side, options, side.size());
}

// Every rank a thread, with a device of its own.
int RunThreads(const Options& options, const Extent& extent, uint64_t window_bytes) {
  BENCH_CHECK(aclInit(nullptr));
  std::promise<HcclRootInfo> given;
  const std::shared_future<HcclRootInfo> root_info = given.get_future().share();
  const auto size = static_cast<uint32_t>(options.threads);
  std::atomic<int> code = 0;
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; rank++) {
    threads.emplace_back([&, rank] {
      const auto share = [&](HcclRootInfo* info) {
        if (rank == 0) given.set_value(*info);
        *info = root_info.get();
      };
      Session session(window_bytes, rank, size, share);
      if (RunRank(&session, extent, options) != 0) code = 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  BENCH_CHECK(aclFinalize());
  return code;
}

int Main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  const Extent extent = options.Largest(options.threads ? options.threads : hcclrunSize());
  const uint64_t window_bytes = extent.in + extent.out + (size_t{8} << 20);
  if (options.threads) return RunThreads(options, extent, window_bytes);
  Session session(window_bytes, 0);
  return RunRank(&session, extent, options);
}

}  // namespace
}  // namespace hcclrun::compare

int main(int argc, char** argv) { return hcclrun::compare::Main(argc, argv); }
