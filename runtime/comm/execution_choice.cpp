#include "comm/execution_choice.h"

#include <algorithm>

#include "base/settings.h"
#include "collective/types.h"

namespace hcclrun {
namespace {

// Bytes moved up to which one thread does all, in a few microseconds; and, when every rank has a
// processor, up to which that is quicker than a barrier.
constexpr uint64_t kOneThreadCrowded = 64 << 10;
constexpr uint64_t kOneThreadSpacious = 48 << 10;

uint64_t OneThreadMost(const ControlHeader& header) {
  return header.oversubscribed ? kOneThreadCrowded : kOneThreadSpacious;
}

// Bytes moved above which ranks do their own shares after all: switches no longer count, while every
// process that works for all ranks has to fault in, page by page, the memory of all of them. Where
// ranks outnumber processors sharing is up to four times quicker below and up to half as quick above.
constexpr uint64_t kSharedMost = 4 << 20;

constexpr uint32_t kExecutors = 32;  // at least so many ranks may execute

}  // namespace

uint64_t BytesMoved(const Descriptor& d, uint32_t ranks) {
  const uint64_t n = ranks;
  uint64_t blocks = 0;
  switch (static_cast<Op>(d.op)) {
    case Op::kAllGather:
    case Op::kReduceScatter:
      blocks = n * (n + 1);
      break;
    case Op::kAllToAll:
      blocks = 2 * n * n;
      break;
    case Op::kAllReduce:
    case Op::kScatter:
      blocks = 2 * n;
      break;
    case Op::kBroadcast:
    case Op::kReduce:
      blocks = n + 1;
      break;
    default:
      break;
  }
  uint64_t bytes;
  if (__builtin_mul_overflow(d.count, ElementSize(static_cast<DataType>(d.dtype)), &bytes) ||
      __builtin_mul_overflow(bytes, blocks, &bytes)) {
    return UINT64_MAX;
  }
  return bytes;
}

Execution ChooseExecution(const ControlView& view, const Descriptor& own) {
  const ControlHeader& header = *view.header;
  const Engine engine = static_cast<Engine>(header.engine);
  if (engine == Engine::kClassic || IsVOperation(static_cast<Op>(own.op)))
    return Execution::kEachRank;
  const bool crowded = header.oversubscribed != 0;
  const uint64_t bytes = BytesMoved(own, view.size);
  const uint64_t one_thread = OneThreadMost(header);
  if (engine == Engine::kAuto && bytes > (crowded ? kSharedMost : one_thread))
    return Execution::kEachRank;
  bool window = true, reachable = true;
  for (uint32_t r = 0; r < view.size; r++) {
    const uint8_t flags = view.descriptor(own.sequence, r).flags;
    window = window && (flags & kFlagWindow) && !(flags & kFlagUnsafe);
    const bool staged = (flags & kFlagStaged) || view.size == 1;  // who is alone stages nothing
    reachable = reachable && staged && !(flags & (kFlagPrivateIn | kFlagPrivateOut));
  }
  if (bytes > 0 && !window && !reachable) return Execution::kEachRank;
  return bytes <= one_thread ? Execution::kOneThread : Execution::kAllThreads;
}

bool MayBeAlone(const ControlView& view, const Descriptor& own) {
  const ControlHeader& header = *view.header;
  return static_cast<Engine>(header.engine) != Engine::kClassic &&
         !IsVOperation(static_cast<Op>(own.op)) &&
         BytesMoved(own, view.size) <= OneThreadMost(header);
}

bool MayExecute(const ControlView& view, uint32_t rank) {
  return rank < std::max(kExecutors, 2 * view.header->processors);
}

}  // namespace hcclrun
