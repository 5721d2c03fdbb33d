#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace hcclrun::bench {
namespace {

uint64_t Mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// 16-bit floating point as its bits, converted slowly and plainly.
struct Half {
  uint16_t bits;

  explicit operator float() const {
    const int exponent = bits >> 10 & 31;
    const int mantissa = bits & 1023;
    float value = 0;
    if (exponent == 31) {
      value = mantissa == 0 ? std::numeric_limits<float>::infinity()
                            : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(mantissa), -24);
    } else {
      value = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
  }
  static Half Round(float x) {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x)) return {static_cast<uint16_t>(sign | 0x7e00)};
    x = std::fabs(x);
    if (x >= 65520.0f) return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds to infinity
    const int exponent = x == 0 ? -14 : std::max(std::ilogb(x), -14);
    // In units of the last place; nearbyint rounds to even. A carry into the next power of two is
    // in the sum.
    const int units = static_cast<int>(std::nearbyint(std::ldexp(x, 10 - exponent)));
    return {static_cast<uint16_t>(sign | (((exponent + 14) << 10) + units))};
  }
};

struct Bfloat16 {
  uint16_t bits;

  explicit operator float() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  static Bfloat16 Round(float x) {
    uint32_t wide;
    std::memcpy(&wide, &x, sizeof(wide));
    if (std::isnan(x)) return {static_cast<uint16_t>(wide >> 16 | 0x40)};
    return {static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16)};
  }
};

// A number that every floating type can hold. Sums of a few dozen need rounding in the narrow
// types; products of a few dozen stay finite or end in infinity or zero, never in NaN.
float SmallFloat(uint64_t random, HcclReduceOp op) {
  if (op == HCCL_REDUCE_PROD) {
    constexpr float kFactors[] = {0.5f, 0.75f, 1.0f, 1.5f, 2.0f, -0.5f, -1.0f, -1.5f};
    return kFactors[random % 8];
  }
  return static_cast<float>(static_cast<int>(random % 127) + 1) /
         (random >> 32 & 1 ? 16.0f : -16.0f);
}

template <typename T>
T Generate(uint64_t random, HcclReduceOp op) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random >> 8);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(SmallFloat(random, op));
  } else {
    return T::Round(SmallFloat(random, op));
  }
}

template <typename T>
T Combine(T a, T b, HcclReduceOp op) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // sums and products wrap around
    const uint64_t x = static_cast<Unsigned>(a), y = static_cast<Unsigned>(b);
    switch (op) {
      case HCCL_REDUCE_SUM:
        return static_cast<T>(x + y);
      case HCCL_REDUCE_PROD:
        return static_cast<T>(x * y);
      case HCCL_REDUCE_MAX:
        return std::max(a, b);
      default:
        return std::min(a, b);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case HCCL_REDUCE_SUM:
        return a + b;
      case HCCL_REDUCE_PROD:
        return a * b;
      case HCCL_REDUCE_MAX:
        return std::max(a, b);
      default:
        return std::min(a, b);
    }
  } else {
    return T::Round(Combine(static_cast<float>(a), static_cast<float>(b), op));
  }
}

template <typename T>
T InputElement(uint64_t salt, uint64_t index, HcclReduceOp op) {
  return Generate<T>(Mix(Mix(salt + 1) ^ (index + 1)), op);
}

// The reduction of `ranks` numbers, the r-th of which is value(r).
template <typename T, typename Value>
T ReduceOne(uint32_t ranks, HcclReduceOp op, bool fp32_sums, Value value) {
  constexpr bool kSixteenBits = !std::is_integral_v<T> && !std::is_floating_point_v<T>;
  if constexpr (kSixteenBits) {
    if (fp32_sums) {
      float sum = static_cast<float>(value(0));
      for (uint32_t r = 1; r < ranks; ++r) sum = Combine(sum, static_cast<float>(value(r)), op);
      return T::Round(sum);
    }
  }
  T sum = value(0);
  for (uint32_t r = 1; r < ranks; ++r) sum = Combine(sum, value(r), op);
  return sum;
}

// visit(T{}) with the type of the elements.
template <typename Visit>
void WithType(HcclDataType type, Visit visit) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
      return visit(int8_t{});
    case HCCL_DATA_TYPE_INT16:
      return visit(int16_t{});
    case HCCL_DATA_TYPE_INT32:
      return visit(int32_t{});
    case HCCL_DATA_TYPE_INT64:
      return visit(int64_t{});
    case HCCL_DATA_TYPE_UINT8:
      return visit(uint8_t{});
    case HCCL_DATA_TYPE_UINT16:
      return visit(uint16_t{});
    case HCCL_DATA_TYPE_UINT32:
      return visit(uint32_t{});
    case HCCL_DATA_TYPE_UINT64:
      return visit(uint64_t{});
    case HCCL_DATA_TYPE_FP16:
      return visit(Half{});
    case HCCL_DATA_TYPE_FP32:
      return visit(float{});
    case HCCL_DATA_TYPE_FP64:
      return visit(double{});
    case HCCL_DATA_TYPE_BFP16:
      return visit(Bfloat16{});
    default:
      return;
  }
}

// Calls visit(element, n, table element) for stretches of elements [first, first + n) that lie in
// one period.
template <typename Visit>
void ForStretches(uint64_t period, uint64_t start, uint64_t elements, Visit visit) {
  for (uint64_t i = 0; i < elements;) {
    const uint64_t at = (start + i) % period;
    const uint64_t n = std::min(elements - i, period - at);
    visit(i, n, at);
    i += n;
  }
}

}  // namespace

Values::Values(HcclDataType type, HcclReduceOp op, uint32_t ranks, uint64_t salt, bool fp32_sums)
    : type_(type),
      op_(op),
      ranks_(ranks),
      salt_(salt),
      fp32_sums_(fp32_sums),
      period_(ranks <= kFewRanks ? kPeriod : kShortPeriod),
      element_bytes_(ElementBytes(type)) {}

Values::Table Values::InputOf(uint32_t rank) const {
  Table table(period_ * element_bytes_);
  WithType(type_, [&](auto zero) {
    using T = decltype(zero);
    for (uint64_t i = 0; i < period_; ++i) {
      const T value = InputElement<T>(salt_, rank * period_ + i, op_);
      std::memcpy(&table[i * sizeof(T)], &value, sizeof(T));
    }
  });
  return table;
}

Values::Table Values::Reduced() const {
  Table table(period_ * element_bytes_);
  WithType(type_, [&](auto zero) {
    using T = decltype(zero);
    for (uint64_t i = 0; i < period_; ++i) {
      const T value = ReduceOne<T>(ranks_, op_, fp32_sums_, [&](uint32_t rank) {
        return InputElement<T>(salt_, rank * period_ + i, op_);
      });
      std::memcpy(&table[i * sizeof(T)], &value, sizeof(T));
    }
  });
  return table;
}

void Values::Fill(uint32_t rank, uint64_t elements, void* host) const {
  auto* to = static_cast<unsigned char*>(host);
  const Table table = InputOf(rank);
  ForStretches(period_, 0, elements, [&](uint64_t i, uint64_t n, uint64_t at) {
    std::memcpy(to + i * element_bytes_, &table[at * element_bytes_], n * element_bytes_);
  });
}

Values::Mismatch Values::Compare(Operation operation, const Shape& shape, uint32_t rank,
                                 const void* output) const {
  const auto* got = static_cast<const unsigned char*>(output);
  Mismatch result;
  // Output elements [first, first + elements) against a table, from its element `start` on.
  const auto compare = [&](uint64_t first, uint64_t elements, const Table& table, uint64_t start) {
    ForStretches(period_, start, elements, [&](uint64_t i, uint64_t n, uint64_t at) {
      const unsigned char* is = got + (first + i) * element_bytes_;
      const unsigned char* should = &table[at * element_bytes_];
      if (std::memcmp(is, should, n * element_bytes_) == 0) return;
      for (uint64_t k = 0; k < n; ++k) {
        if (std::memcmp(is + k * element_bytes_, should + k * element_bytes_, element_bytes_) == 0)
          continue;
        if (result.wrong++ == 0) result.first = first + i + k;
      }
    });
  };
  switch (operation) {
    case Operation::kAllGather:
      for (uint32_t from = 0; from < ranks_; ++from)
        compare(from * shape.count, shape.count, InputOf(from), 0);
      break;
    case Operation::kReduceScatter:
      compare(0, shape.count, Reduced(), rank * shape.count);
      break;
    case Operation::kAllReduce:
      compare(0, shape.count, Reduced(), 0);
      break;
    case Operation::kAlltoAll:
      for (uint32_t from = 0; from < ranks_; ++from) {
        compare(from * shape.count, shape.count, InputOf(from), rank * shape.count);
      }
      break;
  }
  return result;
}

}  // namespace hcclrun::bench
