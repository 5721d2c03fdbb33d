#include "support/v_calls.h"

#include <algorithm>

namespace hcclrun::testing {
namespace {

using Array = std::vector<uint64_t>;

Array RandomCounts(uint32_t n, uint64_t most, const Below& below) {
  Array counts(n);
  for (uint64_t& count : counts) count = below(3) == 0 ? 0 : below(most + 1);
  return counts;
}

// Blocks one behind the other in random order. Those without elements get a place nobody has.
Array RandomDisplacements(const Array& counts, uint64_t gap, const Below& below) {
  Array order(counts.size()), displs(counts.size());
  for (uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  for (uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  uint64_t at = 0;
  for (uint64_t i : order) {
    at += below(gap + 1);
    displs[i] = counts[i] == 0 ? UINT64_MAX / 3 : at;
    at += counts[i];
  }
  return displs;
}

Array PrefixSums(const Array& counts) {
  Array sums;
  uint64_t sum = 0;
  for (uint64_t count : counts) {
    sums.push_back(sum);
    sum += count;
  }
  return sums;
}

Array Column(const std::vector<Array>& rows, uint32_t column) {
  Array numbers;
  for (const Array& row : rows) numbers.push_back(row[column]);
  return numbers;
}

uint64_t End(const Array& counts, const Array& displs) {
  uint64_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) end = std::max(end, displs[i] + counts[i]);
  }
  return end;
}

}  // namespace

void RandomArrays(Call* call, uint64_t most, uint64_t gap, const Below& below) {
  const uint32_t n = call->ranks;
  if (call->op == Op::kAllGatherV) {
    call->recv_counts = {RandomCounts(n, most, below)};
    call->recv_displs = {RandomDisplacements(call->recv_counts[0], gap, below)};
    return;
  }
  if (call->op == Op::kReduceScatterV) {
    call->send_counts = {RandomCounts(n, most, below)};
    call->send_displs = {RandomDisplacements(call->send_counts[0], gap, below)};
    return;
  }
  call->send_counts.clear();
  for (uint32_t r = 0; r < n; ++r) call->send_counts.push_back(RandomCounts(n, most, below));
  if (call->op == Op::kAllToAllVC) return;
  call->send_displs.clear();
  call->recv_counts.clear();
  call->recv_displs.clear();
  for (uint32_t r = 0; r < n; ++r) {
    call->send_displs.push_back(RandomDisplacements(call->send_counts[r], gap, below));
    call->recv_counts.push_back(Column(call->send_counts, r));
    call->recv_displs.push_back(RandomDisplacements(call->recv_counts[r], gap, below));
  }
}

VRow RowOf(const Call& call, uint32_t rank) {
  VRow row;
  switch (call.op) {
    case Op::kAllGatherV:
      row.recv_counts = call.recv_counts[0];
      row.recv_displs = call.recv_displs[0];
      break;
    case Op::kReduceScatterV:
      row.send_counts = call.send_counts[0];
      row.send_displs = call.send_displs[0];
      break;
    case Op::kAllToAllV:
      row = {call.send_counts[rank], call.send_displs[rank], call.recv_counts[rank],
             call.recv_displs[rank]};
      break;
    default:
      row.send_counts = call.send_counts[rank];
      row.send_displs = PrefixSums(row.send_counts);
      row.recv_counts = Column(call.send_counts, rank);
      row.recv_displs = PrefixSums(row.recv_counts);
      break;
  }
  return row;
}

ExtentBytes VExtentsOf(const Call& call, uint32_t rank) {
  const VRow row = RowOf(call, rank);
  const uint64_t elem = ElementSize(call.type);
  switch (call.op) {
    case Op::kAllGatherV:
      return {row.recv_counts[rank] * elem, End(row.recv_counts, row.recv_displs) * elem};
    case Op::kReduceScatterV:
      return {End(row.send_counts, row.send_displs) * elem, row.send_counts[rank] * elem};
    default:
      return {End(row.send_counts, row.send_displs) * elem,
              End(row.recv_counts, row.recv_displs) * elem};
  }
}

}  // namespace hcclrun::testing
