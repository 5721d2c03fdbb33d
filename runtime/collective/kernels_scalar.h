#pragma once
// One element at a time, in plain C++: where there are no vectors, and for a few elements behind
// the last whole one. Bit for bit what the vector code computes.
//
// An accumulator type A offers
//   kBytes          bytes of memory that one accumulator covers
//   kQuick          false (see kernels_loop.h)
//   kFew            (here only) up to how many elements are quicker one by one than in a padded
//                   vector
//   Value           what is held in registers
//   Load(p)         the first source's elements
//   Step(v, p)      one more source, rounded to what is accumulated in
//   Finish(v)       the result r, NaN made canonical
//   Store(r, p), Stream(r, p)
// Vector accumulators in the kernel files have the same shape. Pointers may have any alignment.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "collective/types.h"

namespace hcclrun::kernels {

template <class T>
inline T Read(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
inline void Write(char* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

inline constexpr uint16_t kHalfNan = 0x7e00;
inline constexpr uint16_t kBf16Nan = 0x7fc0;
inline constexpr uint32_t kFloatNan = 0x7fc00000;

// A half's exponent and fraction, moved to a float's place, are its value times 2^-112; the product
// is exact, also for subnormals.
inline float HalfToFloat(uint16_t half) {
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  if (magnitude >= 0x0f800000) bits = magnitude | 0x7f800000;  // infinity, NaN
  return std::bit_cast<float>(bits | ((half & 0x8000u) << 16));
}

// To nearest even. Below the smallest normal half, adding 1/2 leaves the bits above 2^-24, a
// subnormal half's unit.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half;
  if (magnitude > 0x7f800000) {
    half = kHalfNan;
  } else if (magnitude >= 0x477ff000) {  // 65520, half way to the first power of two out of range
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {  // 2^-14
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
           std::bit_cast<uint32_t>(0.5f);
  } else {
    half = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  }
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000));
}

inline float Bf16ToFloat(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

// To nearest even. A NaN must have a clear low half, as sums of widened bf16 have; then
// it stays one.
inline uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T, ReduceOp op>
struct ScalarInteger {
  using Value = T;
  using U = std::make_unsigned_t<T>;
  static constexpr size_t kBytes = sizeof(T);
  static constexpr bool kQuick = false;
  static constexpr uint64_t kFew = 2;
  static Value Load(const char* p) { return Read<T>(p); }
  static Value Step(Value a, const char* p) {
    const T b = Read<T>(p);
    // uint64_t, lest small operands be promoted to a signed type that overflows.
    if constexpr (op == ReduceOp::kSum)
      return static_cast<T>(static_cast<U>(uint64_t(a) + uint64_t(b)));
    if constexpr (op == ReduceOp::kProd)
      return static_cast<T>(static_cast<U>(uint64_t(a) * uint64_t(b)));
    if constexpr (op == ReduceOp::kMax) return a < b ? b : a;
    if constexpr (op == ReduceOp::kMin) return b < a ? b : a;
  }
  static Value Finish(Value a) { return a; }
  static void Store(Value a, char* p) { Write(p, a); }
  static void Stream(Value a, char* p) { Store(a, p); }
};

template <ReduceOp op>
inline float Combine(float a, float b) {
  static_assert(op == ReduceOp::kSum || op == ReduceOp::kProd);
  return op == ReduceOp::kSum ? a + b : a * b;
}

template <ReduceOp op>
struct ScalarFp32 {
  using Value = float;
  static constexpr size_t kBytes = 4;
  static constexpr bool kQuick = false;
  static constexpr uint64_t kFew = 2;
  static Value Load(const char* p) { return Read<float>(p); }
  static Value Step(Value a, const char* p) { return Combine<op>(a, Read<float>(p)); }
  static Value Finish(Value a) { return a != a ? std::bit_cast<float>(kFloatNan) : a; }
  static void Store(Value a, char* p) { Write(p, a); }
  static void Stream(Value a, char* p) { Store(a, p); }
};

template <ReduceOp op, Accumulator accumulator>
struct ScalarFp16 {
  using Value = float;
  static constexpr size_t kBytes = 2;
  static constexpr bool kQuick = false;
  static constexpr uint64_t kFew = 0;
  static Value Load(const char* p) { return HalfToFloat(Read<uint16_t>(p)); }
  static Value Step(Value a, const char* p) {
    const float next = Combine<op>(a, Load(p));
    return accumulator == Accumulator::kFp32 ? next : HalfToFloat(FloatToHalf(next));
  }
  static Value Finish(Value a) { return a != a ? std::bit_cast<float>(kFloatNan) : a; }
  static void Store(Value a, char* p) { Write(p, FloatToHalf(a)); }
  static void Stream(Value a, char* p) { Store(a, p); }
};

template <Accumulator accumulator>
struct ScalarBf16Sum {
  using Value = float;
  static constexpr size_t kBytes = 2;
  static constexpr bool kQuick = false;
  static constexpr uint64_t kFew = 2;
  static Value Load(const char* p) { return Bf16ToFloat(Read<uint16_t>(p)); }
  static Value Step(Value a, const char* p) {
    const float sum = a + Load(p);
    return accumulator == Accumulator::kFp32 ? sum : Bf16ToFloat(FloatToBf16(sum));
  }
  static Value Finish(Value a) { return a != a ? std::bit_cast<float>(kFloatNan) : a; }
  static void Store(Value a, char* p) { Write(p, FloatToBf16(a)); }
  static void Stream(Value a, char* p) { Store(a, p); }
};

// Floating-point formats as far as ordering is concerned. An element's bits, with all but the sign
// inverted if it is negative, are ordered as integers like the numbers: a *key*. A NaN gets the key
// beyond all others that the operation looks for, which no number has.
struct Fp32Format {
  using Bits = int32_t;
  static constexpr Bits kInfinity = 0x7f800000, kNan = kFloatNan;
};
struct Fp16Format {
  using Bits = int16_t;
  static constexpr Bits kInfinity = 0x7c00, kNan = kHalfNan;
};
struct Bf16Format {
  using Bits = int16_t;
  static constexpr Bits kInfinity = 0x7f80, kNan = kBf16Nan;
};

template <class Bits>
inline constexpr Bits kLargest = static_cast<Bits>(~(std::make_unsigned_t<Bits>{1}
                                                     << (8 * sizeof(Bits) - 1)));

template <class Bits, ReduceOp op>
inline constexpr Bits kNanKey = op == ReduceOp::kMax ? kLargest<Bits>
                                                     : static_cast<Bits>(~kLargest<Bits>);

template <class Format, ReduceOp op>
struct ScalarExtremum {
  static_assert(op == ReduceOp::kMax || op == ReduceOp::kMin);
  using Bits = typename Format::Bits;
  using Value = Bits;
  static constexpr size_t kBytes = sizeof(Bits);
  static constexpr bool kQuick = false;
  static constexpr uint64_t kFew = 2;
  static Bits Flip(Bits bits) { return static_cast<Bits>(bits < 0 ? bits ^ kLargest<Bits> : bits); }
  static Value Load(const char* p) {
    const Bits bits = Read<Bits>(p);
    return (bits & kLargest<Bits>) > Format::kInfinity ? kNanKey<Bits, op> : Flip(bits);
  }
  static Value Step(Value a, const char* p) {
    const Value b = Load(p);
    return (op == ReduceOp::kMax) == (a < b) ? b : a;
  }
  static Value Finish(Value a) { return a == kNanKey<Bits, op> ? Format::kNan : Flip(a); }
  static void Store(Value a, char* p) { Write(p, a); }
  static void Stream(Value a, char* p) { Store(a, p); }
};

}  // namespace hcclrun::kernels
