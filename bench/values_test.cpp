#include "values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace hcclrun::bench {
namespace {

constexpr uint32_t kRanks = 3;

// What `rank` has to receive, put together from the inputs by another way than Compare's.
std::vector<int32_t> Expected(const Values& values, Operation operation, const Shape& shape,
                              uint32_t rank) {
  std::vector<std::vector<int32_t>> inputs(kRanks, std::vector<int32_t>(shape.in_elements));
  for (uint32_t r = 0; r < kRanks; ++r) values.Fill(r, shape.in_elements, inputs[r].data());
  std::vector<int32_t> out(shape.out_elements);
  for (uint64_t i = 0; i < out.size(); ++i) {
    const uint64_t block = i / shape.count, within = i % shape.count;
    switch (operation) {
      case Operation::kAllGather:
        out[i] = inputs[block][within];
        break;
      case Operation::kAlltoAll:
        out[i] = inputs[block][rank * shape.count + within];
        break;
      default: {
        const uint64_t at = operation == Operation::kReduceScatter ? rank * shape.count + i : i;
        uint32_t sum = 0;
        for (uint32_t r = 0; r < kRanks; ++r) sum += static_cast<uint32_t>(inputs[r][at]);
        out[i] = static_cast<int32_t>(sum);
      }
    }
  }
  return out;
}

class ValuesTest : public testing::TestWithParam<Operation> {};

TEST_P(ValuesTest, AcceptsTheRightResultAndCountsEveryWrongElement) {
  const Values values(HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, kRanks, 7);
  const Shape shape =
      ShapeFor(GetParam(), 3 * Values::kPeriod * sizeof(int32_t) + 20, sizeof(int32_t), kRanks);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    std::vector<int32_t> out = Expected(values, GetParam(), shape, rank);
    EXPECT_EQ(values.Compare(GetParam(), shape, rank, out.data()).wrong, 0u);
    out.front() ^= 1;
    out[out.size() / 2] ^= 1 << 30;
    out.back() ^= 1;
    const Values::Mismatch mismatch = values.Compare(GetParam(), shape, rank, out.data());
    EXPECT_EQ(mismatch.wrong, 3u);
    EXPECT_EQ(mismatch.first, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(AllOperations, ValuesTest, testing::ValuesIn(kOperations),
                         [](const auto& info) { return Name(info.param); });

// The expected bfloat16 sums are rounded after every step, so cutting the exact sum is mostly
// another number.
TEST(ValuesRounding, NarrowSumsDifferFromExactOnes) {
  const Values narrow(HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_SUM, 64, 1);
  const Values wide(HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 64, 1);
  const Shape shape = ShapeFor(Operation::kAllReduce, Values::kPeriod * 4, 4, 64);
  std::vector<double> exact(Values::kPeriod);
  std::vector<float> input(Values::kPeriod);
  for (uint32_t rank = 0; rank < 64; ++rank) {
    wide.Fill(rank, Values::kPeriod, input.data());
    for (uint64_t i = 0; i < Values::kPeriod; ++i) exact[i] += input[i];
  }
  std::vector<float> sums(exact.begin(), exact.end());
  EXPECT_EQ(wide.Compare(Operation::kAllReduce, shape, 0, sums.data()).wrong, 0u);
  std::vector<uint16_t> cut(Values::kPeriod);
  for (uint64_t i = 0; i < Values::kPeriod; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &sums[i], sizeof(bits));
    cut[i] = static_cast<uint16_t>(bits >> 16);
  }
  const Shape narrow_shape = ShapeFor(Operation::kAllReduce, Values::kPeriod * 2, 2, 64);
  EXPECT_GT(narrow.Compare(Operation::kAllReduce, narrow_shape, 0, cut.data()).wrong,
            Values::kPeriod / 4);
}

// One step in fp32 and one rounding at the end are the same for two ranks and not for many.
TEST(ValuesRounding, Fp32SumsAreRoundedAtTheEnd) {
  const Shape shape = ShapeFor(Operation::kAllReduce, 4 * Values::kShortPeriod, 2, 2);
  for (const uint32_t ranks : {2u, 100u}) {
    const Values each(HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_SUM, ranks, 1),
        at_the_end(HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_SUM, ranks, 1, true);
    std::vector<float> sums(shape.count);
    std::vector<uint16_t> input(shape.count), rounded(shape.count);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      each.Fill(rank, shape.count, input.data());
      for (uint64_t i = 0; i < shape.count; ++i) {
        const uint32_t bits = uint32_t{input[i]} << 16;
        float value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        sums[i] += value;
      }
    }
    for (uint64_t i = 0; i < shape.count; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, &sums[i], sizeof(bits));
      rounded[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    EXPECT_EQ(at_the_end.Compare(Operation::kAllReduce, shape, 0, rounded.data()).wrong, 0u);
    EXPECT_EQ(each.Compare(Operation::kAllReduce, shape, 0, rounded.data()).wrong == 0, ranks == 2);
  }
}

TEST(ValuesInput, DiffersBetweenRanksAndSalts) {
  const Values a(HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, 2, 0),
      b(HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, 2, 1);
  std::vector<int64_t> a0(100), a1(100), b0(100);
  a.Fill(0, 100, a0.data());
  a.Fill(1, 100, a1.data());
  b.Fill(0, 100, b0.data());
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(a0[i], a1[i]);
    EXPECT_NE(a0[i], b0[i]);
  }
}

}  // namespace
}  // namespace hcclrun::bench
