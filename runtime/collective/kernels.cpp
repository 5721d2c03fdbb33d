#include "collective/kernels.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "collective/float_environment.h"
#include "collective/kernels_args.h"

namespace hcclrun {
namespace {

constexpr uint64_t kLine = 64;

// Bytes from the destinations to the next line boundary, the same for all of them; kLine if they
// differ or a boundary is not an element's.
template <class Pointer>
uint64_t CommonHead(Pointer const* dst, size_t ndst, uint32_t elem) {
  const uint64_t phase = reinterpret_cast<uintptr_t>(dst[0]) % kLine;
  for (size_t i = 1; i < ndst; ++i) {
    if (reinterpret_cast<uintptr_t>(dst[i]) % kLine != phase) return kLine;
  }
  const uint64_t head = (kLine - phase) % kLine;
  return head % elem == 0 ? head : kLine;
}

template <class Args, class Pointer>
void SetStreaming(Args& args, Pointer const* dst, uint32_t elem, bool wanted) {
  args.head = wanted ? CommonHead(dst, args.ndst, elem) : kLine;
  args.stream = args.head < kLine && args.head < args.bytes;
}

}  // namespace

void CopyBytes(char* const* dst, int ndst, const char* src, uint64_t n, bool streaming) {
  if (n == 0) return;
  if (ndst == 1 && (!streaming || dst[0] == src)) {
    if (dst[0] != src) std::memmove(dst[0], src, n);  // a program's buffers may overlap
    return;
  }
  kernels::CopyArgs args{dst, static_cast<size_t>(ndst), src, n, false, 0};
  SetStreaming(args, dst, 1, streaming);
  kernels::CopyMany(args);
  if (args.stream) hwy::FlushStream();
}

void Reduce(DataType type, ReduceOp op, void* const* dst, int ndst, const void* const* src,
            int nsrc, uint64_t count, bool streaming, Accumulator accumulator) {
  assert(ReductionSupported(type, op) && nsrc >= 1 && ndst >= 1);
  const uint32_t elem = ElementSize(type);
  if (count == 0) return;
  if (nsrc == 1) {
    constexpr int kBatch = 64;
    char* batch[kBatch];
    for (int first = 0; first < ndst; first += kBatch) {
      const int n = std::min(kBatch, ndst - first);
      for (int i = 0; i < n; ++i) batch[i] = static_cast<char*>(dst[first + i]);
      CopyBytes(batch, n, static_cast<const char*>(src[0]), count * elem, streaming);
    }
    return;
  }
  kernels::ReduceArgs args{
      dst, static_cast<size_t>(ndst), src, static_cast<size_t>(nsrc), count * elem, false, 0};
  SetStreaming(args, dst, elem, streaming);
  const bool extremum = op == ReduceOp::kMax || op == ReduceOp::kMin;
  if (type == DataType::kFp32 || type == DataType::kFp16 || type == DataType::kBf16) {
    if (extremum) {
      kernels::ReduceFloatExtrema(type, op, args);
    } else {
      const kernels::DefaultFloatEnvironment environment;
      kernels::ReduceFloatSums(type, op, accumulator, args);
    }
  } else {
    kernels::ReduceIntegers(type, op, args);
  }
  if (args.stream) hwy::FlushStream();
}

}  // namespace hcclrun
