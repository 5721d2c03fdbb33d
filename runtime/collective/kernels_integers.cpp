// Reductions of integers; they wrap around.

#include "collective/kernels_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collective/kernels_integers.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "collective/kernels_loop.h"
#include "collective/kernels_scalar.h"

HWY_BEFORE_NAMESPACE();
namespace hcclrun::kernels {
namespace HWY_NAMESPACE {

#if HCCLRUN_VECTORS

// The low half of each product, where the instruction sets lack it.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Product(D d, V a, V b) {
  if constexpr (sizeof(hn::TFromD<D>) == 1) {  // even and odd bytes apart, as 16-bit products
    const hn::Repartition<uint16_t, D> wide;
    const auto even = hn::BitCast(wide, a) * hn::BitCast(wide, b);
    const auto odd = hn::ShiftRight<8>(hn::BitCast(wide, a)) *
                     hn::And(hn::BitCast(wide, b), hn::Set(wide, 0xff00));
    return hn::BitCast(d, hn::Or(hn::And(even, hn::Set(wide, 0xff)), odd));
  } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
    // low * low + ((low * high + high * low) << 32)
    const hn::Repartition<uint32_t, D> halves;
    const auto x = hn::BitCast(halves, a);
    const auto y = hn::BitCast(halves, b);
    const auto cross = hn::BitCast(d, x * hn::Shuffle2301(y));
    return hn::BitCast(d, hn::MulEven(x, y)) + hn::ShiftLeft<32>(cross + hn::ShiftRight<32>(cross));
  } else {
    return a * b;
  }
}

template <class D, ReduceOp op>
struct VectorInteger {
  using T = hn::TFromD<D>;
  using U = hn::RebindToUnsigned<D>;  // additions and products of signed lanes would overflow
  using Value = hn::Vec<D>;
  static constexpr size_t kBytes = hn::MaxLanes(D()) * sizeof(T);
  static constexpr bool kQuick = false;
  static HWY_INLINE Value Load(const char* p) {
    return hn::LoadU(D(), reinterpret_cast<const T*>(p));
  }
  static HWY_INLINE Value Step(Value a, const char* p) {
    const Value b = Load(p);
    const U u;
    if constexpr (op == ReduceOp::kSum)
      return hn::BitCast(D(), hn::Add(hn::BitCast(u, a), hn::BitCast(u, b)));
    if constexpr (op == ReduceOp::kProd)
      return hn::BitCast(D(), Product(u, hn::BitCast(u, a), hn::BitCast(u, b)));
    if constexpr (op == ReduceOp::kMax) return hn::Max(a, b);
    if constexpr (op == ReduceOp::kMin) return hn::Min(a, b);
  }
  static HWY_INLINE Value Finish(Value a) { return a; }
  static HWY_INLINE void Store(Value a, char* p) { hn::StoreU(a, D(), reinterpret_cast<T*>(p)); }
  static HWY_INLINE void Stream(Value a, char* p) { hn::Stream(a, D(), reinterpret_cast<T*>(p)); }
};

template <class T, ReduceOp op>
HWY_INLINE void Run(const ReduceArgs& args) {
  using Wide = VectorInteger<hn::ScalableTag<T>, op>;
  using Narrow = VectorInteger<hn::CappedTag<T, 16 / sizeof(T)>, op>;
  ReduceVectors<Wide, Wide, Narrow, ScalarInteger<T, op>>(args);
}

#else

template <class T, ReduceOp op>
HWY_INLINE void Run(const ReduceArgs& args) {
  ReduceElements<ScalarInteger<T, op>>(args);
}

#endif  // HCCLRUN_VECTORS

template <class T>
HWY_INLINE void RunOp(ReduceOp op, const ReduceArgs& args) {
  switch (op) {
    case ReduceOp::kSum:
      return Run<T, ReduceOp::kSum>(args);
    case ReduceOp::kMax:
      return Run<T, ReduceOp::kMax>(args);
    case ReduceOp::kMin:
      return Run<T, ReduceOp::kMin>(args);
    case ReduceOp::kProd:
      if constexpr (sizeof(T) != 2) Run<T, ReduceOp::kProd>(args);
  }
}

void ReduceIntegersHere(DataType type, ReduceOp op, const ReduceArgs& args) {
  switch (type) {
    case DataType::kInt8:
      return RunOp<int8_t>(op, args);
    case DataType::kInt16:
      return RunOp<int16_t>(op, args);
    case DataType::kInt32:
      return RunOp<int32_t>(op, args);
    case DataType::kInt64:
      return RunOp<int64_t>(op, args);
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hcclrun::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hcclrun::kernels {

HWY_EXPORT(ReduceIntegersHere);

void ReduceIntegers(DataType type, ReduceOp op, const ReduceArgs& args) {
  HWY_DYNAMIC_DISPATCH(ReduceIntegersHere)(type, op, args);
}

}  // namespace hcclrun::kernels
#endif
