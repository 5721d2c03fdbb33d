#pragma once
// The four collectives as a benchmark sees them: names, sizes, bandwidth factors, and the call.

#include <cstddef>
#include <cstdint>
#include <string>

#include "buffers.h"
#include "hccl/hccl.h"

namespace hcclrun::bench {

enum class Operation { kAllGather, kReduceScatter, kAllReduce, kAlltoAll };
inline constexpr Operation kOperations[] = {Operation::kAllGather, Operation::kReduceScatter,
                                            Operation::kAllReduce, Operation::kAlltoAll};

const char* Name(Operation operation);  // lower case, without separators
bool Reduces(Operation operation);      // whether it takes a reduce operation

// Sizes of one call. "bytes" of a benchmark is the larger one of a rank's two buffers: what
// AllGather and AlltoAll receive, what ReduceScatter sends, what AllReduce sends and receives.
struct Shape {
  uint64_t count;         // the call's count argument
  uint64_t in_elements;   // of a rank's input
  uint64_t out_elements;  // of a rank's output
  size_t element_bytes;

  uint64_t in_bytes() const { return in_elements * element_bytes; }
  uint64_t out_bytes() const { return out_elements * element_bytes; }
  uint64_t bytes() const { return in_bytes() > out_bytes() ? in_bytes() : out_bytes(); }
};

// The smallest shape of at least `bytes`: sizes are rounded up to whole elements in equal blocks.
Shape ShapeFor(Operation operation, uint64_t bytes, size_t element_bytes, uint32_t ranks);

// Queues the operation; ends the process if the call fails.
void Run(Operation operation, const Shape& shape, HcclDataType type, HcclReduceOp op,
         const Buffer& in, const Buffer& out, const Session& session);

// busbw / algbw: the part of `bytes` that a rank has to exchange with others, counted as nccl-tests
// and hccl_test do.
double BusFactor(Operation operation, uint32_t ranks);

// How the session's last operation, already synchronised, moved its data: "window" or "buffered".
const char* PathTaken(const Session& session);

// Names as in hccl_test: int8 ... bfp16; sum prod max min. False if there is none of that name.
bool ParseDataType(const std::string& name, HcclDataType* type);
bool ParseReduceOp(const std::string& name, HcclReduceOp* op);
const char* Name(HcclDataType type);
const char* Name(HcclReduceOp op);
size_t ElementBytes(HcclDataType type);

}  // namespace hcclrun::bench
