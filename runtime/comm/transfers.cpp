// Communicator's half of sends and receives: arguments become numbered transfers of a task.

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/strict_mode.h"
#include "comm/communicator.h"
#include "comm/thresholds.h"
#include "comm/transfer_task.h"

namespace hcclrun {
namespace {

// `posted`: when it was called and posted; 0: it is called now.
OperationNote RecordTransfer(uint32_t comm, const Transfer& t, uint64_t posted) {
  if (!Recorder::Mine()) return {};
  OperationFacts facts;
  facts.kind = t.end == kSenderEnd ? OperationRecord::kSend : OperationRecord::kReceive;
  facts.comm = comm;
  facts.stream = t.call.stream;
  facts.call = t.call.call;
  facts.sequence = t.number;
  facts.count = t.call.count;
  facts.bytes = t.buffer.bytes;
  facts.peer = t.peer;
  facts.op = static_cast<uint8_t>(t.end == kSenderEnd ? Op::kSend : Op::kRecv);
  facts.dtype = t.call.dtype;
  facts.called = facts.posted = posted;
  return Recorder::Operation(facts);
}

}  // namespace

// Both ends do this before they touch the channel; what has pages stays as it is. Few pairs of many
// ranks talk to each other, and the table of all is large: 4.4 GB for 1024 ranks.
Fault Communicator::CommitChannel(TransferEnd end, uint32_t peer) {
  std::vector<bool>& there = has_channel_[end];
  there.resize(size_);
  if (there[peer]) return Fault::None();
  const char* channel = reinterpret_cast<const char*>(&view().channel(rank_, end, peer));
  const uint64_t offset = uint64_t(channel - reinterpret_cast<const char*>(view().header));
  if (Fault f = membership_->object.EnsurePages(offset, sizeof(TransferChannel))) return f;
  there[peer] = true;
  return Fault::None();
}

// Items of one call whose buffers overlap, a receive among them: no order says who writes first.
Fault Communicator::CheckOverlap(CallId call, absl::Span<const TransferRequest> requests) {
  struct Range {
    const char *begin, *end;
    bool received;
  };
  absl::InlinedVector<Range, 16> ranges;
  for (const TransferRequest& request : requests) {
    const char* begin = static_cast<const char*>(request.buffer);
    ranges.push_back({begin, begin + request.count * ElementSize(request.dtype),
                      request.end == kReceiverEnd});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const Range* last = &ranges[0];                 // that reaches furthest
  const Range* written = last->received ? last : nullptr;  // likewise, of receives
  for (size_t i = 1; i < ranges.size(); i++) {
    const Range& range = ranges[i];
    const Range* other = range.received ? last : written;
    if (other && range.begin < other->end && range.begin < range.end)
      return OverlapFault(call, other->begin, uint64_t(other->end - other->begin), range.begin,
                          uint64_t(range.end - range.begin));
    if (range.end > last->end) last = &range;
    if (range.received && (!written || range.end > written->end)) written = &range;
  }
  return Fault::None();
}

Fault Communicator::SubmitTransfers(CallId call, absl::Span<const TransferRequest> requests,
                                    const std::shared_ptr<Stream>& stream) {
  if (stream->device() != device_) return Fault(FaultKind::kStreamOfOtherContext, {0});
  const char* parameter = call == CallId::HcclSend   ? "sendBuf"
                          : call == CallId::HcclRecv ? "recvBuf"
                                                     : "buf";
  for (const TransferRequest& request : requests) {
    if (connected()) break;
    const uint64_t bytes = request.count * ElementSize(request.dtype);
    if (Fault f = CheckBuffer(request.buffer, bytes, parameter)) return f;
  }
  if (Fault f = Ready()) return f;
  if (!GoesOn()) {
    if (Fault f = AsyncFault()) return f;
  }
  if (requests.size() > 1) {
    if (Fault f = CheckOverlap(call, requests)) return f;
  }
  std::lock_guard<IssueLock> lock(issuing_);
  Transfers transfers;
  transfers.reserve(requests.size());
  uint64_t bytes = 0;
  for (const TransferRequest& request : requests) {
    Buffer buffer;
    if (Fault f =
            Locate(request.buffer, request.count * ElementSize(request.dtype), parameter, &buffer))
      return f;
    bytes += buffer.bytes;
    const Transfer t = Describe(call, request, buffer, stream->id());
    if (Fault f = CommitChannel(t.end, t.peer)) return f;
    transfers.push_back(t);
  }

  RankRecord& record = view().ranks[rank_];
  const uint64_t number = record.transfers.load(std::memory_order_relaxed);
  for (const Transfer& t : transfers) next_transfer_[t.end].resize(size_);
  for (Transfer& t : transfers) {
    t.number = next_transfer_[t.end][t.peer]++;
    t.call.number = number;
  }
  for (Transfer& t : transfers) t.note = RecordTransfer(record_, t, 0);
  record.call.store(static_cast<uint32_t>(call), std::memory_order_relaxed);
  const auto failed = [&](FaultKind kind) {
    for (const Transfer& t : transfers) t.note.Failed(static_cast<uint32_t>(kind));
  };
  bool queued = false;
  if (bytes <= kInlineBytes && stream->Idle()) {  // as Communicator::Queue()
    try {
      TransferTask task(Borrowed(), call, transfers);
      queued = stream->RunAtOnce(task, TransferTask::Keep);
    } catch (const std::bad_alloc&) {
      InsteadOfKeeping();
      failed(FaultKind::kHostMemory);
      throw;
    }
  }
  if (!queued) {
    const auto uncount = [&](FaultKind kind) {  // nobody has seen them
      for (const Transfer& t : transfers) next_transfer_[t.end][t.peer]--;
      failed(kind);
    };
    std::unique_ptr<TransferTask> task;
    try {
      task = std::make_unique<TransferTask>(shared_from_this(), call, transfers);
    } catch (const std::bad_alloc&) {
      uncount(FaultKind::kHostMemory);
      throw;
    }
    if (Fault f = stream->Enqueue(std::move(task))) {
      uncount(f.kind);
      return f;
    }
  }
  record.transfers.store(number + 1, std::memory_order_relaxed);
  // Whoever reads it asks for a rank that has left, which it did later.
  for (const Transfer& t : transfers) {
    view()
        .channel(rank_, t.end, t.peer)
        .called[t.end]
        .store(t.number + 1, std::memory_order_release);
  }
  return Fault::None();
}

Transfer Communicator::Describe(CallId call, const TransferRequest& request, const Buffer& buffer,
                                uint32_t stream) const {
  Transfer t{};
  t.buffer = buffer;
  t.end = request.end;
  t.peer = request.peer;
  t.given = t.buffer.address;
  // The user may unmap the buffer before the transfer runs; the heap stays mapped. A private one
  // keeps the program's address, to be looked up again.
  if (!buffer.is_private) t.buffer.address = heap_base(rank_) + buffer.heap_offset;
  t.call.count = request.count;
  t.call.offset = buffer.heap_offset;
  t.call.call = static_cast<uint32_t>(call);
  t.call.stream = stream;
  t.call.dtype = static_cast<uint8_t>(request.dtype);
  t.call.is_private = buffer.is_private;
  return t;
}

// Whoever comes first has a task, which waits (and lets those behind it be announced); the second mostly
// does a short transfer before it would have one. A send that comes first is posted before its task is
// made, so that its receive does not wait for that. A receive that comes first goes the usual way, which
// takes so long that its send often comes meanwhile: then the call does it all, and those behind it need no
// tasks either.
bool Communicator::TransferNow(CallId call, const TransferRequest& request, Stream& stream,
                               uint64_t called) {
  const TransferEnd end = request.end;
  const uint32_t peer = request.peer;
  if (suspended.load(std::memory_order_relaxed) || !GoesOn() || StrictMode() ||
      stream.device() != device_ || peer >= size_ || peer == rank_ ||
      peer >= has_channel_[end].size() || peer >= next_transfer_[end].size() ||
      !has_channel_[end][peer] || !stream.Idle())
    return false;
  const uint64_t number = next_transfer_[end][peer];
  TransferChannel& channel = view().channel(rank_, end, peer);
  const TransferSlot& slot = channel.slot(number);
  if (slot.generation.load(std::memory_order_seq_cst) != number / kTransferSlots) return false;
  const bool is_there = slot.ends.load(std::memory_order_seq_cst) != 0;
  const uint64_t bytes = request.count * ElementSize(request.dtype);
  if (is_there ? bytes > kTakenBytes : end == kReceiverEnd) return false;
  Buffer buffer;
  if (!IsKnown(request.buffer, bytes, &buffer) || buffer.is_private) return false;
  RankRecord& record = view().ranks[rank_];
  Transfer t = Describe(call, request, buffer, stream.id());
  t.number = number;
  t.call.number = record.transfers.load(std::memory_order_relaxed);
  const auto step = [&] {
    if (!called && Recorder::Mine()) called = Recorder::Now(*Recorder::Mine());
    int64_t at_ns;
    const bool done = TransferTask::DoForBoth(*this, t, &at_ns);
    if (!done) TransferTask::Post(*this, t);
    t.note = RecordTransfer(record_, t, called);
    if (!done) return false;
    t.note.Finished(at_ns, PathTaken::kDirect);
    record.transfers_done.fetch_add(1, std::memory_order_seq_cst);
    return true;
  };
  const auto keep = [&]() -> std::unique_ptr<Task> {  // as in ExchangeNow()
    try {
      Transfers transfers;
      transfers.push_back(t);
      TransferTask task(Borrowed(), call, std::move(transfers));
      task.GoOn();
      task.queued_by = -1;
      return TransferTask::Keep(task);
    } catch (const std::bad_alloc&) {
      return InsteadOfKeeping();
    }
  };
  if (!stream.StepAtOnce(step, keep)) return false;
  record.call.store(static_cast<uint32_t>(call), std::memory_order_relaxed);
  next_transfer_[end][peer] = number + 1;
  record.transfers.store(t.call.number + 1, std::memory_order_relaxed);
  channel.called[end].store(number + 1, std::memory_order_release);
  return true;
}

}  // namespace hcclrun
