#include "shm/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>

#include "base/fork_guard.h"
#include "base/thread_value.h"

namespace hcclrun {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
// Of what is written between the mark "being written" and the one that ends it. A release store
// does not become visible before what its thread stored earlier, the mark, so a reader that sees
// any of it and then (acquire) the same mark as before knows that it has a mixture.
constexpr auto kAfterMark = std::memory_order_release;

// The thread's place, given back when it ends.
struct ThreadPlace {
  ThreadPlace();
  ~ThreadPlace() {
    if (waiter && !InForkedChild()) Recorder::Release(waiter);
  }
  Waiter* waiter = nullptr;
  int32_t id = static_cast<int32_t>(gettid());
};

// Takes a free one of the table. Clean: whoever released it left it so, but for the counts.
Waiter* Claim(Waiter* table, uint32_t size, uint64_t owner) {
  for (uint32_t i = 0; i < size; i++) {
    uint64_t nobody = 0;
    if (table[i].owner.load(kRelaxed) == 0 &&
        table[i].owner.compare_exchange_strong(nobody, owner, std::memory_order_acq_rel)) {
      for (auto* field : {&table[i].queued, &table[i].completed}) field->store(0, kRelaxed);
      table[i].inside.store(0, kRelaxed);
      return &table[i];
    }
  }
  return nullptr;
}

ThreadPlace::ThreadPlace() {
  const RecorderView* mine = Recorder::Mine();
  if (mine) waiter = Claim(mine->threads, mine->layout.threads, static_cast<uint64_t>(id));
}

constexpr size_t kMostReasons = 16;

// The literals behind the reasons, for a look without a lock: an address that is not there yet may
// still be that of a text that is.
std::atomic<const char*> g_reasons[kMostReasons];
std::mutex g_adding_reasons;

std::mutex g_communicators;        // adding one, attaching
uint32_t g_last_communicator = 0;  // guarded by it

uint32_t PowerOfTwo(uint64_t at_most) {
  uint32_t power = 1;
  while (power * 2ull <= at_most) power *= 2;
  return power;
}

}  // namespace

ClockReading ClockReading::Take() {
  ClockReading best = {};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 5; i++) {
    const uint64_t before = Ticks();
    const int64_t ns = NowNs();
    const uint64_t passed = Ticks() - before;
    if (passed >= least) continue;
    least = passed;
    best = {before + passed / 2, ns};
  }
  return best;
}

RecorderLayout RecorderLayout::For(uint32_t ranks, bool trace) {
  RecorderLayout l = {};
  const bool many = ranks > 64;
  l.reasons = 16;
  l.communicators = many ? 16 : 64;
  l.streams = many ? 16 : 64;
  l.threads = many ? 8 : 32;
  // A few megabytes in all, but more where somebody wants to see every operation.
  const uint64_t bytes = trace ? uint64_t{128} << 20 : uint64_t{4} << 20;
  l.operations = PowerOfTwo(
      std::clamp<uint64_t>(bytes / ranks / sizeof(OperationRecord), 64, trace ? 65536 : 1024));
  l.counter = TicksAreSteady();
  l.stride = (l.AreaBytes() + 4095) & ~uint64_t{4095};
  return l;
}

bool RecorderLayout::Fits(uint32_t ranks, uint64_t object_bytes) const {
  constexpr uint32_t kMost = 1 << 16;
  for (uint32_t places : {reasons, communicators, streams, threads, operations}) {
    if (places == 0 || places > kMost) return false;
  }
  return offset != 0 && offset <= object_bytes && (operations & (operations - 1)) == 0 &&
         AreaBytes() <= stride && ranks != 0 && stride <= (object_bytes - offset) / ranks;
}

RecorderView RecorderView::At(char* base, const RecorderLayout& layout, uint32_t rank) {
  RecorderView v;
  char* at = base + layout.offset + layout.stride * rank;
  auto take = [&at](uint64_t bytes) {
    char* part = at;
    at += bytes;
    return part;
  };
  v.next = reinterpret_cast<std::atomic<uint64_t>*>(take(RecorderLayout::kLine));
  v.reasons = reinterpret_cast<ReasonRecord*>(take(sizeof(ReasonRecord) * layout.reasons));
  v.communicators = reinterpret_cast<CommunicatorRecord*>(
      take(sizeof(CommunicatorRecord) * layout.communicators));
  v.streams = reinterpret_cast<Waiter*>(take(sizeof(Waiter) * layout.streams));
  v.threads = reinterpret_cast<Waiter*>(take(sizeof(Waiter) * layout.threads));
  v.operations = reinterpret_cast<OperationRecord*>(at);
  v.layout = layout;
  return v;
}

void Recorder::Attach(const RecorderView& mine) {
  // A view from before stays: a thread may be about to use it. (Only tests attach twice.)
  static auto* const all = new std::list<RecorderView>();
  std::lock_guard<std::mutex> lock(g_communicators);
  mine_.store(&all->emplace_back(mine), std::memory_order_release);
}

uint32_t Recorder::AddCommunicator(uint64_t key, const char* name, uint32_t rank, uint32_t size,
                                   uint64_t stage_bytes) {
  const RecorderView* mine = Mine();
  if (!mine) return 0;
  const uint32_t places = mine->layout.communicators;
  std::lock_guard<std::mutex> lock(g_communicators);
  // Beside those that live, if possible.
  uint32_t id = ++g_last_communicator;
  for (uint32_t i = 0; i < places && mine->communicators[id % places].alive.load(kRelaxed); i++)
    id = ++g_last_communicator;
  CommunicatorRecord& c = mine->communicators[id % places];
  c.id.store(0, std::memory_order_release);
  c.key.store(key, kAfterMark);
  c.rank.store(rank, kAfterMark);
  c.size.store(size, kAfterMark);
  c.called.store(0, kAfterMark);
  c.stages.store(stage_bytes, kAfterMark);
  c.servers.store(1, kAfterMark);
  for (std::atomic<uint64_t>& word : c.expected) word.store(0, kAfterMark);
  snprintf(c.name, sizeof c.name, "%s", name);
  c.alive.store(1, kAfterMark);
  c.id.store(id, std::memory_order_release);
  return id;
}

CommunicatorRecord* Recorder::Communicator(uint32_t id) {
  const RecorderView* mine = Mine();
  if (!mine || id == 0) return nullptr;
  CommunicatorRecord& c = mine->communicators[id % mine->layout.communicators];
  return c.id.load(kRelaxed) == id ? &c : nullptr;
}

void Recorder::EndCommunicator(uint32_t id) {
  if (CommunicatorRecord* c = Communicator(id)) c->alive.store(0, kRelaxed);
}

void Recorder::Expect(uint32_t id, uint32_t job_rank) {
  CommunicatorRecord* c = Communicator(id);
  if (c && job_rank / 64 < CommunicatorRecord::kExpectedWords)
    c->expected[job_rank / 64].fetch_or(uint64_t{1} << job_rank % 64, kRelaxed);
}

uint8_t Recorder::Reason(const char* text) {
  const RecorderView* mine = Mine();
  if (!mine || !*text) return 0;
  const size_t places = std::min<size_t>(mine->layout.reasons, kMostReasons);
  for (size_t i = 0; i < places; i++) {
    const char* known = g_reasons[i].load(std::memory_order_acquire);
    if (known == text) return static_cast<uint8_t>(i + 1);
    if (!known) break;
  }
  std::lock_guard<std::mutex> lock(g_adding_reasons);
  for (size_t i = 0; i < places; i++) {
    const char* known = g_reasons[i].load(std::memory_order_relaxed);
    if (known && strcmp(known, text) == 0) return static_cast<uint8_t>(i + 1);
    if (known) continue;
    ReasonRecord& r = mine->reasons[i];
    snprintf(r.text, sizeof r.text, "%s", text);
    r.there.store(1, std::memory_order_release);
    g_reasons[i].store(text, std::memory_order_release);
    return static_cast<uint8_t>(i + 1);
  }
  return 0;
}

OperationNote Recorder::Operation(const OperationFacts& facts) {
  OperationNote note;
  const RecorderView* mine = Mine();
  if (!mine) return note;
  const uint64_t number = mine->next->fetch_add(1, kRelaxed) + 1;
  OperationRecord& r = mine->operation(number);
  note.record_ = &r;
  note.number_ = number;
  r.number.store(0, kRelaxed);
  r.sequence.store(facts.sequence, kAfterMark);
  r.count.store(facts.count, kAfterMark);
  r.bytes.store(facts.bytes, kAfterMark);
  r.in_window.store(facts.in_window, kAfterMark);
  r.out_window.store(facts.out_window, kAfterMark);
  r.called.store(facts.called ? facts.called : Now(*mine), kAfterMark);
  r.posted.store(facts.posted, kAfterMark);
  r.started.store(0, kAfterMark);
  r.finished.store(0, kAfterMark);
  r.comm.store(facts.comm, kAfterMark);
  r.stream.store(facts.stream, kAfterMark);
  r.call.store(facts.call, kAfterMark);
  r.thread.store(ThreadValue<ThreadPlace>::Get().id, kAfterMark);
  r.peer.store(facts.peer, kAfterMark);
  r.fault.store(0, kAfterMark);
  r.kind.store(facts.kind, kAfterMark);
  r.dtype.store(facts.dtype, kAfterMark);
  r.reduce_op.store(facts.reduce_op, kAfterMark);
  r.path.store(0, kAfterMark);
  r.reason.store(facts.reason, kAfterMark);
  r.flags.store(facts.flags, kAfterMark);
  r.op.store(facts.op, kAfterMark);
  r.number.store(number, std::memory_order_release);
  return note;
}

void Recorder::Local(uint32_t comm, uint32_t call, uint64_t number, uint64_t bytes) {
  OperationFacts facts;
  facts.kind = OperationRecord::kLocal;
  facts.comm = comm;
  facts.call = call;
  facts.count = number;
  facts.bytes = bytes;
  if (CommunicatorRecord* c = Communicator(comm)) facts.sequence = c->called.load(kRelaxed);
  Operation(facts);
}

Waiter* Recorder::AddStream(uint32_t id) {
  const RecorderView* mine = Mine();
  return mine ? Claim(mine->streams, mine->layout.streams, uint64_t{id} + 1) : nullptr;
}

void Recorder::Release(Waiter* waiter) {
  if (!waiter) return;
  waiter->kind.store(0, kRelaxed);
  waiter->owner.store(0, std::memory_order_release);
}

Waiter* Recorder::Thread() { return Mine() ? ThreadValue<ThreadPlace>::Get().waiter : nullptr; }

void Recorder::NoteAwaited() {
  Waiting w;
  w.kind = WaitKind::kStream;
  w.target = std::exchange(awaited_, 0) - 1;
  Wait(Thread(), w);
}

void Recorder::Wait(Waiter* waiter, const Waiting& w) {
  Sleeps();
  if (!waiter) return;
  Waiter& now = *waiter;
  const auto kind = static_cast<uint32_t>(w.kind);
  const bool same = now.kind.load(kRelaxed) == kind && now.comm.load(kRelaxed) == w.comm &&
                    now.sequence.load(kRelaxed) == w.sequence &&
                    now.target.load(kRelaxed) == w.target && now.detail.load(kRelaxed) == w.detail;
  const uint32_t listed = std::min(w.missing, Waiter::kListed);
  if (same && now.missing.load(kRelaxed) == w.missing) {
    bool same_ranks = true;
    for (uint32_t i = 0; i < listed; i++) same_ranks &= now.ranks[i].load(kRelaxed) == w.ranks[i];
    if (same_ranks) return;
  }
  const uint32_t version = now.version.load(kRelaxed) | 1;
  now.version.store(version, kRelaxed);
  if (!same) now.since.store(Recorder::Now(*Recorder::Mine()), kAfterMark);
  now.kind.store(kind, kAfterMark);
  now.comm.store(w.comm, kAfterMark);
  now.detail.store(w.detail, kAfterMark);
  now.sequence.store(w.sequence, kAfterMark);
  now.target.store(w.target, kAfterMark);
  now.missing.store(w.missing, kAfterMark);
  for (uint32_t i = 0; i < listed; i++) now.ranks[i].store(w.ranks[i], kAfterMark);
  now.version.store(version + 1, std::memory_order_release);
}

void OperationNote::Finished(int64_t at_ns, PathTaken path) const {
  if (!Mine()) return;
  record_->path.store(static_cast<uint8_t>(path), kRelaxed);
  record_->finished.store(at_ns, kRelaxed);
}

void OperationNote::FinishedNow(PathTaken path) const {
  if (!Mine()) return;
  const RecorderView& mine = *Recorder::Mine();
  const auto now = static_cast<int64_t>(Recorder::Now(mine));
  record_->path.store(static_cast<uint8_t>(path), kRelaxed);
  record_->finished.store(mine.layout.counter ? -now : now, kRelaxed);
}

void OperationNote::Failed(uint32_t fault_kind) const {
  if (Mine()) record_->fault.store(fault_kind, kRelaxed);
}

}  // namespace hcclrun
