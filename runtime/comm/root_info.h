#pragma once
// The root info: what one process gives to the others so that they find its rendezvous. Everything
// lies in the first kRootInfoUsed bytes of HcclRootInfo; the rest is neither read nor written,
// since callers truncate the blob.

#include <cstdint>
#include <string>

#include "base/fault.h"
#include "shm/job_page.h"

namespace hcclrun {

struct RootInfo {
  uint64_t magic;
  uint32_t layout;  // kLayoutVersion
  uint32_t flags;   // kRootInfoShared
  int32_t pid;      // that serves it, 0 when shared
  uint32_t uid;
  char socket[48];  // abstract name, hex and dots
  char secret[40];  // hex
  char name[72];    // default name of the communicator
};
static_assert(sizeof(RootInfo) <= kRootInfoUsed);

inline constexpr uint64_t kRootInfoMagic = 0x48434c52554e3152;
// Every rank of the job computed it; whoever came first serves it.
inline constexpr uint32_t kRootInfoShared = 1;
// Members computed it from what they have in common, without an exchange; likewise.
inline constexpr uint32_t kRootInfoDerived = 2;

// Makes a root info and starts to serve it (semantics D.1). With hcclrun --shared-root-info the
// n-th call of every rank of the job gives the same bytes.
Result<RootInfo> CreateRootInfo(int32_t device);

// The root info that everybody derives who knows `key`; nobody serves it yet. `key` must not be
// guessable where strangers of the same user are to be kept out, and differ for every communicator.
RootInfo DeriveRootInfo(const std::string& key);
// What members of the communicator that a root info makes know and nobody else: the beginning of
// the keys of communicators that are derived from it.
std::string KeyOf(const RootInfo& info);

// Reads and checks a blob of a caller. kRootInfoInvalid or kBuildMismatch.
Result<RootInfo> ParseRootInfo(const void* blob);

}  // namespace hcclrun
