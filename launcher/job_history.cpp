#include "launcher/job_history.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "collective/types.h"

namespace hcclrun {
namespace {

// Every load keeps those behind it where they are (recorder.h).
constexpr auto kInOrder = std::memory_order_acquire;

// From ticks to NowNs(), by a straight line through the start and now.
class Clock {
 public:
  explicit Clock(const RecorderLayout& layout)
      : layout_(layout), now_ticks_(Ticks()), now_ns_(NowNs()) {}
  int64_t now_ns() const { return now_ns_; }
  int64_t Ns(uint64_t ticks) const {
    if (ticks == 0) return 0;
    if (!layout_.counter) return std::clamp<int64_t>(static_cast<int64_t>(ticks), 1, now_ns_);
    const auto passed = static_cast<double>(now_ticks_ - layout_.start_ticks);
    if (passed <= 0) return now_ns_;
    const double ns = static_cast<double>(static_cast<int64_t>(ticks - layout_.start_ticks)) *
                      static_cast<double>(now_ns_ - layout_.start_ns) / passed;
    return std::clamp<int64_t>(layout_.start_ns + static_cast<int64_t>(ns), 1, now_ns_);
  }

 private:
  const RecorderLayout& layout_;
  const uint64_t now_ticks_;
  const int64_t now_ns_;
};

template <class Enum>
Enum Limited(uint64_t value, Enum count) {
  return value < static_cast<uint64_t>(count) ? static_cast<Enum>(value) : Enum{};
}

bool Copy(const OperationRecord& r, uint64_t number, const Clock& clock, RecordedCall* c) {
  if (r.number.load(kInOrder) != number) return false;
  c->number = number;
  c->kind = static_cast<OperationRecord::Kind>(
      std::min<uint8_t>(r.kind.load(kInOrder), OperationRecord::kLocal));
  c->sequence = r.sequence.load(kInOrder);
  c->count = r.count.load(kInOrder);
  c->bytes = r.bytes.load(kInOrder);
  c->in_window = r.in_window.load(kInOrder);
  c->out_window = r.out_window.load(kInOrder);
  c->called_ns = clock.Ns(r.called.load(kInOrder));
  c->posted_ns = clock.Ns(r.posted.load(kInOrder));
  c->started_ns = clock.Ns(r.started.load(kInOrder));
  c->finished_ns = std::clamp<int64_t>(r.finished_ns.load(kInOrder), 0, clock.now_ns());
  c->comm = r.comm.load(kInOrder);
  c->stream = r.stream.load(kInOrder);
  c->call = r.call.load(kInOrder);
  c->thread = r.thread.load(kInOrder);
  c->peer = r.peer.load(kInOrder);
  c->fault = r.fault.load(kInOrder);
  c->dtype = r.dtype.load(kInOrder);
  c->reduce_op = r.reduce_op.load(kInOrder);
  c->flags = r.flags.load(kInOrder);
  c->path = static_cast<PathTaken>(
      std::min<uint8_t>(r.path.load(kInOrder), static_cast<uint8_t>(PathTaken::kDirect)));
  c->reason = r.reason.load(kInOrder);
  return r.number.load(kInOrder) == number;
}

void CopyOnce(const Waiter& w, const Clock& clock, RecordedWaiter* c) {
  *c = RecordedWaiter();
  c->kind = Limited(w.kind.load(kInOrder), WaitKind::kCount);
  c->since_ns = clock.Ns(w.since.load(kInOrder));
  c->sequence = w.sequence.load(kInOrder);
  c->target = w.target.load(kInOrder);
  c->comm = w.comm.load(kInOrder);
  c->detail = w.detail.load(kInOrder);
  c->call = w.call.load(kInOrder);
  c->inside = w.inside.load(kInOrder) != 0;
  c->entered_ns = clock.Ns(w.entered.load(kInOrder));
  c->queued = w.queued.load(kInOrder);
  c->completed = w.completed.load(kInOrder);
  c->missing = w.missing.load(kInOrder);
  for (uint32_t i = 0; i < std::min(c->missing, Waiter::kListed); i++)
    c->ranks.push_back(w.ranks[i].load(kInOrder));
}

std::vector<RecordedWaiter> CopyWaiters(const Waiter* table, uint32_t size, bool streams,
                                        const Clock& clock) {
  std::vector<RecordedWaiter> copies;
  for (uint32_t i = 0; i < size; i++) {
    const Waiter& w = table[i];
    const uint64_t owner = w.owner.load(kInOrder);
    if (owner == 0) continue;
    RecordedWaiter copy;
    for (int attempt = 0; attempt < 100; attempt++) {
      const uint32_t version = w.version.load(kInOrder);
      CopyOnce(w, clock, &copy);
      if (version % 2 == 0 && w.version.load(kInOrder) == version) break;
    }
    copy.id = streams ? owner - 1 : owner;
    copies.push_back(std::move(copy));
  }
  std::sort(copies.begin(), copies.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return copies;
}

void CopyRank(const RecorderView& view, const Clock& clock, RankHistory* rank) {
  for (uint32_t i = 0; i < view.layout.communicators; i++) {
    const CommunicatorRecord& r = view.communicators[i];
    RecordedCommunicator c;
    c.id = r.id.load(kInOrder);
    if (c.id == 0) continue;
    c.alive = r.alive.load(kInOrder) != 0;
    c.key = r.key.load(kInOrder);
    c.rank = r.rank.load(kInOrder);
    c.size = r.size.load(kInOrder);
    c.called = r.called.load(kInOrder);
    c.stage_bytes = r.stages.load(kInOrder);
    c.servers = std::max<uint32_t>(r.servers.load(kInOrder), 1);
    c.name = std::string(r.name, strnlen(r.name, sizeof r.name));
    if (r.id.load(kInOrder) == c.id) rank->communicators.push_back(std::move(c));
  }
  std::sort(rank->communicators.begin(), rank->communicators.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  for (uint32_t i = 0; i < view.layout.reasons; i++) {
    const ReasonRecord& r = view.reasons[i];
    if (r.there.load(kInOrder) == 0) break;
    rank->reasons.emplace_back(r.text, strnlen(r.text, sizeof r.text));
  }
  rank->streams = CopyWaiters(view.streams, view.layout.streams, true, clock);
  rank->threads = CopyWaiters(view.threads, view.layout.threads, false, clock);
  const uint64_t last = view.next->load(kInOrder), kept = view.layout.operations;
  rank->calls_recorded = last;
  for (uint64_t n = last > kept ? last - kept + 1 : 1; n <= last && n != 0; n++) {
    RecordedCall call;
    if (Copy(view.operation(n), n, clock, &call)) rank->calls.push_back(std::move(call));
  }
}

template <class T>
const T* FindById(const std::vector<T>& all, uint64_t id) {
  for (const T& one : all) {
    if (one.id == id) return &one;
  }
  return nullptr;
}

}  // namespace

const std::string& RankHistory::reason(const RecordedCall& call) const {
  static const std::string none;
  return call.reason > 0 && call.reason <= reasons.size() ? reasons[call.reason - 1u] : none;
}

const RecordedCommunicator* RankHistory::communicator(uint32_t id) const {
  return FindById(communicators, id);
}
const RecordedWaiter* RankHistory::stream(uint64_t id) const { return FindById(streams, id); }
const RecordedWaiter* RankHistory::thread(uint64_t id) const { return FindById(threads, id); }

JobHistory::Member JobHistory::MemberOf(uint64_t key, uint32_t member) const {
  for (size_t r = 0; r < ranks.size(); r++) {
    for (const RecordedCommunicator& c : ranks[r].communicators) {
      if (c.key == key && c.rank == member) return {static_cast<int>(r), &c};
    }
  }
  return {};
}

const RecordedCall* JobHistory::FindCall(int rank, uint32_t comm, OperationRecord::Kind kind,
                                         uint64_t sequence, uint32_t peer) const {
  const std::vector<RecordedCall>& calls = ranks[static_cast<size_t>(rank)].calls;
  for (auto it = calls.rbegin(); it != calls.rend(); ++it) {
    if (it->comm == comm && it->kind == kind && it->sequence == sequence &&
        (kind == OperationRecord::kCollective || it->peer == peer))
      return &*it;
  }
  return nullptr;
}

JobHistory CopyHistory(const RecorderLayout& layout, size_t ranks, char* base) {
  JobHistory history;
  const Clock clock(layout);
  history.start_ns = layout.start_ns;
  history.now_ns = clock.now_ns();
  history.ranks.resize(ranks);
  for (size_t r = 0; r < ranks; r++)
    CopyRank(RecorderView::At(base, layout, static_cast<uint32_t>(r)), clock, &history.ranks[r]);
  return history;
}

std::string CommunicatorText(const RankHistory& rank, uint32_t comm) {
  const RecordedCommunicator* c = rank.communicator(comm);
  return c ? absl::StrCat("communicator ", c->name) : "a communicator";
}

std::string Text(const RankHistory& rank, const RecordedCall& call) {
  std::string text = CallName(static_cast<CallId>(call.call));
  switch (call.kind) {
    case OperationRecord::kCollective:
      absl::StrAppend(&text, " #", call.sequence + 1);
      break;
    case OperationRecord::kSend:
      absl::StrAppend(&text, ": send #", call.sequence + 1, " to rank ", call.peer);
      break;
    case OperationRecord::kReceive:
      absl::StrAppend(&text, ": receive #", call.sequence + 1, " from rank ", call.peer);
      break;
    case OperationRecord::kLocal:
      absl::StrAppend(&text, " after ", call.sequence,
                      call.sequence == 1 ? " operation" : " operations");
      break;
  }
  return absl::StrCat(text, " of ", CommunicatorText(rank, call.comm));
}

std::string TextWithFacts(const RankHistory& rank, const RecordedCall& call) {
  std::string text = Text(rank, call);
  if (call.kind == OperationRecord::kLocal || call.count == 0) return text;
  absl::StrAppend(&text, " (", call.count, " ", Name(static_cast<DataType>(call.dtype)));
  if (call.kind == OperationRecord::kCollective) {
    const auto id = static_cast<CallId>(call.call);
    if (id == CallId::HcclAllReduce || id == CallId::HcclReduce ||
        id == CallId::HcclReduceScatter || id == CallId::HcclReduceScatterV)
      absl::StrAppend(&text, ", ", Name(static_cast<ReduceOp>(call.reduce_op)));
    if (call.peer != kNoPeer) absl::StrAppend(&text, ", root ", call.peer);
  }
  return text + ")";
}

std::string Seconds(int64_t ns) {
  const int64_t tenths = std::max<int64_t>(ns, 0) / 100'000'000;
  return absl::StrCat(tenths / 10, ".", tenths % 10, " s");
}

}  // namespace hcclrun
