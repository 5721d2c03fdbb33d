#include "comm/root_info.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/job.h"
#include "comm/control_block.h"
#include "comm/rendezvous_server.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

// FNV-1a: the same in every process, unlike absl::Hash. Only to make the socket's name unguessable
// without the job's secret; what protects the rendezvous is the secret itself.
uint64_t StableHash(const std::string& text) {
  uint64_t h = 14695981039346656037u;
  for (unsigned char c : text) h = (h ^ c) * 1099511628211u;
  return h;
}

void Put(char* field, size_t size, const std::string& text) {
  memset(field, 0, size);
  memcpy(field, text.data(), std::min(size - 1, text.size()));
}

bool IsText(const char* field, size_t size) {
  return memchr(field, 0, size) != nullptr && field[0] != 0;
}

// 128 bits, for keys that differ in any byte.
std::string Digest(const std::string& text) {
  const uint64_t a = StableHash(text);
  return absl::StrFormat("%016x%016x", a, StableHash(absl::StrCat(text, "#", a)));
}

}  // namespace

RootInfo DeriveRootInfo(const std::string& key) {
  RootInfo info;
  memset(&info, 0, sizeof info);
  info.magic = kRootInfoMagic;
  info.layout = kLayoutVersion;
  info.uid = geteuid();
  info.flags = kRootInfoDerived;
  Put(info.socket, sizeof info.socket,
      absl::StrCat("hcclrun.", Digest(absl::StrCat("socket ", info.uid, " ", key))));
  Put(info.secret, sizeof info.secret, Digest(absl::StrCat("secret ", info.uid, " ", key)));
  return info;
}

std::string KeyOf(const RootInfo& info) { return absl::StrCat(info.socket, " ", info.secret); }

Result<RootInfo> CreateRootInfo(int32_t device) {
  static std::atomic<uint64_t> calls{0};
  const uint64_t n = calls.fetch_add(1, std::memory_order_relaxed);
  const Job& job = Job::Get();
  const bool shared = job.shared_root_info() && job.launched();

  RootInfo info;
  memset(&info, 0, sizeof info);
  info.magic = kRootInfoMagic;
  info.layout = kLayoutVersion;
  info.uid = geteuid();
  if (shared) {
    info.flags = kRootInfoShared;
    std::string tag = absl::StrCat(job.secret(), ".", n);
    Put(info.socket, sizeof info.socket, absl::StrFormat("hcclrun.%016x%08x", StableHash(tag), n));
    Put(info.secret, sizeof info.secret, job.secret());
    Put(info.name, sizeof info.name,
        absl::StrFormat("127.0.0.1%%hcclrun_60000_0_%s.%d", job.id(), n));
  } else {
    info.pid = getpid();
    Put(info.socket, sizeof info.socket, absl::StrCat("hcclrun.", RandomHex(16)));
    Put(info.secret, sizeof info.secret, RandomHex(16));
    Put(info.name, sizeof info.name,
        absl::StrFormat("127.0.0.1%%hcclrun_60000_%d_%d.%d.%d", device, getpid(), NowNs() / 1000,
                        n));
  }
  Result<UniqueFd> listener = ListenAbstract(info.socket, static_cast<int>(kMaxRanks));
  if (listener.ok()) {
    if (Fault f = ServeRendezvous(std::move(*listener), info)) return f;
  } else if (!shared || listener.fault().n[0] != EADDRINUSE) {
    return listener.fault();  // when shared, another rank of the job serves it already
  }
  return info;
}

Result<RootInfo> ParseRootInfo(const void* blob) {
  RootInfo info;
  memcpy(&info, blob, sizeof info);
  if (info.magic != kRootInfoMagic)
    return Fault(FaultKind::kRootInfoInvalid, "it does not come from HcclGetRootInfo");
  if (info.layout != kLayoutVersion)
    return Fault(FaultKind::kBuildMismatch, {kLayoutVersion, info.layout});
  if (!IsText(info.socket, sizeof info.socket) || !IsText(info.secret, sizeof info.secret) ||
      !IsText(info.name, sizeof info.name)) {
    return Fault(FaultKind::kRootInfoInvalid, "it is damaged");
  }
  if (info.uid != geteuid())
    return Fault(FaultKind::kRootInfoInvalid, "it belongs to another user");
  return info;
}

}  // namespace hcclrun
