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
void MakeTables(HcclReduceOp op, uint32_t ranks, uint64_t salt, unsigned char* inputs,
                unsigned char* reduced) {
  for (uint64_t i = 0; i < Values::kPeriod; ++i) {
    T sum{};
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const T value = Generate<T>(Mix(Mix(salt + 1) ^ (rank * Values::kPeriod + i + 1)), op);
      std::memcpy(inputs + (rank * Values::kPeriod + i) * sizeof(T), &value, sizeof(T));
      sum = rank == 0 ? value : Combine(sum, value, op);
    }
    std::memcpy(reduced + i * sizeof(T), &sum, sizeof(T));
  }
}

// Calls visit(element, n, table element) for stretches of elements [first, first + n) that lie in
// one period.
template <typename Visit>
void ForStretches(uint64_t start, uint64_t elements, Visit visit) {
  for (uint64_t i = 0; i < elements;) {
    const uint64_t at = (start + i) % Values::kPeriod;
    const uint64_t n = std::min(elements - i, Values::kPeriod - at);
    visit(i, n, at);
    i += n;
  }
}

}  // namespace

Values::Values(HcclDataType type, HcclReduceOp op, uint32_t ranks, uint64_t salt)
    : ranks_(ranks),
      element_bytes_(ElementBytes(type)),
      inputs_(ranks * kPeriod * element_bytes_),
      reduced_(kPeriod * element_bytes_) {
  const auto make = [&](auto zero) {
    MakeTables<decltype(zero)>(op, ranks, salt, inputs_.data(), reduced_.data());
  };
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
      make(int8_t{});
      break;
    case HCCL_DATA_TYPE_INT16:
      make(int16_t{});
      break;
    case HCCL_DATA_TYPE_INT32:
      make(int32_t{});
      break;
    case HCCL_DATA_TYPE_INT64:
      make(int64_t{});
      break;
    case HCCL_DATA_TYPE_UINT8:
      make(uint8_t{});
      break;
    case HCCL_DATA_TYPE_UINT16:
      make(uint16_t{});
      break;
    case HCCL_DATA_TYPE_UINT32:
      make(uint32_t{});
      break;
    case HCCL_DATA_TYPE_UINT64:
      make(uint64_t{});
      break;
    case HCCL_DATA_TYPE_FP16:
      make(Half{});
      break;
    case HCCL_DATA_TYPE_FP32:
      make(float{});
      break;
    case HCCL_DATA_TYPE_FP64:
      make(double{});
      break;
    case HCCL_DATA_TYPE_BFP16:
      make(Bfloat16{});
      break;
    default:
      break;
  }
}

void Values::Fill(uint32_t rank, uint64_t elements, void* host) const {
  auto* to = static_cast<unsigned char*>(host);
  ForStretches(0, elements, [&](uint64_t i, uint64_t n, uint64_t at) {
    std::memcpy(to + i * element_bytes_, Table(rank) + at * element_bytes_, n * element_bytes_);
  });
}

Values::Mismatch Values::Compare(Operation operation, const Shape& shape, uint32_t rank,
                                 const void* output) const {
  const auto* got = static_cast<const unsigned char*>(output);
  Mismatch result;
  // Output elements [first, first + elements) against a table, from its element `start` on.
  const auto compare = [&](uint64_t first, uint64_t elements, const unsigned char* table,
                           uint64_t start) {
    ForStretches(start, elements, [&](uint64_t i, uint64_t n, uint64_t at) {
      const unsigned char* is = got + (first + i) * element_bytes_;
      const unsigned char* should = table + at * element_bytes_;
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
        compare(from * shape.count, shape.count, Table(from), 0);
      break;
    case Operation::kReduceScatter:
      compare(0, shape.count, reduced_.data(), rank * shape.count);
      break;
    case Operation::kAllReduce:
      compare(0, shape.count, reduced_.data(), 0);
      break;
    case Operation::kAlltoAll:
      for (uint32_t from = 0; from < ranks_; ++from) {
        compare(from * shape.count, shape.count, Table(from), rank * shape.count);
      }
      break;
  }
  return result;
}

}  // namespace hcclrun::bench
