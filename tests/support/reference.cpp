#include "support/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace hcclrun::testing {
namespace {

constexpr uint32_t kFloatNan = 0x7fc00000;

// `value` / 2^shift, to nearest, ties to even.
uint64_t ShiftRounded(uint64_t value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 62) return 0;
  const uint64_t quotient = value >> shift, rest = value & ((uint64_t{1} << shift) - 1);
  const uint64_t tie = uint64_t{1} << (shift - 1);
  return quotient + (rest > tie || (rest == tie && quotient % 2 == 1));
}

// Encodes significand * 2^exponent with `fraction` stored bits, the smallest normal exponent being
// 1 - bias.
uint32_t Encode(uint64_t significand, int exponent, int fraction, int bias, uint32_t exponent_max) {
  if (significand == 0) return 0;
  int top = 63 - std::countl_zero(significand) + exponent;  // value in [2^top, 2^(top+1))
  int unit = std::max(top, 1 - bias) - fraction;            // exponent of the last stored bit
  uint64_t rounded = ShiftRounded(significand, unit - exponent);
  if (rounded >> (fraction + 1)) {
    rounded >>= 1;
    ++unit;
  }
  if (rounded >> fraction == 0) return static_cast<uint32_t>(rounded);  // subnormal
  const int field = unit + fraction + bias;
  if (field >= static_cast<int>(exponent_max)) return exponent_max << fraction;
  return static_cast<uint32_t>(field) << fraction |
         (static_cast<uint32_t>(rounded) & ((1u << fraction) - 1));
}

template <class T>
T Load(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

float Apply(ReduceOp op, float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::bit_cast<float>(kFloatNan);
  switch (op) {
    case ReduceOp::kSum: {
      volatile float sum = a + b;
      return sum;
    }
    case ReduceOp::kProd: {
      volatile float product = a * b;
      return product;
    }
    case ReduceOp::kMax:
      return a > b || (a == b && std::signbit(b)) ? a : b;
    case ReduceOp::kMin:
      return a < b || (a == b && std::signbit(a)) ? a : b;
  }
  std::abort();
}

template <class T>
void ApplyInteger(ReduceOp op, void* acc, const void* x) {
  using U = std::make_unsigned_t<T>;
  const T a = Load<T>(acc), b = Load<T>(x);
  T r = 0;
  switch (op) {
    case ReduceOp::kSum:
      r = static_cast<T>(static_cast<U>(uint64_t(U(a)) + uint64_t(U(b))));
      break;
    case ReduceOp::kProd:
      r = static_cast<T>(static_cast<U>(uint64_t(U(a)) * uint64_t(U(b))));
      break;
    case ReduceOp::kMax:
      r = std::max(a, b);
      break;
    case ReduceOp::kMin:
      r = std::min(a, b);
      break;
  }
  std::memcpy(acc, &r, sizeof r);
}

float Canonical(float value) { return std::isnan(value) ? std::bit_cast<float>(kFloatNan) : value; }

}  // namespace

float FloatFromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const uint32_t sign = uint32_t{half} >> 15 << 31;
  if (exponent == 31) return std::bit_cast<float>(fraction == 0 ? sign | 0x7f800000 : kFloatNan);
  const uint64_t significand = exponent == 0 ? fraction : fraction + 1024;
  return std::bit_cast<float>(sign | Encode(significand, std::max(exponent, 1) - 25, 23, 127, 255));
}

uint16_t HalfFromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int exponent = bits >> 23 & 255;
  const uint32_t fraction = bits & 0x7fffff, sign = bits >> 31 << 15;
  if (exponent == 255) return static_cast<uint16_t>(fraction == 0 ? sign | 0x7c00 : 0x7e00);
  const uint64_t significand = exponent == 0 ? fraction : fraction + 0x800000;
  return static_cast<uint16_t>(sign | Encode(significand, std::max(exponent, 1) - 150, 10, 15, 31));
}

float FloatFromBf16(uint16_t value) {
  return Canonical(std::bit_cast<float>(uint32_t{value} << 16));
}

uint16_t Bf16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int exponent = bits >> 23 & 255;
  const uint32_t fraction = bits & 0x7fffff, sign = bits >> 31 << 15;
  if (exponent == 255) return static_cast<uint16_t>(fraction == 0 ? sign | 0x7f80 : 0x7fc0);
  const uint64_t significand = exponent == 0 ? fraction : fraction + 0x800000;
  return static_cast<uint16_t>(sign |
                               Encode(significand, std::max(exponent, 1) - 150, 7, 127, 255));
}

void ReduceElement(DataType type, ReduceOp op, void* acc, const void* x) {
  switch (type) {
    case DataType::kInt8:
      return ApplyInteger<int8_t>(op, acc, x);
    case DataType::kInt16:
      return ApplyInteger<int16_t>(op, acc, x);
    case DataType::kInt32:
      return ApplyInteger<int32_t>(op, acc, x);
    case DataType::kInt64:
      return ApplyInteger<int64_t>(op, acc, x);
    case DataType::kFp32: {
      const float r = Canonical(Apply(op, Load<float>(acc), Load<float>(x)));
      std::memcpy(acc, &r, 4);
      return;
    }
    case DataType::kFp16: {
      const uint16_t r = HalfFromFloat(
          Apply(op, FloatFromHalf(Load<uint16_t>(acc)), FloatFromHalf(Load<uint16_t>(x))));
      std::memcpy(acc, &r, 2);
      return;
    }
    case DataType::kBf16: {
      const uint16_t r = Bf16FromFloat(
          Apply(op, FloatFromBf16(Load<uint16_t>(acc)), FloatFromBf16(Load<uint16_t>(x))));
      std::memcpy(acc, &r, 2);
      return;
    }
    default:
      std::abort();
  }
}

void ReduceElements(DataType type, ReduceOp op, Accumulator accumulator,
                    const std::vector<const void*>& elements, void* result) {
  const bool sixteen_bits = type == DataType::kFp16 || type == DataType::kBf16;
  const bool rounds = op == ReduceOp::kSum || op == ReduceOp::kProd;
  std::memmove(result, elements[0], ElementSize(type));
  if (accumulator == Accumulator::kElementType || !sixteen_bits || !rounds) {
    for (size_t s = 1; s < elements.size(); ++s) ReduceElement(type, op, result, elements[s]);
    return;
  }
  if (elements.size() == 1) return;
  const auto wide = [type](const void* p) {
    return type == DataType::kFp16 ? FloatFromHalf(Load<uint16_t>(p))
                                   : FloatFromBf16(Load<uint16_t>(p));
  };
  float acc = wide(result);
  for (size_t s = 1; s < elements.size(); ++s) acc = Apply(op, acc, wide(elements[s]));
  acc = Canonical(acc);
  const uint16_t narrow = type == DataType::kFp16 ? HalfFromFloat(acc) : Bf16FromFloat(acc);
  std::memcpy(result, &narrow, 2);
}

Accumulator AccumulatorSet() {
  const char* text = std::getenv("HCCLRUN_ACCUMULATE");
  return text && std::strcmp(text, "fp32") == 0 ? Accumulator::kFp32 : Accumulator::kElementType;
}

void RunReference(const Call& call, const std::vector<Bytes>& in, std::vector<Bytes>* out) {
  const uint64_t elem = ElementSize(call.type), n = call.count;
  const uint32_t ranks = call.ranks;
  // Offsets and counts in elements.
  const auto copy = [&](uint32_t from, uint64_t from_at, uint32_t to, uint64_t to_at,
                        uint64_t count) {
    for (uint64_t i = 0; i < count * elem; ++i)
      (*out)[to].at(to_at * elem + i) = in[from].at(from_at * elem + i);
  };
  const auto reduce = [&](uint64_t from_at, uint32_t to, uint64_t to_at, uint64_t count) {
    std::vector<const void*> elements(ranks);
    for (uint64_t i = 0; i < count; ++i) {
      for (uint32_t r = 0; r < ranks; ++r) elements[r] = &in[r].at((from_at + i) * elem);
      ReduceElements(call.type, call.reduce, call.accumulator, elements,
                     &(*out)[to].at((to_at + i) * elem));
    }
  };
  for (uint32_t me = 0; me < ranks; ++me) {
    switch (call.op) {
      case Op::kAllGather:
        for (uint32_t r = 0; r < ranks; ++r) copy(r, 0, me, r * n, n);
        break;
      case Op::kReduceScatter:
        reduce(me * n, me, 0, n);
        break;
      case Op::kAllReduce:  // the same everywhere
        me == 0 ? reduce(0, 0, 0, n)
                : void(std::copy_n((*out)[0].begin(), n * elem, (*out)[me].begin()));
        break;
      case Op::kAllToAll:
        for (uint32_t r = 0; r < ranks; ++r) copy(r, me * n, me, r * n, n);
        break;
      case Op::kBroadcast:
        copy(call.root, 0, me, 0, n);
        break;
      case Op::kReduce:
        if (me == call.root) reduce(0, me, 0, n);
        break;
      case Op::kScatter:
        copy(call.root, me * n, me, 0, n);
        break;
      case Op::kAllGatherV:
        for (uint32_t r = 0; r < ranks; ++r)
          copy(r, 0, me, call.recv_displs[0][r], call.recv_counts[0][r]);
        break;
      case Op::kReduceScatterV:
        reduce(call.send_displs[0][me], me, 0, call.send_counts[0][me]);
        break;
      case Op::kAllToAllV:
        for (uint32_t r = 0; r < ranks; ++r) {
          copy(r, call.send_displs[r][me], me, call.recv_displs[me][r], call.recv_counts[me][r]);
        }
        break;
      case Op::kAllToAllVC: {
        uint64_t to_at = 0;
        for (uint32_t r = 0; r < ranks; ++r) {
          uint64_t from_at = 0;
          for (uint32_t j = 0; j < me; ++j) from_at += call.send_counts[r][j];
          copy(r, from_at, me, to_at, call.send_counts[r][me]);
          to_at += call.send_counts[r][me];
        }
        break;
      }
      case Op::kSend:
      case Op::kRecv:
        if (me == call.peer) copy(call.root, 0, me, 0, n);
        break;
      case Op::kBarrier:
      case Op::kBatchSendRecv:
        break;
    }
  }
}

uint64_t Hash(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t h = 0x9e3779b97f4a7c15;
  for (uint64_t word : {a, b, c}) {
    h = (h ^ word) * 0xd6e8feb86659fd93;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93;
    h ^= h >> 29;
  }
  return h;
}

void FillValues(DataType type, uint64_t seed, uint32_t rank, uint64_t first, uint64_t count,
                void* to) {
  const uint64_t elem = ElementSize(type);
  auto* p = static_cast<uint8_t*>(to);
  for (uint64_t i = 0; i < count; ++i, p += elem) {
    const uint64_t h = Hash(seed, rank, first + i);
    // A significand of 24 bits scaled by 2^-8 ... 2^7.
    const float scale = static_cast<float>(1 << (h >> 24 & 15)) / 256.0f;
    const float magnitude = static_cast<float>((h & 0xffffff) + 1) / 16777216.0f * scale;
    const float number = h >> 63 ? -magnitude : magnitude;
    switch (type) {
      case DataType::kFp16: {
        const uint16_t v = HalfFromFloat(number);
        std::memcpy(p, &v, 2);
        break;
      }
      case DataType::kBf16: {
        const uint16_t v = Bf16FromFloat(number);
        std::memcpy(p, &v, 2);
        break;
      }
      case DataType::kFp32:
        std::memcpy(p, &number, 4);
        break;
      case DataType::kFp64: {
        const double v = number;
        std::memcpy(p, &v, 8);
        break;
      }
      default: {
        const uint64_t words[2] = {h, Hash(h)};
        std::memcpy(p, words, elem);
      }
    }
  }
}

Bytes MakeValues(DataType type, uint64_t seed, uint32_t rank, uint64_t count) {
  Bytes bytes(count * ElementSize(type));
  if (count != 0) FillValues(type, seed, rank, 0, count, bytes.data());
  return bytes;
}

}  // namespace hcclrun::testing
