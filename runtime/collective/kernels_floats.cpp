// Sums and products of floating-point elements, rounded to the element type after every step, or
// fp16 and bf16 accumulated in fp32 and rounded to the element type at the end.
//
// fp16 and bf16 are widened to fp32, whose sum or product of two such numbers, rounded once more to
// the narrow type, is the correctly rounded one: fp32 holds a product of two halves exactly, and
// its 24 bits are at least twice those of the narrow type plus two, which makes rounding a sum
// twice harmless.

#include "collective/kernels_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collective/kernels_floats.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "collective/kernels_loop.h"
#include "collective/kernels_scalar.h"

HWY_BEFORE_NAMESPACE();
namespace hcclrun::kernels {
namespace HWY_NAMESPACE {

#if HCCLRUN_VECTORS

template <ReduceOp op, class V>
HWY_INLINE V CombineVectors(V a, V b) {
  static_assert(op == ReduceOp::kSum || op == ReduceOp::kProd);
  return op == ReduceOp::kSum ? hn::Add(a, b) : hn::Mul(a, b);
}

template <class D, ReduceOp op>
struct VectorFp32 {
  using Value = hn::Vec<D>;
  static constexpr size_t kBytes = hn::MaxLanes(D()) * 4;
  static constexpr bool kQuick = false;
  static HWY_INLINE Value Load(const char* p) {
    return hn::LoadU(D(), reinterpret_cast<const float*>(p));
  }
  static HWY_INLINE Value Step(Value a, const char* p) { return CombineVectors<op>(a, Load(p)); }
  static HWY_INLINE Value Finish(Value a) {
    const hn::RebindToUnsigned<D> u;
    return hn::IfThenElse(hn::IsNaN(a), hn::BitCast(D(), hn::Set(u, kFloatNan)), a);
  }
  static HWY_INLINE void Store(Value a, char* p) {
    hn::StoreU(a, D(), reinterpret_cast<float*>(p));
  }
  static HWY_INLINE void Stream(Value a, char* p) {
    hn::Stream(a, D(), reinterpret_cast<float*>(p));
  }
};

// 16-bit floats as they lie in memory; D has lanes of int16_t.
template <class D>
HWY_INLINE hn::Vec<D> CanonicalNan(D d, hn::Vec<D> bits, int16_t infinity, int16_t nan) {
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7fff));
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, infinity)), hn::Set(d, nan), bits);
}

// A vector of bf16 as the even and the odd elements, each in the upper half of a 32-bit lane, the
// rest clear: fp32 values without any shuffling. (Accumulated in fp32 the rest fills up.)
template <class D, Accumulator accumulator = Accumulator::kElementType>
struct VectorBf16Sum {
  using D32 = hn::Repartition<uint32_t, D>;
  using DF = hn::Repartition<float, D>;
  using V32 = hn::Vec<D32>;
  struct Value {
    V32 even, odd;
  };
  static constexpr size_t kBytes = hn::MaxLanes(D()) * 2;
  static constexpr bool kQuick = false;
  // To nearest even. A NaN's low half is clear (see FloatToBf16), so the carry cannot destroy it.
  static HWY_INLINE V32 Rounded(V32 sum) {
    const V32 odd = hn::And(hn::ShiftRight<16>(sum), hn::Set(D32(), 1));
    return hn::And(hn::Add(sum, hn::Add(odd, hn::Set(D32(), 0x7fff))), hn::Set(D32(), 0xffff0000));
  }
  static HWY_INLINE V32 Sum(V32 a, V32 b) {
    const V32 sum = hn::BitCast(D32(), hn::Add(hn::BitCast(DF(), a), hn::BitCast(DF(), b)));
    return accumulator == Accumulator::kFp32 ? sum : Rounded(sum);
  }
  static HWY_INLINE Value Load(const char* p) {
    const V32 both = hn::BitCast(D32(), hn::LoadU(D(), reinterpret_cast<const int16_t*>(p)));
    return {hn::ShiftLeft<16>(both), hn::And(both, hn::Set(D32(), 0xffff0000))};
  }
  static HWY_INLINE Value Step(Value a, const char* p) {
    const Value b = Load(p);
    return {Sum(a.even, b.even), Sum(a.odd, b.odd)};
  }
  static HWY_INLINE Value Finish(Value a) {
    if constexpr (accumulator == Accumulator::kFp32) return {Rounded(a.even), Rounded(a.odd)};
    return a;
  }
  static HWY_INLINE hn::Vec<D> Narrow(Value a) {
    const auto bits = hn::BitCast(D(), hn::Or(hn::ShiftRight<16>(a.even), a.odd));
    return CanonicalNan(D(), bits, Bf16Format::kInfinity, Bf16Format::kNan);
  }
  static HWY_INLINE void Store(Value a, char* p) {
    hn::StoreU(Narrow(a), D(), reinterpret_cast<int16_t*>(p));
  }
  static HWY_INLINE void Stream(Value a, char* p) {
    hn::Stream(Narrow(a), D(), reinterpret_cast<int16_t*>(p));
  }
};

// Halves to floats and back, D the tag of the floats, H of as many int16_t.
#if HWY_TARGET == HWY_SSE4
// No conversion instructions: the algorithm of HalfToFloat and FloatToHalf.
template <class D, class H>
HWY_INLINE hn::Vec<D> Widen(D d, hn::Vec<H> half) {
  const hn::RebindToSigned<D> i32;
  const auto wide = hn::PromoteTo(i32, half);
  const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(i32, 0x7fff)));
  const auto finite = hn::BitCast(i32, hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f)));
  const auto infinite = hn::Or(magnitude, hn::Set(i32, 0x7f800000));
  const auto bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(i32, 0x0f7fffff)), infinite, finite);
  return hn::BitCast(d, hn::Or(bits, hn::And(hn::ShiftLeft<16>(wide), hn::Set(i32, INT32_MIN))));
}
template <class H, class D>
HWY_INLINE hn::Vec<H> NarrowHalves(D d, hn::Vec<D> value) {
  const hn::RebindToSigned<D> i32;
  const auto bits = hn::BitCast(i32, value);
  const auto magnitude = hn::And(bits, hn::Set(i32, 0x7fffffff));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(i32, 1));
  auto half =
      hn::ShiftRight<13>(hn::Add(hn::Sub(magnitude, hn::Set(i32, (112 << 23) - 0xfff)), odd));
  const auto small = hn::BitCast(i32, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f)));
  half = hn::IfThenElse(hn::Gt(hn::Set(i32, 0x38800000), magnitude),
                        hn::Sub(small, hn::BitCast(i32, hn::Set(d, 0.5f))), half);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(i32, 0x477fefff)), hn::Set(i32, 0x7c00), half);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(i32, 0x7f800000)), hn::Set(i32, kHalfNan), half);
  // Sign extension keeps the saturating conversion from clipping.
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(i32, ~0x7fff));
  return hn::DemoteTo(H(), hn::Or(half, sign));
}
#else
template <class D, class H>
HWY_INLINE hn::Vec<D> Widen(D d, hn::Vec<H> half) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
}
template <class H, class D>
HWY_INLINE hn::Vec<H> NarrowHalves(D, hn::Vec<D> value) {
  return hn::BitCast(H(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), value));
}
#endif

// D has lanes of int16_t; a vector is held as two of floats.
template <class D, ReduceOp op, Accumulator accumulator = Accumulator::kElementType>
struct VectorFp16 {
  using DF = hn::Repartition<float, D>;
  using DH = hn::Rebind<int16_t, DF>;
  using VF = hn::Vec<DF>;
  struct Value {
    VF low, high;
  };
  static constexpr size_t kBytes = hn::MaxLanes(D()) * 2;
  static constexpr bool kQuick = false;
  static HWY_INLINE VF LoadHalf(const char* p) {
    return Widen<DF, DH>(DF(), hn::LoadU(DH(), reinterpret_cast<const int16_t*>(p)));
  }
  static HWY_INLINE VF Round(VF v) {
    if constexpr (accumulator == Accumulator::kFp32) return v;
    return Widen<DF, DH>(DF(), NarrowHalves<DH>(DF(), v));
  }
  static HWY_INLINE Value Load(const char* p) { return {LoadHalf(p), LoadHalf(p + kBytes / 2)}; }
  static HWY_INLINE Value Step(Value a, const char* p) {
    const Value b = Load(p);
    return {Round(CombineVectors<op>(a.low, b.low)), Round(CombineVectors<op>(a.high, b.high))};
  }
  static HWY_INLINE Value Finish(Value a) { return a; }
  static HWY_INLINE hn::Vec<D> Narrow(Value a) {
    const auto bits =
        hn::Combine(D(), NarrowHalves<DH>(DF(), a.high), NarrowHalves<DH>(DF(), a.low));
    return CanonicalNan(D(), bits, Fp16Format::kInfinity, Fp16Format::kNan);
  }
  static HWY_INLINE void Store(Value a, char* p) {
    hn::StoreU(Narrow(a), D(), reinterpret_cast<int16_t*>(p));
  }
  static HWY_INLINE void Stream(Value a, char* p) {
    hn::Stream(Narrow(a), D(), reinterpret_cast<int16_t*>(p));
  }
};

// Quick sums. For an fp32 x of exponent e, let t = (2^k - 1) x, rounded to fp32. Near t, fp32
// numbers are 2^(e+k-23) apart, and 2^k x, exact, is a multiple of that; hence 2^k x - t, exact
// again, is x rounded to a multiple of 2^(e-23+k), that is to 24 - k significant bits. It is
// rounded to even as t is, since halfway 2^k x is an even multiple. (Where t falls below 2^(e+k),
// the distance is half of that, but then x exceeds a power of two by less than 2^-k of it and goes
// there all the same.) With k = 16 this is the rounding to bf16, with k = 13 to fp16, in a product
// and a fused operation; where that is not fused, its product is exact anyhow. Small sums need no
// rounding and get none: they are multiples of the smallest subnormal and so have few enough bits
// for t to be exact.
//
// What does not work is seen in the result. Once 2^k x exceeds the range of fp32, or x is infinite
// or NaN, the rest of the sum is infinite or NaN. fp16 is scaled by 2^100, so that this includes
// all from little above 2^15 up and thus everything that might overflow fp16. And -0 becomes +0:
// since a sum is -0 only if every element is, a block is not valid where the first element is -0
// and the result +0.
template <int k, class D, class V>
HWY_INLINE V RoundQuickly(D d, V x) {
  return hn::MulSub(x, hn::Set(d, 1 << k), hn::Mul(x, hn::Set(d, (1 << k) - 1)));
}

// What quick accumulators of 16-bit elements share. D has lanes of int16_t; a vector is held as two
// of floats.
template <class D>
struct QuickResults {
  using DF = hn::Repartition<float, D>;
  using VF = hn::Vec<DF>;
  using Result = hn::Vec<D>;
  struct Value {
    VF a, b;
  };
  static constexpr size_t kBytes = hn::MaxLanes(D()) * 2;
  static constexpr bool kQuick = true;
  // `first`: the block of the first source.
  static HWY_INLINE bool Valid(int16_t infinity, const char* first, Result r0, Result r1, Result r2,
                               Result r3) {
    const Result magnitude = hn::Set(D(), INT16_MAX);
    const Result largest = hn::Max(hn::Max(hn::And(r0, magnitude), hn::And(r1, magnitude)),
                                   hn::Max(hn::And(r2, magnitude), hn::And(r3, magnitude)));
    // INT16_MIN, the bits of -0, where +0 came from a first element -0.
    const Result s0 = hn::Or(r0, LoadResult(first)), s1 = hn::Or(r1, LoadResult(first + kBytes)),
                 s2 = hn::Or(r2, LoadResult(first + 2 * kBytes)),
                 s3 = hn::Or(r3, LoadResult(first + 3 * kBytes));
    const Result least = hn::Min(hn::Min(s0, s1), hn::Min(s2, s3));
    return hn::AllTrue(D(), hn::And(hn::Lt(largest, hn::Set(D(), infinity)),
                                    hn::Gt(least, hn::Set(D(), INT16_MIN))));
  }
  static HWY_INLINE Result LoadResult(const char* p) {
    return hn::LoadU(D(), reinterpret_cast<const int16_t*>(p));
  }
  static HWY_INLINE void Store(Result r, char* p) {
    hn::StoreU(r, D(), reinterpret_cast<int16_t*>(p));
  }
  static HWY_INLINE void Stream(Result r, char* p) {
    hn::Stream(r, D(), reinterpret_cast<int16_t*>(p));
  }
};

template <class D>
struct QuickBf16Sum : QuickResults<D> {
  using Exact = VectorBf16Sum<D>;
  using typename QuickResults<D>::DF;
  using typename QuickResults<D>::Value;  // even and odd elements
  static HWY_INLINE Value Load(const char* p) {
    const auto v = Exact::Load(p);
    return {hn::BitCast(DF(), v.even), hn::BitCast(DF(), v.odd)};
  }
  static HWY_INLINE Value Step(Value v, const char* p) {
    const Value more = Load(p);
    return {RoundQuickly<16>(DF(), hn::Add(v.a, more.a)),
            RoundQuickly<16>(DF(), hn::Add(v.b, more.b))};
  }
  static HWY_INLINE hn::Vec<D> Finish(Value v) {
    // Moved by one element, as the other halves are clear: on some processors cheaper than a shift.
    return hn::Or(hn::ShiftRightLanes<1>(D(), hn::BitCast(D(), v.a)), hn::BitCast(D(), v.b));
  }
  template <class... R>
  static HWY_INLINE bool Valid(const char* first, R... results) {
    return QuickResults<D>::Valid(Bf16Format::kInfinity, first, results...);
  }
};

template <class D>
struct QuickFp16Sum : QuickResults<D> {
  using Exact = VectorFp16<D, ReduceOp::kSum>;
  using typename QuickResults<D>::DF;
  using typename QuickResults<D>::VF;
  using typename QuickResults<D>::Value;  // lower and upper half, scaled
  static HWY_INLINE Value Load(const char* p) {
    const auto v = Exact::Load(p);
    const VF scale = hn::Set(DF(), 0x1p100f);
    return {hn::Mul(v.low, scale), hn::Mul(v.high, scale)};
  }
  static HWY_INLINE Value Step(Value v, const char* p) {
    const auto more = Exact::Load(p);
    const VF scale = hn::Set(DF(), 0x1p100f);
    return {RoundQuickly<13>(DF(), hn::MulAdd(more.low, scale, v.a)),
            RoundQuickly<13>(DF(), hn::MulAdd(more.high, scale, v.b))};
  }
  static HWY_INLINE hn::Vec<D> Finish(Value v) {
    const VF scale = hn::Set(DF(), 0x1p-100f);
    using DH = typename Exact::DH;
    return hn::Combine(D(), NarrowHalves<DH>(DF(), hn::Mul(v.b, scale)),
                       NarrowHalves<DH>(DF(), hn::Mul(v.a, scale)));
  }
  template <class... R>
  static HWY_INLINE bool Valid(const char* first, R... results) {
    return QuickResults<D>::Valid(Fp16Format::kInfinity, first, results...);
  }
};

template <ReduceOp op>
HWY_INLINE void RunFp32(const ReduceArgs& args) {
  using Wide = VectorFp32<hn::ScalableTag<float>, op>;
  ReduceVectors<Wide, Wide, VectorFp32<hn::CappedTag<float, 4>, op>, ScalarFp32<op>>(args);
}
template <ReduceOp op, Accumulator accumulator>
HWY_INLINE void RunFp16(const ReduceArgs& args) {
  using D = hn::ScalableTag<int16_t>;
  using Wide = VectorFp16<D, op, accumulator>;
  constexpr bool kQuick = op == ReduceOp::kSum && accumulator == Accumulator::kElementType;
  using Block = std::conditional_t<kQuick, QuickFp16Sum<D>, Wide>;
  using Narrow = VectorFp16<hn::CappedTag<int16_t, 8>, op, accumulator>;
  ReduceVectors<Block, Wide, Narrow, ScalarFp16<op, accumulator>>(args);
}
template <Accumulator accumulator>
HWY_INLINE void RunBf16Sum(const ReduceArgs& args) {
  using D = hn::ScalableTag<int16_t>;
  using Wide = VectorBf16Sum<D, accumulator>;
  constexpr bool kQuick = accumulator == Accumulator::kElementType;
  using Block = std::conditional_t<kQuick, QuickBf16Sum<D>, Wide>;
  using Narrow = VectorBf16Sum<hn::CappedTag<int16_t, 8>, accumulator>;
  ReduceVectors<Block, Wide, Narrow, ScalarBf16Sum<accumulator>>(args);
}

#else

template <ReduceOp op>
HWY_INLINE void RunFp32(const ReduceArgs& args) {
  ReduceElements<ScalarFp32<op>>(args);
}
template <ReduceOp op, Accumulator accumulator>
HWY_INLINE void RunFp16(const ReduceArgs& args) {
  ReduceElements<ScalarFp16<op, accumulator>>(args);
}
template <Accumulator accumulator>
HWY_INLINE void RunBf16Sum(const ReduceArgs& args) {
  ReduceElements<ScalarBf16Sum<accumulator>>(args);
}

#endif  // HCCLRUN_VECTORS

template <Accumulator accumulator>
HWY_INLINE void RunSixteenBits(DataType type, ReduceOp op, const ReduceArgs& args) {
  if (type == DataType::kBf16) return RunBf16Sum<accumulator>(args);
  op == ReduceOp::kSum ? RunFp16<ReduceOp::kSum, accumulator>(args)
                       : RunFp16<ReduceOp::kProd, accumulator>(args);
}

void ReduceFloatSumsHere(DataType type, ReduceOp op, Accumulator accumulator,
                         const ReduceArgs& args) {
  if (type == DataType::kFp32) {
    op == ReduceOp::kSum ? RunFp32<ReduceOp::kSum>(args) : RunFp32<ReduceOp::kProd>(args);
  } else if (accumulator == Accumulator::kFp32 || (type == DataType::kFp16 && args.nsrc == 2)) {
    // A single step is rounded by the conversion of the result.
    RunSixteenBits<Accumulator::kFp32>(type, op, args);
  } else {
    RunSixteenBits<Accumulator::kElementType>(type, op, args);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hcclrun::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hcclrun::kernels {

HWY_EXPORT(ReduceFloatSumsHere);

void ReduceFloatSums(DataType type, ReduceOp op, Accumulator accumulator, const ReduceArgs& args) {
  HWY_DYNAMIC_DISPATCH(ReduceFloatSumsHere)(type, op, accumulator, args);
}

}  // namespace hcclrun::kernels
#endif
