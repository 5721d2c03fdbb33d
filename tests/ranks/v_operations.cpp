#include "ranks/v_operations.h"

#include <cstdlib>

#include "ranks/arena.h"

namespace hcclrun::testing {

HcclResult EnqueueV(const Call& call, uint32_t rank, void* in, void* out, HcclComm comm,
                    aclrtStream stream) {
  const auto type = static_cast<HcclDataType>(call.type);
  VRow row = RowOf(call, rank);
  HcclResult result = HCCL_E_INTERNAL;
  switch (call.op) {
    case Op::kAllGatherV:
      result = HcclAllGatherV(in, row.recv_counts[rank], out, row.recv_counts.data(),
                              row.recv_displs.data(), type, comm, stream);
      break;
    case Op::kReduceScatterV:
      result =
          HcclReduceScatterV(in, row.send_counts.data(), row.send_displs.data(), out,
                             row.send_counts[rank], type, static_cast<HcclReduceOp>(call.reduce),
                             comm, stream);
      break;
    case Op::kAllToAllV:
      result = HcclAlltoAllV(in, row.send_counts.data(), row.send_displs.data(), type, out,
                             row.recv_counts.data(), row.recv_displs.data(), type, comm, stream);
      break;
    case Op::kAllToAllVC: {
      std::vector<uint64_t> matrix;
      for (const auto& counts : call.send_counts)
        matrix.insert(matrix.end(), counts.begin(), counts.end());
      result = HcclAlltoAllVC(in, matrix.data(), type, out, type, comm, stream);
      matrix.assign(matrix.size(), 0x5555);
      break;
    }
    default:
      std::abort();
  }
  for (auto* array : {&row.send_counts, &row.send_displs, &row.recv_counts, &row.recv_displs})
    array->assign(array->size(), 0x5555);
  return result;
}

bool SupportedV(const Call& call) {
  if (call.op != Op::kReduceScatterV) return true;
  Call uniform = call;
  uniform.op = Op::kReduceScatter;
  if (!Supported(uniform) || call.reduce == ReduceOp::kProd) return false;
  return call.type != DataType::kInt64 || call.reduce == ReduceOp::kSum;
}

}  // namespace hcclrun::testing
