#include "launcher/job_history.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <tuple>

#include "base/speaker.h"

namespace hcclrun {
namespace {

// Every load keeps those behind it where they are (recorder.h).
constexpr auto kInOrder = std::memory_order_acquire;

// From ticks to NowNs(), by a straight line through the start and now.
class Clock {
 public:
  explicit Clock(const RecorderLayout& layout) : layout_(layout), now_(ClockReading::Take()) {}
  int64_t now_ns() const { return now_.ns; }
  int64_t Ns(uint64_t ticks) const {
    if (ticks == 0) return 0;
    if (!layout_.counter) return std::clamp<int64_t>(static_cast<int64_t>(ticks), 1, now_.ns);
    const auto passed = static_cast<double>(now_.ticks - layout_.start_ticks);
    if (passed <= 0) return now_.ns;
    const double ns = static_cast<double>(static_cast<int64_t>(ticks - layout_.start_ticks)) *
                      static_cast<double>(now_.ns - layout_.start_ns) / passed;
    return std::clamp<int64_t>(layout_.start_ns + static_cast<int64_t>(ns), 1, now_.ns);
  }

 private:
  const RecorderLayout& layout_;
  const ClockReading now_;
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
  const int64_t finished = r.finished.load(kInOrder);
  c->finished_ns = finished < 0 ? clock.Ns(uint64_t{0} - static_cast<uint64_t>(finished))
                                : std::min(finished, clock.now_ns());
  c->comm = r.comm.load(kInOrder);
  c->stream = r.stream.load(kInOrder);
  c->call = r.call.load(kInOrder);
  c->thread = r.thread.load(kInOrder);
  c->peer = r.peer.load(kInOrder);
  c->fault = r.fault.load(kInOrder);
  c->dtype = r.dtype.load(kInOrder);
  c->reduce_op = r.reduce_op.load(kInOrder);
  c->flags = r.flags.load(kInOrder);
  c->op = r.op.load(kInOrder);
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

// Communicators that are made one after the other of the same rank table, or by members of the same list,
// have one key: the n-th of each rank belong together. What a rank failed to make, because its root info
// had been used before, say, is none of them.
void TellApart(RankHistory* rank) {
  const bool all_kept = rank->calls_recorded == rank->calls.size();
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> earlier;  // by key and rank of the communicator
  for (RecordedCommunicator& c : rank->communicators) {
    const bool failed = all_kept && !c.alive && c.called == 0 &&
                        std::none_of(rank->calls.begin(), rank->calls.end(),
                                     [&](const RecordedCall& call) { return call.comm == c.id; });
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // any
    if (failed) {
      c.key ^= kOdd * (uint64_t{c.id} << 32 | 1);
    } else {
      c.key += kOdd * earlier[{c.key, c.rank}]++;
    }
  }
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
    c.whole_name = std::string(r.name, strnlen(r.name, sizeof r.name));
    c.name = ShownName(c.whole_name);
    for (uint32_t w = 0; w < CommunicatorRecord::kExpectedWords; w++) {
      for (uint64_t bits = r.expected[w].load(kInOrder); bits; bits &= bits - 1)
        c.expected.push_back(
            static_cast<int>(w * 64 + static_cast<uint32_t>(std::countr_zero(bits))));
    }
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
  TellApart(rank);
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

const JobHistory::Members* JobHistory::MembersOf(uint64_t key) const {
  if (members_.empty()) {
    for (size_t r = 0; r < ranks.size(); r++) {
      std::unordered_map<uint64_t, int> own;
      for (size_t i = 0; i < ranks[r].communicators.size(); i++) {
        const RecordedCommunicator& c = ranks[r].communicators[i];
        members_[c.key].places.emplace(c.rank, Place(r, i));
        if (++own[c.key] > 1) members_[c.key].threads = true;
      }
    }
  }
  const auto found = members_.find(key);
  return found == members_.end() ? nullptr : &found->second;
}

JobHistory::Member JobHistory::MemberOf(uint64_t key, uint32_t member) const {
  const Members* members = MembersOf(key);
  if (!members) return {};
  const auto found = members->places.find(member);
  if (found == members->places.end()) return {};
  const auto [rank, place] = found->second;
  return {static_cast<int>(rank), &ranks[rank].communicators[place]};
}

bool JobHistory::HasThreadsAsRanks(uint64_t key) const {
  const Members* members = MembersOf(key);
  return members && members->threads;
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
  SettleTimes(&history);
  return history;
}

namespace {

// All calls of one operation, or of one transfer: communicator, whether a transfer, its sender and
// receiver, number.
using OperationKey = std::tuple<uint64_t, bool, uint32_t, uint32_t, uint64_t>;

void SettleOne(const std::vector<RecordedCall*>& calls, size_t all) {
  int64_t last_posted_ns = 0, first_started_ns = 0;
  bool missing = calls.size() < all;  // not posted, or not kept any more
  for (const RecordedCall* c : calls) {
    missing |= c->posted_ns == 0;
    last_posted_ns = std::max(last_posted_ns, c->posted_ns);
    if (c->started_ns && (!first_started_ns || c->started_ns < first_started_ns))
      first_started_ns = c->started_ns;
  }
  for (RecordedCall* c : calls) {
    // Who posted last is not known then, but its own time is.
    const int64_t posted_ns = missing ? c->posted_ns : last_posted_ns;
    if (c->finished_ns) {
      c->finished_ns = std::max(c->finished_ns, posted_ns);
      // Whoever came to it after its end has seen others do it.
      if (!c->started_ns || c->started_ns > c->finished_ns) c->started_ns = first_started_ns;
      if (!c->started_ns) c->started_ns = posted_ns;
      c->started_ns = std::min(c->started_ns, c->finished_ns);
    }
    if (c->started_ns) c->started_ns = std::max(c->started_ns, posted_ns);
    if (c->posted_ns) c->called_ns = std::min(c->called_ns, c->posted_ns);
  }
}

}  // namespace

void SettleTimes(JobHistory* history) {
  struct Calls {
    std::vector<RecordedCall*> calls;
    size_t all = 2;  // as many belong to it
  };
  std::map<OperationKey, Calls> operations;
  for (RankHistory& rank : history->ranks) {
    for (RecordedCall& call : rank.calls) {
      const RecordedCommunicator* c = rank.communicator(call.comm);
      if (!c || call.kind == OperationRecord::kLocal) continue;
      const bool sends = call.kind == OperationRecord::kSend;
      Calls& of =
          operations[call.transfer() ? OperationKey(c->key, true, sends ? c->rank : call.peer,
                                                    sends ? call.peer : c->rank, call.sequence)
                                     : OperationKey(c->key, false, 0, 0, call.sequence)];
      if (!call.transfer()) of.all = c->size;
      of.calls.push_back(&call);
    }
  }
  for (const auto& [key, of] : operations) SettleOne(of.calls, of.all);
}

}  // namespace hcclrun
