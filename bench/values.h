#pragma once
// What the ranks put into their buffers and what has to come out, computed on each rank
// without any communication.
//
// Element i of rank r's input is entry i modulo kPeriod of a table that is different for every rank
// and salt. The period is a prime: a block that arrives at another place of any size of ours does
// not go unnoticed. A reduction is computed on one period: in ascending rank order, rounded to the
// data type after each step, so results are compared bit by bit. This file shares no code with the
// library that is being checked.

#include <cstdint>
#include <vector>

#include "operations.h"

namespace hcclrun::bench {

class Values {
 public:
  static constexpr uint64_t kPeriod = 10007;

  Values(HcclDataType type, HcclReduceOp op, uint32_t ranks, uint64_t salt);

  // The input of `rank`.
  void Fill(uint32_t rank, uint64_t elements, void* host) const;

  struct Mismatch {
    uint64_t wrong = 0;  // elements
    uint64_t first = 0;  // index of the first of them in the output
  };
  Mismatch Compare(Operation operation, const Shape& shape, uint32_t rank,
                   const void* output) const;

 private:
  const unsigned char* Table(uint32_t rank) const {
    return &inputs_[rank * kPeriod * element_bytes_];
  }

  uint32_t ranks_;
  size_t element_bytes_;
  std::vector<unsigned char> inputs_;   // kPeriod elements for each rank
  std::vector<unsigned char> reduced_;  // kPeriod elements
};

}  // namespace hcclrun::bench
