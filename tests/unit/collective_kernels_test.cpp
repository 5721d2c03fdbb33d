// The kernels against an element-by-element reference, bit for bit, on every instruction set this
// machine has.

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "collective/kernels.h"
#include "collective/kernels_scalar.h"
#include "support/reference.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hcclrun {
namespace {

using testing::Bytes;

constexpr DataType kTypes[] = {DataType::kInt8,  DataType::kInt16, DataType::kInt32,
                               DataType::kInt64, DataType::kFp16,  DataType::kFp32,
                               DataType::kBf16};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin};

struct Combination {
  DataType type;
  ReduceOp op;
  Accumulator accumulator;
};

std::vector<Combination> AllCombinations() {
  std::vector<Combination> all;
  for (DataType type : kTypes) {
    for (ReduceOp op : kOps) {
      if (!ReductionSupported(type, op)) continue;
      all.push_back({type, op, Accumulator::kElementType});
      if (ElementSize(type) == 2) all.push_back({type, op, Accumulator::kFp32});
    }
  }
  return all;
}

// Interesting encodings of a type: zeros, subnormals, ones, ties, the largest finite numbers,
// infinities, NaNs.
std::vector<uint64_t> Specials(DataType type) {
  switch (type) {
    case DataType::kFp16:
      return {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x83ff, 0x3c00,
              0x3c01, 0xbc00, 0x1000, 0x1001, 0x1400, 0x6800, 0x7bff, 0xfbff,
              0x7800, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe00, 0xffff, 0x7fff};
    case DataType::kBf16:
      return {0,      0x8000, 1,      0x8001, 0x007f, 0x0080, 0x3f80, 0x3f81,
              0xbf80, 0x3b80, 0x3b81, 0x3c00, 0x7f7f, 0xff7f, 0x7f00, 0x7f80,
              0xff80, 0x7f81, 0x7fc0, 0xffc0, 0xffff, 0x7fff, 0x4300, 0x4301};
    case DataType::kFp32:
      return {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
              0x3f800000, 0x3f800001, 0xbf800000, 0x33800000, 0x33800001, 0x7f7fffff,
              0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0xffc00000,
              0xffffffff, 0x7fffffff, 0x1f800000, 0x20000000};
    default: {
      const uint64_t top = uint64_t{1} << (8 * ElementSize(type) - 1);
      return {
          0, 1, ~uint64_t{0}, top, top - 1, top + 1, 2, 3, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa};
    }
  }
}

enum class Content { kOrdinary, kAnyBits, kSpecials };

void Fill(DataType type, Content content, std::mt19937_64& random, uint64_t count, uint8_t* to) {
  const uint32_t elem = ElementSize(type);
  if (content == Content::kOrdinary) return testing::FillValues(type, random(), 0, 0, count, to);
  const std::vector<uint64_t> specials = Specials(type);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bits =
        content == Content::kAnyBits ? random() : specials[random() % specials.size()];
    std::memcpy(to + i * elem, &bits, elem);
  }
}

Bytes Expected(const Combination& c, const std::vector<const void*>& src, uint64_t count) {
  const uint32_t elem = ElementSize(c.type);
  Bytes result(count * elem);
  std::vector<const void*> elements = src;
  for (uint64_t i = 0; i < count; ++i) {
    testing::ReduceElements(c.type, c.op, c.accumulator, elements, &result[i * elem]);
    for (const void*& p : elements) p = static_cast<const uint8_t*>(p) + elem;
  }
  return result;
}

// A buffer at a chosen distance from a line boundary, between bytes that must not change.
class Guarded {
 public:
  Guarded(uint64_t bytes, uint64_t phase)
      : bytes_(bytes),
        storage_(bytes + 4 * kGuard, 0xa5),
        begin_(Align(storage_.data()) + kGuard + phase % 64) {}
  uint8_t* data() { return begin_; }
  bool Intact() const {
    return std::all_of(storage_.data(), static_cast<const uint8_t*>(begin_),
                       [](uint8_t b) { return b == 0xa5; }) &&
           std::all_of(static_cast<const uint8_t*>(begin_) + bytes_,
                       storage_.data() + storage_.size(), [](uint8_t b) { return b == 0xa5; });
  }

 private:
  static constexpr uint64_t kGuard = 64;
  static uint8_t* Align(uint8_t* p) { return p + (64 - reinterpret_cast<uintptr_t>(p) % 64) % 64; }
  uint64_t bytes_;
  Bytes storage_;
  uint8_t* begin_;
};

// The instruction sets that the kernels are compiled for and this processor has.
std::vector<int64_t> Targets() {
#if defined(__x86_64__)
  std::vector<int64_t> targets = {HWY_SCALAR};  // the fallback, which the processor does not report
  for (int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
    if (hwy::SupportedTargets() & target) targets.push_back(target);
  }
  return targets;
#else
  return {HWY_STATIC_TARGET};  // not chosen at run time
#endif
}

class Kernels : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(GetParam()); }
  void TearDown() override { hwy::GetChosenTarget().DeInit(); }
};

INSTANTIATE_TEST_SUITE_P(EveryTarget, Kernels, ::testing::ValuesIn(Targets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

struct Case : Combination {
  int nsrc, ndst;
  uint64_t count;
  Content content;
  bool streaming;
  bool same_phase;  // destinations alike in their lines, as streaming needs
  bool misalign;    // even off the element's size
  int alias;        // index of the source that the first destination is; -1: none
};

void RunCase(const Case& c, std::mt19937_64& random) {
  SCOPED_TRACE(::testing::Message()
               << Name(c.type) << " " << Name(c.op) << " " << c.nsrc << " -> " << c.ndst
               << ", count " << c.count << ", content " << static_cast<int>(c.content)
               << ", streaming " << c.streaming << ", alias " << c.alias << ", accumulator "
               << static_cast<int>(c.accumulator));
  const uint32_t elem = ElementSize(c.type);
  const auto phase = [&] { return c.misalign ? random() : random() * elem; };
  const uint64_t common = phase();
  std::vector<Guarded> in, out;
  std::vector<const void*> src;
  std::vector<void*> dst;
  for (int s = 0; s < c.nsrc; ++s) {
    in.emplace_back(c.count * elem, s == c.alias && c.same_phase ? common : phase());
    Fill(c.type, c.content, random, c.count, in.back().data());
  }
  for (int d = 0; d < c.ndst; ++d)
    out.emplace_back(c.count * elem, c.same_phase ? common : phase());
  for (Guarded& g : in) src.push_back(g.data());
  for (Guarded& g : out) dst.push_back(g.data());
  if (c.alias >= 0) dst[0] = in[static_cast<size_t>(c.alias)].data();

  const Bytes expected = Expected(c, src, c.count);
  Reduce(c.type, c.op, dst.data(), c.ndst, src.data(), c.nsrc, c.count, c.streaming, c.accumulator);
  for (int d = 0; d < c.ndst; ++d) {
    const auto* got = static_cast<const uint8_t*>(dst[static_cast<size_t>(d)]);
    for (uint64_t i = 0; i < c.count; ++i) {
      if (std::memcmp(got + i * elem, &expected[i * elem], elem) != 0) {
        uint64_t g = 0, e = 0;
        std::memcpy(&g, got + i * elem, elem);
        std::memcpy(&e, &expected[i * elem], elem);
        FAIL() << "destination " << d << " element " << i << std::hex << " is 0x" << g
               << ", expected 0x" << e;
      }
    }
  }
  for (const Guarded& g : in) ASSERT_TRUE(g.Intact());
  for (const Guarded& g : out) ASSERT_TRUE(g.Intact());
}

TEST_P(Kernels, ReduceEqualsTheReferenceBitForBit) {
  std::mt19937_64 random(1);
  for (const Combination& combination : AllCombinations()) {
    for (int i = 0; i < 60; ++i) {
      Case c{combination, 0, 0, 0, Content::kOrdinary, false, false, false, -1};
      c.nsrc = 1 + static_cast<int>(random() % 9);
      c.ndst = 1 + static_cast<int>(random() % 9);
      c.count = i < 20 ? static_cast<uint64_t>(i) : random() % 301;
      c.content = static_cast<Content>(random() % 3);
      c.streaming = random() % 2;
      c.same_phase = random() % 2;
      c.misalign = random() % 4 == 0;
      c.alias = random() % 2 ? static_cast<int>(random() % static_cast<uint64_t>(c.nsrc)) : -1;
      RunCase(c, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Kernels, ReduceOfManySources) {
  std::mt19937_64 random(2);
  for (const Combination& combination : AllCombinations()) {
    for (bool streaming : {false, true}) {
      RunCase({combination, 64, 9, 1 + random() % 300, Content::kOrdinary, streaming, true, false,
               static_cast<int>(random() % 64)},
              random);
      RunCase(
          {combination, 64, 1, 1 + random() % 300, Content::kAnyBits, streaming, true, false, -1},
          random);
      if (HasFatalFailure()) return;
    }
  }
  RunCase({{DataType::kFp16, ReduceOp::kSum, Accumulator::kElementType},
           384,
           384,
           77,
           Content::kOrdinary,
           true,
           true,
           false,
           383},
          random);
}

TEST_P(Kernels, ReduceOfLongRanges) {
  std::mt19937_64 random(3);
  for (const Combination& combination : AllCombinations()) {
    RunCase({combination, 3, 2, 20000 + random() % 100, Content::kOrdinary, true, true, false, 1},
            random);
    if (HasFatalFailure()) return;
  }
}

// Every fp16 and bf16 number against special and random ones; in sums also with a third source of
// -0, which changes nothing but takes the way of several steps.
TEST_P(Kernels, SixteenBitFloatsExhaustively) {
  std::mt19937_64 random(4);
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Combination& c : AllCombinations()) {
    const auto [type, op, accumulator] = c;
    if (type != DataType::kFp16 && type != DataType::kBf16) continue;
    std::vector<uint64_t> others = Specials(type);
    while (others.size() < 40) others.push_back(random() & 0xffff);
    for (uint64_t other : others) {
      const std::vector<uint16_t> second(all.size(), static_cast<uint16_t>(other));
      const std::vector<uint16_t> zeros(all.size(), 0x8000);
      for (int nsrc : {2, 3}) {
        if (nsrc == 3 && (op != ReduceOp::kSum || accumulator != Accumulator::kElementType)) break;
        std::vector<const void*> src = {all.data(), second.data(), zeros.data()};
        src.resize(static_cast<size_t>(nsrc));
        std::vector<uint16_t> result(all.size());
        void* dst = result.data();
        Reduce(type, op, &dst, 1, src.data(), nsrc, all.size(), false, accumulator);
        const Bytes expected = Expected(c, src, all.size());
        for (size_t i = 0; i < all.size(); ++i) {
          uint16_t e;
          std::memcpy(&e, &expected[2 * i], 2);
          ASSERT_EQ(result[i], e) << std::hex << Name(type) << " " << Name(op) << " of " << i
                                  << " and " << other << ", " << nsrc << " sources";
        }
      }
    }
  }
}

TEST_P(Kernels, ResultDoesNotDependOnTheSplit) {
  std::mt19937_64 random(5);
  constexpr uint64_t kCount = 3001;
  for (const Combination& combination : AllCombinations()) {
    const uint32_t elem = ElementSize(combination.type);
    std::vector<Bytes> in(5, Bytes(kCount * elem));
    std::vector<const void*> src;
    for (Bytes& bytes : in) {
      Fill(combination.type, Content::kOrdinary, random, kCount, bytes.data());
      src.push_back(bytes.data());
    }
    Bytes whole(kCount * elem), parts(kCount * elem);
    void* dst = whole.data();
    Reduce(combination.type, combination.op, &dst, 1, src.data(), 5, kCount, false,
           combination.accumulator);
    for (uint64_t at = 0; at < kCount;) {
      const uint64_t n = std::min(kCount - at, 1 + random() % 200);
      std::vector<const void*> from;
      for (Bytes& bytes : in) from.push_back(bytes.data() + at * elem);
      void* to = parts.data() + at * elem;
      Reduce(combination.type, combination.op, &to, 1, from.data(), 5, n, random() % 2,
             combination.accumulator);
      at += n;
    }
    ASSERT_EQ(whole, parts) << Name(combination.type) << " " << Name(combination.op);
  }
}

// 256 + 1 is a tie in bf16, 2048 + 1 one in fp16: both are lost if every step is rounded.
TEST_P(Kernels, Fp32AccumulatorKeepsWhatEveryStepWouldLose) {
  const struct {
    DataType type;
    uint16_t large, one, each_step, at_the_end;
  } cases[] = {{DataType::kBf16, 0x4380, 0x3f80, 0x4380, 0x4388},
               {DataType::kFp16, 0x6800, 0x3c00, 0x6800, 0x6808}};
  for (const auto& c : cases) {
    std::vector<const void*> src(17, &c.one);
    src[0] = &c.large;
    uint16_t result = 0;
    void* dst = &result;
    Reduce(c.type, ReduceOp::kSum, &dst, 1, src.data(), 17, 1, false, Accumulator::kElementType);
    EXPECT_EQ(result, c.each_step) << Name(c.type);
    Reduce(c.type, ReduceOp::kSum, &dst, 1, src.data(), 17, 1, false, Accumulator::kFp32);
    EXPECT_EQ(result, c.at_the_end) << Name(c.type);
  }
}

// Floating-point modes that a program sets for itself neither change the result nor are lost.
TEST_P(Kernels, ModesOfTheThreadAreSetAside) {
  std::mt19937_64 random(6);
  const int rounding = std::fegetround();
  for (const Combination& c : AllCombinations()) {
    const auto [type, op, accumulator] = c;
    if (type != DataType::kFp32 && type != DataType::kFp16 && type != DataType::kBf16) continue;
    if (op != ReduceOp::kSum && op != ReduceOp::kProd) continue;
    const uint32_t elem = ElementSize(type);
    for (Content content : {Content::kOrdinary, Content::kSpecials}) {
      std::vector<Bytes> in(4, Bytes(200 * elem));
      std::vector<const void*> src;
      for (Bytes& bytes : in) {
        Fill(type, content, random, 200, bytes.data());
        src.push_back(bytes.data());
      }
      const Bytes expected = Expected(c, src, 200);
      Bytes result(200 * elem);
      void* dst = result.data();
      std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
      const unsigned saved = _mm_getcsr();
      _mm_setcsr(saved | 0x8040);  // flush to zero, denormals are zero
#endif
      Reduce(type, op, &dst, 1, src.data(), 4, 200, false, accumulator);
#if defined(__x86_64__)
      const unsigned after = _mm_getcsr();
      _mm_setcsr(saved);
      EXPECT_EQ(after & 0xffc0, (saved | 0x8040) & 0xffc0);
#endif
      EXPECT_EQ(std::fegetround(), FE_UPWARD);
      std::fesetround(rounding);
      EXPECT_EQ(result, expected) << Name(type) << " " << Name(op);
    }
  }
}

TEST_P(Kernels, CopyWritesTheBytesAndNoOthers) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t bytes = i < 300 ? static_cast<uint64_t>(i) : random() % 5000;
    const int ndst = 1 + static_cast<int>(random() % 9);
    const bool same_phase = random() % 2;
    const uint64_t common = random();
    Guarded source(bytes, common);
    Fill(DataType::kInt8, Content::kAnyBits, random, bytes, source.data());
    const Bytes expected(source.data(), source.data() + bytes);
    std::vector<Guarded> out;
    std::vector<char*> dst;
    for (int d = 0; d < ndst; ++d) out.emplace_back(bytes, same_phase ? common : random());
    for (Guarded& g : out) dst.push_back(reinterpret_cast<char*>(g.data()));
    if (random() % 3 == 0) dst[random() % dst.size()] = reinterpret_cast<char*>(source.data());
    CopyBytes(dst.data(), ndst, reinterpret_cast<const char*>(source.data()), bytes, random() % 2);
    for (char* d : dst)
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), reinterpret_cast<uint8_t*>(d)));
    ASSERT_TRUE(source.Intact());
    for (const Guarded& g : out) ASSERT_TRUE(g.Intact());
  }
}

// The reference's conversions against their definition, and the runtime's against the reference's.
TEST(SixteenBitFloats, ConversionsAgreeOnAllValues) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
    const float half = testing::FloatFromHalf(bits);
    if (exponent == 31) {
      ASSERT_TRUE(fraction == 0 ? std::isinf(half) && std::signbit(half) == (bits >> 15)
                                : std::isnan(half))
          << i;
    } else {
      const double value =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      ASSERT_EQ(half, sign * value) << i;
      ASSERT_EQ(std::signbit(half), bits >> 15) << i;
    }
    ASSERT_EQ(testing::HalfFromFloat(half), std::isnan(half) ? 0x7e00 : bits) << i;
    const float wide = testing::FloatFromBf16(bits);
    ASSERT_EQ(testing::Bf16FromFloat(wide), std::isnan(wide) ? 0x7fc0 : bits) << i;

    ASSERT_EQ(testing::HalfFromFloat(kernels::HalfToFloat(bits)), testing::HalfFromFloat(half))
        << i;
    // The value itself, the next halfway point, and their neighbours.
    for (float base : {half, wide}) {
      for (uint32_t step : {0u, 1u, ~0u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
        const float value = std::bit_cast<float>(std::bit_cast<uint32_t>(base) + step);
        if (std::isnan(value)) {  // its sign goes when the result is made canonical
          ASSERT_EQ(kernels::FloatToHalf(value) & 0x7fff, 0x7e00) << i << " " << step;
          continue;
        }
        ASSERT_EQ(kernels::FloatToHalf(value), testing::HalfFromFloat(value)) << i << " " << step;
        ASSERT_EQ(kernels::FloatToBf16(value), testing::Bf16FromFloat(value)) << i << " " << step;
      }
    }
  }
}

TEST(SixteenBitFloats, RoundToNearestEven) {
  // 2048 + 1 is a tie between 2048 and 2050 for a half; 2050 + 1 one between 2050 and 2052.
  EXPECT_EQ(testing::HalfFromFloat(2049.0f), testing::HalfFromFloat(2048.0f));
  EXPECT_EQ(testing::HalfFromFloat(2051.0f), testing::HalfFromFloat(2052.0f));
  EXPECT_EQ(testing::HalfFromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(testing::HalfFromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(testing::HalfFromFloat(0x1p-25f), 0);
  EXPECT_EQ(testing::HalfFromFloat(0x1.8p-25f), 1);
  EXPECT_EQ(testing::Bf16FromFloat(257.0f), testing::Bf16FromFloat(256.0f));
  EXPECT_EQ(testing::Bf16FromFloat(259.0f), testing::Bf16FromFloat(260.0f));
}

}  // namespace
}  // namespace hcclrun
