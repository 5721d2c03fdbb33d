// Copies from one place to many, or past the caches.

#include "collective/kernels_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collective/kernels_copy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "collective/kernels_loop.h"

HWY_BEFORE_NAMESPACE();
namespace hcclrun::kernels {
namespace HWY_NAMESPACE {

// [at, end), a few bytes. Whoever is the source itself may be written like the others.
HWY_INLINE void CopyRest(const CopyArgs& args, uint64_t at, uint64_t end) {
#if HCCLRUN_VECTORS
  const hn::CappedTag<uint8_t, 16> d8;
  for (; end - at >= 16; at += 16) {
    const auto v = hn::LoadU(d8, reinterpret_cast<const uint8_t*>(args.src + at));
    for (size_t d = 0; d < args.ndst; ++d)
      hn::StoreU(v, d8, reinterpret_cast<uint8_t*>(args.dst[d] + at));
  }
#else
  for (; end - at >= 8; at += 8) {
    for (size_t d = 0; d < args.ndst; ++d) CopyPart(args.dst[d] + at, args.src + at, 8);
  }
#endif
  for (size_t d = 0; d < args.ndst; ++d) CopyPart(args.dst[d] + at, args.src + at, end - at);
}

void CopyManyHere(const CopyArgs& args) {
  uint64_t at = 0;
#if HCCLRUN_VECTORS
  using D = hn::ScalableTag<uint8_t>;
  const D d8;
  constexpr size_t kVector = hn::MaxLanes(D());
  const auto* src = reinterpret_cast<const uint8_t*>(args.src);
  if (args.stream) {
    CopyRest(args, 0, args.head);
    at = args.head;
  }
  for (; args.bytes - at >= 4 * kVector; at += 4 * kVector) {
    const auto v0 = hn::LoadU(d8, src + at);
    const auto v1 = hn::LoadU(d8, src + at + kVector);
    const auto v2 = hn::LoadU(d8, src + at + 2 * kVector);
    const auto v3 = hn::LoadU(d8, src + at + 3 * kVector);
    if (args.stream) {
      for (size_t d = 0; d < args.ndst; ++d) {
        auto* q = reinterpret_cast<uint8_t*>(args.dst[d] + at);
        hn::Stream(v0, d8, q);
        hn::Stream(v1, d8, q + kVector);
        hn::Stream(v2, d8, q + 2 * kVector);
        hn::Stream(v3, d8, q + 3 * kVector);
      }
    } else {
      for (size_t d = 0; d < args.ndst; ++d) {
        auto* q = reinterpret_cast<uint8_t*>(args.dst[d] + at);
        hn::StoreU(v0, d8, q);
        hn::StoreU(v1, d8, q + kVector);
        hn::StoreU(v2, d8, q + 2 * kVector);
        hn::StoreU(v3, d8, q + 3 * kVector);
      }
    }
  }
#endif
  CopyRest(args, at, args.bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace hcclrun::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hcclrun::kernels {

HWY_EXPORT(CopyManyHere);

void CopyMany(const CopyArgs& args) { HWY_DYNAMIC_DISPATCH(CopyManyHere)(args); }

}  // namespace hcclrun::kernels
#endif
