#include "operations.h"

#include "hcclrun/inspect.h"

namespace hcclrun::bench {
namespace {

struct TypeInfo {
  HcclDataType type;
  const char* name;
  size_t bytes;
};
constexpr TypeInfo kTypes[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1},     {HCCL_DATA_TYPE_INT16, "int16", 2},
    {HCCL_DATA_TYPE_INT32, "int32", 4},   {HCCL_DATA_TYPE_INT64, "int64", 8},
    {HCCL_DATA_TYPE_UINT8, "uint8", 1},   {HCCL_DATA_TYPE_UINT16, "uint16", 2},
    {HCCL_DATA_TYPE_UINT32, "uint32", 4}, {HCCL_DATA_TYPE_UINT64, "uint64", 8},
    {HCCL_DATA_TYPE_FP16, "fp16", 2},     {HCCL_DATA_TYPE_FP32, "fp32", 4},
    {HCCL_DATA_TYPE_FP64, "fp64", 8},     {HCCL_DATA_TYPE_BFP16, "bfp16", 2},
};

struct OpInfo {
  HcclReduceOp op;
  const char* name;
};
constexpr OpInfo kOps[] = {{HCCL_REDUCE_SUM, "sum"},
                           {HCCL_REDUCE_PROD, "prod"},
                           {HCCL_REDUCE_MAX, "max"},
                           {HCCL_REDUCE_MIN, "min"}};

}  // namespace

const char* Name(Operation operation) {
  switch (operation) {
    case Operation::kAllGather:
      return "allgather";
    case Operation::kReduceScatter:
      return "reducescatter";
    case Operation::kAllReduce:
      return "allreduce";
    case Operation::kAlltoAll:
      return "alltoall";
  }
  return "?";
}

bool Reduces(Operation operation) {
  return operation == Operation::kReduceScatter || operation == Operation::kAllReduce;
}

Shape ShapeFor(Operation operation, uint64_t bytes, size_t element_bytes, uint32_t ranks) {
  const uint64_t elements = (bytes + element_bytes - 1) / element_bytes;
  const uint64_t block = (elements + ranks - 1) / ranks;
  switch (operation) {
    case Operation::kAllGather:
      return {block, block, block * ranks, element_bytes};
    case Operation::kReduceScatter:
      return {block, block * ranks, block, element_bytes};
    case Operation::kAllReduce:
      return {elements, elements, elements, element_bytes};
    case Operation::kAlltoAll:
      break;
  }
  return {block, block * ranks, block * ranks, element_bytes};
}

void Run(Operation operation, const Shape& shape, HcclDataType type, HcclReduceOp op,
         const Buffer& in, const Buffer& out, const Session& session) {
  const uint64_t n = shape.count;
  HcclComm comm = session.comm();
  aclrtStream stream = session.stream();
  switch (operation) {
    case Operation::kAllGather:
      return BENCH_CHECK(HcclAllGather(in.data(), out.data(), n, type, comm, stream));
    case Operation::kReduceScatter:
      return BENCH_CHECK(HcclReduceScatter(in.data(), out.data(), n, type, op, comm, stream));
    case Operation::kAllReduce:
      return BENCH_CHECK(HcclAllReduce(in.data(), out.data(), n, type, op, comm, stream));
    case Operation::kAlltoAll:
      return BENCH_CHECK(HcclAlltoAll(in.data(), n, type, out.data(), n, type, comm, stream));
  }
}

double BusFactor(Operation operation, uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  return operation == Operation::kAllReduce ? 2 * others : others;
}

const char* PathTaken(const Session& session) {
  hcclrunPath path = HCCLRUN_PATH_BUFFERED;
  BENCH_CHECK(hcclrunLastPath(session.comm(), &path));
  return path == HCCLRUN_PATH_WINDOW ? "window" : "buffered";
}

bool ParseDataType(const std::string& name, HcclDataType* type) {
  for (const TypeInfo& info : kTypes) {
    if (name == info.name) {
      *type = info.type;
      return true;
    }
  }
  return false;
}

bool ParseReduceOp(const std::string& name, HcclReduceOp* op) {
  for (const OpInfo& info : kOps) {
    if (name == info.name) {
      *op = info.op;
      return true;
    }
  }
  return false;
}

const char* Name(HcclDataType type) {
  for (const TypeInfo& info : kTypes) {
    if (type == info.type) return info.name;
  }
  return "?";
}

const char* Name(HcclReduceOp op) {
  for (const OpInfo& info : kOps) {
    if (op == info.op) return info.name;
  }
  return "?";
}

size_t ElementBytes(HcclDataType type) {
  for (const TypeInfo& info : kTypes) {
    if (type == info.type) return info.bytes;
  }
  return 0;
}

}  // namespace hcclrun::bench
