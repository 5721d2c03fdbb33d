#pragma once
// What the programs of the comparison have in common: the cells (operation, size, mode), how a cell
// is timed, and the lines they print. Every library is driven through a Side, so that all of them
// are timed by the same code. Needs neither hcclrun nor MPI: compiled once for each.
//
// Size means bytes per rank: the buffer of AllReduce, Broadcast and Reduce, the block that a rank
// sends in AllGather, that it receives in ReduceScatter and Scatter, that it exchanges with each
// peer in AlltoAll, the message of send/recv.

#include <cstddef>
#include <string>
#include <vector>

namespace hcclrun::compare {

enum class Op {
  kBarrier,
  kAllGather,
  kAllReduce,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kScatter,
  kSendRecv,  // ranks 2i and 2i + 1 exchange messages; one direction at a time
};
inline constexpr Op kOps[] = {Op::kBarrier,       Op::kAllGather, Op::kAllReduce,
                              Op::kReduceScatter, Op::kAllToAll,  Op::kBroadcast,
                              Op::kReduce,        Op::kScatter,   Op::kSendRecv};
const char* Name(Op op);

// kSync: an operation is complete before the next is called. kBatch: kOutstanding operations are
// called, then completion of all is waited for; they write to different buffers.
enum class Mode { kSync, kBatch };
inline constexpr int kOutstanding = 20;

struct Cell {
  Op op;
  size_t bytes;
  Mode mode;
};

// Bytes a rank reads and writes, the larger of any rank.
struct Extent {
  size_t in, out;
};
Extent ExtentOf(const Cell& cell, int ranks);  // `out` of one operation

struct Options {
  std::vector<Op> ops;
  std::vector<size_t> sizes;
  std::vector<Mode> modes;
  double budget_ms = 30;  // timed part of a cell
  double limit_s = 1e9;   // no further cell after that much time
  bool check = false;
  int ranks = 0;                        // limit program
  bool buffered = false;                // hcclrun
  bool meeting = false;                 // MPI: nobody leaves before the others have come
  int threads = 0;                      // hcclrun: ranks are threads of one process
  std::string type = "fp32";            // hcclrun and limit program; fp16 and bf16 are not checked
  size_t memory = size_t{2} << 30;      // bound on all ranks' buffers; larger cells are left out
  std::vector<Cell> Cells(int ranks) const;
  Extent Largest(int ranks) const;  // `out` for all operations of a batch
  // Of a program that would not do what they say: ends the process with 2 where --buffered or
  // --threads was given, or, unless it knows `types`, a --type.
  void Refuse(const char* whose, bool types) const;
};

// --ops a,b --sizes 8,1M --modes sync,batch --budget-ms X --limit-s X --check --ranks N --buffered
// --meeting --threads N --type T --memory BYTES. Ends the process with 2 on a mistake.
Options Parse(int argc, char** argv);

class Side {
 public:
  virtual ~Side() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;  // processes that run a cell together
  // One operation, complete on return. `turn` counts up from 0: sends and receives change
  // direction with it, and the root goes round (turn + index in a batch), so that a root cannot run
  // ahead of those that wait for it.
  virtual void Run(Op op, size_t bytes, int turn) = 0;
  // Begins operation `index` of a batch; Complete() waits for all.
  virtual void Begin(Op op, size_t bytes, int index, int turn) = 0;
  virtual void Complete() = 0;
  virtual void Barrier() = 0;
  virtual double Max(double mine) = 0;  // over all ranks
  virtual void Upload(const void* from, size_t bytes) = 0;  // to the input
  virtual void Clear(size_t bytes) = 0;                     // the output
  virtual void Download(void* to, size_t bytes) = 0;        // the first output
};

// Runs the cells; rank 0 prints "op,bytes,mode,us" lines, us per operation. Exit code.
int RunCells(Side& side, const Options& options, int ranks);

}  // namespace hcclrun::compare
