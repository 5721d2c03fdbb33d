#pragma once
// The packets of the rendezvous, between each rank (client) and the server in the process that made
// the root info.
//
//   client: Hello + heap descriptor      -> server, once; the server collects and checks all ranks
//   server: Welcome + control descriptor -> every client, then the heaps' descriptors in packets
//                                           of kMaxFdsPerPacket
//   client: Ready                        -> server, when it has mapped everything, or why not
//   server: Go                           -> every client, when all are ready: nobody gets half a
//                                           communicator
// A client of a derived root info (root_info.h) may send Ask at any time before Go; the server
// answers with Arrivals while it collects ranks, and later not at all.
// Any server packet may be a refusal instead. A connection that ends early is a dead rank (or a
// dead server).

#include <cstdint>

#include "base/fault.h"
#include "comm/root_info.h"

namespace hcclrun {

struct Hello {
  uint64_t magic;  // kRootInfoMagic
  uint32_t layout;
  uint32_t ranks;
  uint32_t rank;
  int32_t pid;
  int32_t device;         // physical: the same number is the same device in every process
  uint32_t device_count;  // likewise
  uint64_t heap_uid;
  uint64_t heap_bytes;
  uint64_t stage_a, stage_b, stage_bytes;  // HCCL buffers in the heap
  int64_t connect_timeout_ms;
  uint32_t server;  // of the rank table or of the job: each server has a device 0
  uint32_t superpod;
  char secret[40];
  char logic_superpod[128];  // HCCL_LOGIC_SUPERPOD_ID, empty where a rank table decides
};

// Server -> client; `what` says which. A refusal carries a Fault, arrivals the fault of the ranks
// that are missing.
struct ServerPacket {
  enum What : uint32_t { kWelcome = 1, kHeaps = 2, kGo = 3, kRefused = 4, kArrivals = 5 };
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

// "Who has come?"
struct Ask {
  uint64_t magic;
};

}  // namespace hcclrun
