// The comparison's MPI program, built once per MPI that is installed.
//
// Buffers are plain memory with huge pages where the machine gives them: what MPI programs have.
//
// An MPI's root, or sender, may leave a short message behind and go on, which HCCL does not promise
// and hcclrun does not do. With --meeting the MPI does not either: a send is a synchronous one, and
// an operation with a root is followed by a barrier.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "cells.h"

namespace hcclrun::compare {
namespace {

char* Allocate(size_t bytes) {
  constexpr size_t kHuge = size_t{2} << 20;
  bytes = (bytes + kHuge - 1) / kHuge * kHuge;
  void* p = std::aligned_alloc(kHuge, bytes);
  if (p == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 0, bytes);
  return static_cast<char*>(p);
}

class Mpi : public Side {
 public:
  Mpi(int rank, int size, const Extent& extent, bool meeting)
      : meeting_(meeting),
        rank_(rank),
        size_(size),
        in_(Allocate(extent.in)),
        out_(Allocate(extent.out)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void Run(Op op, size_t bytes, int turn) override {
    const int n = static_cast<int>(bytes), floats = n / 4, root = turn % size_;
    switch (op) {
      case Op::kBarrier:
        MPI_Barrier(world_);
        break;
      case Op::kAllGather:
        MPI_Allgather(in_, n, MPI_BYTE, out_, n, MPI_BYTE, world_);
        break;
      case Op::kAllReduce:
        MPI_Allreduce(in_, out_, floats, MPI_FLOAT, MPI_SUM, world_);
        break;
      case Op::kReduceScatter:
        MPI_Reduce_scatter_block(in_, out_, floats, MPI_FLOAT, MPI_SUM, world_);
        break;
      case Op::kAllToAll:
        MPI_Alltoall(in_, n, MPI_BYTE, out_, n, MPI_BYTE, world_);
        break;
      case Op::kBroadcast:
        MPI_Bcast(rank_ == root ? in_ : out_, n, MPI_BYTE, root, world_);
        break;
      case Op::kReduce:
        MPI_Reduce(in_, out_, floats, MPI_FLOAT, MPI_SUM, root, world_);
        break;
      case Op::kScatter:
        MPI_Scatter(in_, n, MPI_BYTE, out_, n, MPI_BYTE, root, world_);
        break;
      case Op::kSendRecv: {
        const int peer = rank_ ^ 1;
        if (peer >= size_) break;
        if (rank_ % 2 == turn % 2) {
          (meeting_ ? MPI_Ssend : MPI_Send)(in_, n, MPI_BYTE, peer, 0, world_);
        } else {
          MPI_Recv(out_, n, MPI_BYTE, peer, 0, world_, MPI_STATUS_IGNORE);
        }
        break;
      }
    }
    if (meeting_ && HasRoot(op)) MPI_Barrier(world_);
  }

  void Begin(Op op, size_t bytes, int index, int turn) override {
    const int n = static_cast<int>(bytes), floats = n / 4;
    const int root = (turn + index) % size_;
    char* out = out_ + ExtentOf({op, bytes, Mode::kBatch}, size_).out * static_cast<size_t>(index);
    MPI_Request* request = &requests_[begun_++];
    *request = MPI_REQUEST_NULL;
    switch (op) {
      case Op::kBarrier:
        MPI_Ibarrier(world_, request);
        break;
      case Op::kAllGather:
        MPI_Iallgather(in_, n, MPI_BYTE, out, n, MPI_BYTE, world_, request);
        break;
      case Op::kAllReduce:
        MPI_Iallreduce(in_, out, floats, MPI_FLOAT, MPI_SUM, world_, request);
        break;
      case Op::kReduceScatter:
        MPI_Ireduce_scatter_block(in_, out, floats, MPI_FLOAT, MPI_SUM, world_, request);
        break;
      case Op::kAllToAll:
        MPI_Ialltoall(in_, n, MPI_BYTE, out, n, MPI_BYTE, world_, request);
        break;
      case Op::kBroadcast:
        MPI_Ibcast(rank_ == root ? in_ : out, n, MPI_BYTE, root, world_, request);
        break;
      case Op::kReduce:
        MPI_Ireduce(in_, out, floats, MPI_FLOAT, MPI_SUM, root, world_, request);
        break;
      case Op::kScatter:
        MPI_Iscatter(in_, n, MPI_BYTE, out, n, MPI_BYTE, root, world_, request);
        break;
      case Op::kSendRecv: {
        const int peer = rank_ ^ 1;
        if (peer >= size_) break;
        if (rank_ % 2 == turn % 2) {
          (meeting_ ? MPI_Issend : MPI_Isend)(in_, n, MPI_BYTE, peer, 0, world_, request);
        } else {
          MPI_Irecv(out, n, MPI_BYTE, peer, 0, world_, request);
        }
        break;
      }
    }
    if (meeting_ && HasRoot(op)) MPI_Ibarrier(world_, &requests_[begun_++]);
  }

  void Complete() override {
    MPI_Waitall(begun_, requests_, MPI_STATUSES_IGNORE);
    begun_ = 0;
  }

  void Barrier() override { MPI_Barrier(world_); }

  double Max(double mine) override {
    double most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, world_);
    return most;
  }

  void Upload(const void* from, size_t bytes) override { std::memcpy(in_, from, bytes); }
  void Clear(size_t bytes) override { std::memset(out_, 0xff, bytes); }
  void Download(void* to, size_t bytes) override { std::memcpy(to, out_, bytes); }

 private:
  static bool HasRoot(Op op) {
    return op == Op::kBroadcast || op == Op::kReduce || op == Op::kScatter;
  }

  const MPI_Comm world_ = MPI_COMM_WORLD;
  const bool meeting_;
  const int rank_, size_;
  char *in_, *out_;
  MPI_Request requests_[2 * kOutstanding];
  int begun_ = 0;
};

}  // namespace
}  // namespace hcclrun::compare

int main(int argc, char** argv) {
  using namespace hcclrun::compare;
  MPI_Init(&argc, &argv);
  const Options options = Parse(argc, argv);
  options.Refuse("MPI, whose ranks are processes and whose floats are fp32", false);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Mpi side(rank, size, options.Largest(size), options.meeting);
  const int code = RunCells(side, options, size);
  MPI_Finalize();
  return code;
}
