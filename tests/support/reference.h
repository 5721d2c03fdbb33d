#pragma once
// What every collective must give, written as plainly as possible: one element at a time, every
// rank's buffers at hand. Shares no code with the runtime but the enumerations, not even the
// conversions of 16-bit floats.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace hcclrun::testing {

using Bytes = std::vector<uint8_t>;

// IEEE 754 binary16 and bfloat16, in integer arithmetic only; to nearest even. NaN becomes the
// positive quiet NaN without payload.
uint16_t HalfFromFloat(float value);
float FloatFromHalf(uint16_t half);
uint16_t Bf16FromFloat(float value);
float FloatFromBf16(uint16_t value);

// *acc = *acc op *x, one element, rounded to the type. A NaN result is canonical.
void ReduceElement(DataType type, ReduceOp op, void* acc, const void* x);

// *result = *elements[0] op *elements[1] op ..., from left to right, one element each.
void ReduceElements(DataType type, ReduceOp op, Accumulator accumulator,
                    const std::vector<const void*>& elements, void* result);

// As HCCLRUN_ACCUMULATE says.
Accumulator AccumulatorSet();

// An operation as its caller describes it. Counts and displacements are in elements.
struct Call {
  Op op = Op::kAllReduce;
  DataType type = DataType::kFp32;
  ReduceOp reduce = ReduceOp::kSum;
  Accumulator accumulator = Accumulator::kElementType;
  uint32_t ranks = 1;
  uint32_t root = 0;
  uint64_t count = 0;  // unit of the operation; Send/Recv: root sends to `peer`
  uint32_t peer = 0;
  // AllGatherV (recv), ReduceScatterV (send): one row, per rank. AlltoAllV: row r is rank r's
  // array. AlltoAllVC: the matrix in send_counts, packed data.
  std::vector<std::vector<uint64_t>> send_counts, send_displs, recv_counts, recv_displs;
};

// Applies the call. `in` holds every rank's input, `out` every rank's output as it is before the
// call; bytes which the operation does not write keep their value. Ranks whose extent is 0 may pass
// empty buffers.
void RunReference(const Call& call, const std::vector<Bytes>& in, std::vector<Bytes>* out);

// Elements [first, first + count) of rank `rank`'s data, a pure function of its arguments. Integers
// use all bits. Floats are finite numbers of mixed sign and magnitude, so that the order and the
// rounding of a sum show.
void FillValues(DataType type, uint64_t seed, uint32_t rank, uint64_t first, uint64_t count,
                void* to);
Bytes MakeValues(DataType type, uint64_t seed, uint32_t rank, uint64_t count);

// A uniformly distributed function of its arguments.
uint64_t Hash(uint64_t a, uint64_t b = 0, uint64_t c = 0);

}  // namespace hcclrun::testing
