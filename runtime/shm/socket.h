#pragma once
// Abstract Unix sockets (SOCK_SEQPACKET: packets keep their borders) with descriptors
// attached. Abstract names need no file and vanish with their owner. Peers of another user are
// refused by SO_PEERCRED.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fork_guard.h"

namespace hcclrun {

inline constexpr size_t kMaxFdsPerPacket = 200;  // the kernel's limit is 253

// kSystem with EADDRINUSE when the name is taken.
Result<UniqueFd> ListenAbstract(const std::string& name, int backlog);
// Retries while nobody listens, until the deadline; kRootUnreachable then. `give_up` (may be
// nullptr) is asked between two attempts and ends the wait early.
Result<UniqueFd> ConnectAbstract(const std::string& name, Deadline deadline,
                                 bool (*give_up)() = nullptr);
// Next connection of the same user; an invalid descriptor when the deadline passes.
Result<UniqueFd> AcceptSameUser(int listener, Deadline deadline);

// One packet. Blocks until it is taken or the deadline passes.
Fault SendPacket(int socket, const void* data, size_t size, const std::vector<int>& fds,
                 Deadline deadline);
// One packet of at most `capacity` bytes; returns its size, 0 at end of stream. Received
// descriptors are appended to `fds`. kSystem with ETIMEDOUT when the deadline passes.
Result<size_t> ReceivePacket(int socket, void* data, size_t capacity, std::vector<UniqueFd>* fds,
                             Deadline deadline);

struct PeerCredentials {
  int32_t pid;  // 0 when it lives in a pid namespace that we cannot see
  uint32_t uid;
};
Result<PeerCredentials> PeerOf(int socket);

// 2 * `bytes` hex digits of randomness from the kernel.
std::string RandomHex(size_t bytes);

}  // namespace hcclrun
