#include "launcher/hardware_paths.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace hcclrun {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

}  // namespace

HardwarePath PathByThresholds(Op op, uint64_t bytes, uint32_t ranks, uint32_t servers,
                              uint64_t stage_bytes) {
  const uint64_t devices = ranks / std::max<uint32_t>(servers, 1);
  const bool one = servers <= 1, many = devices > 2;
  auto rings = [](bool large) { return large ? HardwarePath::kWindow : HardwarePath::kDepends; };
  switch (op) {
    case Op::kAllGather:
      if (many && (one                ? bytes <= 512 * kKiB && bytes * ranks <= stage_bytes
                   : devices % 4 == 0 ? bytes * servers <= kMiB
                                      : bytes * servers <= 512 * kKiB))
        return HardwarePath::kBuffered;
      return rings(bytes * devices > 16 * kMiB);
    case Op::kReduceScatter:
      if (many && (one                          ? bytes <= kMiB
                   : (ranks & (ranks - 1)) == 0 ? bytes * servers <= 2 * kMiB
                                                : bytes <= 256 * kKiB))
        return HardwarePath::kBuffered;
      return rings(bytes * devices > 16 * kMiB);
    case Op::kAllReduce:
      if (many &&
          (one ? bytes <= 512 * kKiB * ranks && bytes <= stage_bytes / 4 : bytes <= kMiB * devices))
        return HardwarePath::kBuffered;
      return rings(bytes > 16 * kMiB * servers);
    case Op::kAllToAll:
      return HardwarePath::kWindow;
    default:
      return HardwarePath::kBuffered;
  }
}

bool Eligible(const RankHistory& rank, const RecordedCall& call) {
  return call.uses_windows() && !absl::StartsWith(rank.reason(call), "item ");
}

HardwarePath OnHardware(const RankHistory& rank, const RecordedCall& call) {
  const RecordedCommunicator* c = rank.communicator(call.comm);
  const uint64_t bytes = call.count * ElementSize(static_cast<DataType>(call.dtype));
  return c ? PathByThresholds(static_cast<Op>(call.op), bytes, c->size, c->servers, c->stage_bytes)
           : HardwarePath::kDepends;
}

}  // namespace hcclrun
