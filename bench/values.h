#pragma once
// What the ranks put into their buffers and what has to come out, computed on each rank
// without any communication.
//
// Element i of rank r's input is entry i modulo the period of a table that is different for every
// rank and salt. The period is a prime: a block that arrives at another place of any size of ours
// does not go unnoticed. A reduction is computed on one period: in ascending rank order, rounded to
// the data type after each step (or, of 16-bit floats, at the end), so results are compared bit by
// bit. Tables are made when they are needed: in a job of hundreds of ranks each would otherwise
// spend most of its time and memory on them. This file shares no code with the library that is
// being checked.

#include <cstdint>
#include <vector>

#include "operations.h"

namespace hcclrun::bench {

class Values {
 public:
  static constexpr uint64_t kPeriod = 10007;      // of up to kFewRanks ranks
  static constexpr uint64_t kShortPeriod = 1009;  // of more
  static constexpr uint32_t kFewRanks = 64;

  // `fp32_sums`: fp16 and bfp16 are accumulated in fp32 (HCCLRUN_ACCUMULATE=fp32).
  Values(HcclDataType type, HcclReduceOp op, uint32_t ranks, uint64_t salt, bool fp32_sums = false);

  // The input of `rank`.
  void Fill(uint32_t rank, uint64_t elements, void* host) const;

  struct Mismatch {
    uint64_t wrong = 0;  // elements
    uint64_t first = 0;  // index of the first of them in the output
  };
  Mismatch Compare(Operation operation, const Shape& shape, uint32_t rank,
                   const void* output) const;

 private:
  using Table = std::vector<unsigned char>;  // a period of elements
  Table InputOf(uint32_t rank) const;
  Table Reduced() const;

  HcclDataType type_;
  HcclReduceOp op_;
  uint32_t ranks_;
  uint64_t salt_;
  bool fp32_sums_;
  uint64_t period_;
  size_t element_bytes_;
};

}  // namespace hcclrun::bench
