#pragma once
// Operands of faults that concern several ranks: what each of them called or where it stands.
// check/ makes sentences of them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fault.h"
#include "comm/control_block.h"

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
};

struct WindowDetail : FaultDetail {
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

RankPosition PositionOf(const ControlView& view, uint32_t rank);

}  // namespace hcclrun
