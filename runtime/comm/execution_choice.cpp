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

// Bytes moved up to which ranks that outnumber the processors share the work: it saves switches, of
// which there are more the more ranks share a processor. Above they do their own shares, since every
// process that works for all ranks has to fault in, page by page, the memory of all of them. Of
// AllGather, which is nearly all stores to others' memory, that is so from a few MiB on.
constexpr uint64_t kSharedMost = 4 << 20;
constexpr uint64_t kSharedMostByMany = 16 << 20;
constexpr uint32_t kMany = 4;  // ranks of a processor

uint64_t SharedMost(const ControlView& view, Op op) {
  if (!view.header->oversubscribed) return OneThreadMost(*view.header);
  const bool many = view.size >= kMany * view.header->processors;
  return many && op != Op::kAllGather ? kSharedMostByMany : kSharedMost;
}

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
  const uint64_t bytes = BytesMoved(own, view.size);
  if (engine == Engine::kAuto && bytes > SharedMost(view, static_cast<Op>(own.op)))
    return Execution::kEachRank;
  bool window = true, reachable = true;
  for (uint32_t r = 0; r < view.size; r++) {
    const uint8_t flags = view.descriptor(own.sequence, r).flags;
    window = window && (flags & kFlagWindow) && !(flags & kFlagUnsafe);
    const bool staged = (flags & kFlagStaged) || view.size == 1;  // who is alone stages nothing
    reachable = reachable && staged && !(flags & (kFlagPrivateIn | kFlagPrivateOut));
  }
  if (bytes > 0 && !window && !reachable) return Execution::kEachRank;
  return bytes <= OneThreadMost(header) ? Execution::kOneThread : Execution::kAllThreads;
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
