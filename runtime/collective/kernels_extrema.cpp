// max and min of floating-point elements, as integers: see the formats in kernels_scalar.h.

#include "collective/kernels_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collective/kernels_extrema.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "collective/kernels_loop.h"
#include "collective/kernels_scalar.h"

HWY_BEFORE_NAMESPACE();
namespace hcclrun::kernels {
namespace HWY_NAMESPACE {

#if HCCLRUN_VECTORS

template <class D, class Format, ReduceOp op>
struct VectorExtremum {
  using Bits = hn::TFromD<D>;
  using Value = hn::Vec<D>;
  static constexpr size_t kBytes = hn::MaxLanes(D()) * sizeof(Bits);
  static constexpr bool kQuick = false;
  static HWY_INLINE Value Flip(Value v) {
    const Value negative = hn::ShiftRight<8 * sizeof(Bits) - 1>(v);
    return hn::Xor(v, hn::And(negative, hn::Set(D(), kLargest<Bits>)));
  }
  static HWY_INLINE Value Load(const char* p) {
    const Value bits = hn::LoadU(D(), reinterpret_cast<const Bits*>(p));
    const Value magnitude = hn::And(bits, hn::Set(D(), kLargest<Bits>));
    return hn::IfThenElse(hn::Gt(magnitude, hn::Set(D(), Format::kInfinity)),
                          hn::Set(D(), kNanKey<Bits, op>), Flip(bits));
  }
  static HWY_INLINE Value Step(Value a, const char* p) {
    return op == ReduceOp::kMax ? hn::Max(a, Load(p)) : hn::Min(a, Load(p));
  }
  static HWY_INLINE Value Finish(Value a) {
    return hn::IfThenElse(hn::Eq(a, hn::Set(D(), kNanKey<Bits, op>)), hn::Set(D(), Format::kNan),
                          Flip(a));
  }
  static HWY_INLINE void Store(Value a, char* p) { hn::StoreU(a, D(), reinterpret_cast<Bits*>(p)); }
  static HWY_INLINE void Stream(Value a, char* p) {
    hn::Stream(a, D(), reinterpret_cast<Bits*>(p));
  }
};

template <class Format, ReduceOp op>
HWY_INLINE void Run(const ReduceArgs& args) {
  using Bits = typename Format::Bits;
  using Wide = VectorExtremum<hn::ScalableTag<Bits>, Format, op>;
  using Narrow = VectorExtremum<hn::CappedTag<Bits, 16 / sizeof(Bits)>, Format, op>;
  ReduceVectors<Wide, Wide, Narrow, ScalarExtremum<Format, op>>(args);
}

#else

template <class Format, ReduceOp op>
HWY_INLINE void Run(const ReduceArgs& args) {
  ReduceElements<ScalarExtremum<Format, op>>(args);
}

#endif  // HCCLRUN_VECTORS

template <class Format>
HWY_INLINE void RunOp(ReduceOp op, const ReduceArgs& args) {
  op == ReduceOp::kMax ? Run<Format, ReduceOp::kMax>(args) : Run<Format, ReduceOp::kMin>(args);
}

void ReduceFloatExtremaHere(DataType type, ReduceOp op, const ReduceArgs& args) {
  switch (type) {
    case DataType::kFp32:
      return RunOp<Fp32Format>(op, args);
    case DataType::kFp16:
      return RunOp<Fp16Format>(op, args);
    case DataType::kBf16:
      return RunOp<Bf16Format>(op, args);
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hcclrun::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hcclrun::kernels {

HWY_EXPORT(ReduceFloatExtremaHere);

void ReduceFloatExtrema(DataType type, ReduceOp op, const ReduceArgs& args) {
  HWY_DYNAMIC_DISPATCH(ReduceFloatExtremaHere)(type, op, args);
}

}  // namespace hcclrun::kernels
#endif
