#pragma once
// The packets of the rendezvous, between each rank (client) and the server in the process that made
// the root info.
//
//   client: Hello + heap descriptor      -> server, once; the server collects all ranks and checks
//   them server: Welcome + control descriptor -> every client, then heap descriptors in packets of
//   kMaxFdsPerPacket client: Ready                        -> server, when it has mapped everything
//   (or why not) server: Go                           -> every client, when all are ready: nobody
//   gets half a communicator
// Any server packet may be a refusal instead. A connection that ends early is a dead rank (or a
// dead server).

#include <cstdint>
#include <string>
#include <vector>

#include "base/fault.h"
#include "comm/root_info.h"

namespace hcclrun {

struct Hello {
  uint64_t magic;  // kRootInfoMagic
  uint32_t layout;
  uint32_t ranks;
  uint32_t rank;
  int32_t pid;
  int32_t device;
  uint32_t device_count;
  uint64_t heap_uid;
  uint64_t heap_bytes;
  uint64_t stage_a, stage_b, stage_bytes;  // HCCL buffers in the heap
  int64_t connect_timeout_ms;
  char secret[40];
};

// Server -> client; `what` says which. A refusal carries a Fault.
struct ServerPacket {
  enum What : uint32_t { kWelcome = 1, kHeaps = 2, kGo = 3, kRefused = 4 };
  uint64_t magic;
  uint32_t what;
  uint32_t fault_kind;
  uint64_t operands[6];
  uint32_t ranks;
  uint32_t first_rank;  // kHeaps: rank of the first attached descriptor
  uint64_t control_bytes;
  char text[1024];
};

struct Ready {
  uint64_t magic;
  uint32_t ok;
  uint32_t fault_kind;
  uint64_t operands[6];
  char text[256];
};

// "0-2,4" for sorted ranks.
std::string RankList(const std::vector<uint32_t>& ranks);

}  // namespace hcclrun
