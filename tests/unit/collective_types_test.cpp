#include <gtest/gtest.h>

#include "collective/types.h"

namespace hcclrun {
namespace {

constexpr DataType kReducible[] = {DataType::kInt8,  DataType::kInt16, DataType::kInt32,
                                   DataType::kInt64, DataType::kFp16,  DataType::kFp32,
                                   DataType::kBf16};

TEST(DataTypes, SizesOfUnknownTypesAreZero) {
  EXPECT_EQ(ElementSize(static_cast<DataType>(13)), 0u);
  EXPECT_EQ(ElementSize(static_cast<DataType>(18)), 0u);
  EXPECT_EQ(ElementSize(static_cast<DataType>(255)), 0u);
  EXPECT_EQ(ElementSize(DataType::kInt128), 16u);
  EXPECT_EQ(ElementSize(DataType::kBf16), 2u);
  EXPECT_EQ(ElementSize(DataType::kFp8E5M2), 1u);
}

TEST(DataTypes, ReductionsOfSemanticsC4) {
  for (int t = 0; t < 256; ++t) {
    for (int o = 0; o < 256; ++o) {
      const auto type = static_cast<DataType>(t);
      const auto op = static_cast<ReduceOp>(o);
      bool expected = false;
      for (DataType reducible : kReducible) expected |= type == reducible;
      if (o > 3) expected = false;
      if (op == ReduceOp::kProd && (type == DataType::kInt16 || type == DataType::kBf16))
        expected = false;
      EXPECT_EQ(ReductionSupported(type, op), expected) << t << " " << o;
      const bool window = expected && op != ReduceOp::kProd && type != DataType::kInt64;
      EXPECT_EQ(WindowReduction(type, op), window) << t << " " << o;
    }
  }
}

TEST(DataTypes, MovementTakesTwelveTypes) {
  int supported = 0;
  for (int t = 0; t < 256; ++t) supported += MovementSupported(static_cast<DataType>(t));
  EXPECT_EQ(supported, 12);
  EXPECT_TRUE(MovementSupported(DataType::kFp64));
  EXPECT_FALSE(MovementSupported(DataType::kInt128));
  EXPECT_FALSE(MovementSupported(DataType::kFp8E4M3));
}

TEST(Extents, AreThoseOfSemanticsC2) {
  const auto at = [](Op op, uint32_t rank) {
    const ExtentBytes e = Extents(op, 10, 4, 3, rank, 1);
    return std::pair{e.in_bytes, e.out_bytes};
  };
  EXPECT_EQ(at(Op::kAllGather, 0), (std::pair<uint64_t, uint64_t>{40, 120}));
  EXPECT_EQ(at(Op::kReduceScatter, 0), (std::pair<uint64_t, uint64_t>{120, 40}));
  EXPECT_EQ(at(Op::kAllReduce, 0), (std::pair<uint64_t, uint64_t>{40, 40}));
  EXPECT_EQ(at(Op::kAllToAll, 0), (std::pair<uint64_t, uint64_t>{120, 120}));
  EXPECT_EQ(at(Op::kBroadcast, 1), (std::pair<uint64_t, uint64_t>{40, 40}));
  EXPECT_EQ(at(Op::kBroadcast, 2), (std::pair<uint64_t, uint64_t>{0, 40}));
  EXPECT_EQ(at(Op::kReduce, 1), (std::pair<uint64_t, uint64_t>{40, 40}));
  EXPECT_EQ(at(Op::kReduce, 0), (std::pair<uint64_t, uint64_t>{40, 0}));
  EXPECT_EQ(at(Op::kScatter, 1), (std::pair<uint64_t, uint64_t>{120, 40}));
  EXPECT_EQ(at(Op::kScatter, 0), (std::pair<uint64_t, uint64_t>{0, 40}));
  EXPECT_EQ(at(Op::kBarrier, 0), (std::pair<uint64_t, uint64_t>{0, 0}));
}

TEST(Extents, SaturateInsteadOfWrapping) {
  EXPECT_EQ(Extents(Op::kAllReduce, UINT64_MAX / 2, 4, 1, 0, 0).in_bytes, UINT64_MAX);
  const ExtentBytes gather = Extents(Op::kAllGather, UINT64_MAX / 8, 4, 8, 0, 0);
  EXPECT_LT(gather.in_bytes, UINT64_MAX);
  EXPECT_EQ(gather.out_bytes, UINT64_MAX);
}

TEST(Names, AreTheUsersNames) {
  EXPECT_STREQ(Name(Op::kAllToAllVC), "AlltoAllVC");
  EXPECT_STREQ(Name(DataType::kBf16), "bfp16");
  EXPECT_STREQ(Name(ReduceOp::kProd), "prod");
  EXPECT_STREQ(Name(Path::kWindow), "window");
  EXPECT_STREQ(Name(static_cast<DataType>(200)), "unknown");
}

}  // namespace
}  // namespace hcclrun
