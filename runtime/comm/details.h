#pragma once
// Operands of faults that concern several ranks: what each of them called or where it stands.
// check/ makes sentences of them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "comm/control_block.h"
#include "comm/transfer_channel.h"

namespace hcclrun {

// Where a rank stands, copied from its record.
struct RankPosition {
  uint32_t rank;
  int32_t pid;
  RankState state;
  uint32_t call;     // CallId of its last call on this communicator
  uint64_t issued;   // operations called so far
  uint64_t posted;   // operations that its streams reached so far
  uint64_t windows;  // window rounds entered so far
  uint64_t transfers;  // sends and receives called so far
};

inline constexpr uint32_t kNoIndex = 0xffffffff;

// Two numbers of the arrays of a V operation that should be equal, or two rows of a matrix, several
// of whose numbers differ.
struct ArrayDifference {
  struct End {
    uint32_t rank;
    const char* array;     // as the API names it
    uint32_t row, column;  // column: kNoIndex but for an element of a matrix
    uint64_t value;
  };
  End a, b;
  bool has_values = true;
};

// Calls that differ as those of ranks do of which some have left a call out, or made one too many:
// before, operation `first` was like the call of the ranks that are behind, and the next one like
// that of those ahead. `either`: the other way round, too.
struct Shift {
  uint64_t first;
  std::vector<uint32_t> behind, ahead;
  bool either;
};

struct OpDetail : FaultDetail {
  struct Call {
    RankPosition position;
    bool posted;  // the descriptor below is its call of this operation
    Descriptor descriptor;
  };
  std::string communicator;
  uint32_t ranks;
  uint32_t own_rank;
  uint64_t sequence;
  std::vector<Call> calls;  // of the ranks concerned, ascending
  std::optional<ArrayDifference> arrays;  // kMismatch of a V operation
  std::optional<Shift> shift;             // kMismatch, where it looks like that
  // All ranks have the same to tell. kNoRank: this rank is the first that does; else who has. Empty
  // where each tells for itself.
  std::function<uint32_t()> claim_telling;
};

struct WindowDetail : FaultDetail {
  std::function<uint32_t()> claim_telling;  // as in OpDetail
  struct Call {
    RankPosition position;
    bool came;
    WindowEntry entry;
  };
  std::string communicator;
  uint32_t ranks;
  uint32_t own_rank;
  std::vector<Call> calls;
};

// Both sides of one transfer (comm/transfer_channel.h).
struct TransferDetail : FaultDetail {
  struct Side {
    RankPosition position;
    uint64_t called;  // transfers of this direction that the rank has called on the pair so far
    bool posted;      // the call below is its side of this transfer
    TransferCall call;
  };
  std::string communicator;
  uint32_t own_rank;
  uint64_t transfer;  // number on the pair, from 0
  Side sender, receiver;
  std::function<uint32_t()> claim_telling;  // as in OpDetail, of the two ends; of a mismatch
};

RankPosition PositionOf(const ControlView& view, uint32_t rank);

}  // namespace hcclrun
