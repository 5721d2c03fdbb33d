#pragma once
// The shared memory of one communicator: who is in it, the ring in which operations meet, the table
// through which windows are exchanged, and the abort word.
//
// The rendezvous server creates it (MemoryObject), zero-filled and, but for the channels of sends
// and receives, committed, fills the constants and hands its descriptor to every rank; it
// disappears with the last mapping. A rank gives a channel pages before it first uses it. There is
// no lock in it. Everything a rank takes from it that can lead to an address is copied first and
// validated then (collective_run.cpp, short_operation.cpp, transfer_steps.cpp, communicator.cpp,
// symmetric_heap.cpp), so that a corrupted peer cannot make this process write outside the heaps.
//
// When a rank dies: its process watchers in the other ranks set the abort word (first cause wins)
// and notify; every wait looks at the abort word at least every 200 ms. Nothing is repaired
// afterwards: the communicator is out of use.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "collective/claims.h"
#include "collective/phase_barrier.h"
#include "comm/transfer_channel.h"
#include "shm/event_count.h"
#include "shm/spreading.h"
#include "shm/wait_policy.h"

namespace hcclrun {

inline constexpr uint32_t kLayoutVersion = 14;  // of everything that travels between processes
inline constexpr uint64_t kControlMagic = 0x6863636c636f6d6d;
inline constexpr uint32_t kRingSlots = 64;
inline constexpr uint32_t kMaxRanks = 1024;
inline constexpr uint32_t kMostExchangers = 16;  // ranks of an exchange
inline constexpr uint64_t kExchangeBytes = 2048;  // of a rank's input, at most
// Of so many ranks: what all of them together leave in a block is a megabyte at most.
constexpr uint64_t ExchangeBytes(uint32_t ranks) {
  return ranks <= 4 ? kExchangeBytes : ranks <= kMostExchangers ? kExchangeBytes / 2 : 0;
}
inline constexpr uint32_t kTransferNotes = 6;  // what the line of ControlHeader::told has room for
inline constexpr uint32_t kNoRank = 0xffffffff;
inline constexpr uint64_t kNoWindow = UINT64_MAX;

// One rank's side of one operation: plain data, written by that rank into its place of a slot
// before it arrives, read by the others after they saw the arrival (acquire), immutable until the
// slot is recycled.
struct Descriptor {
  uint8_t op, dtype, reduce_op;  // Op, DataType, ReduceOp
  uint8_t flags;                 // kFlag...
  uint32_t root;
  uint64_t count;                  // V operations: of the rank's largest block
  uint64_t in_offset, out_offset;  // in the rank's heap; unused when private
  // Slot offset of the window + offset in its mapping, kNoWindow when in none.
  uint64_t in_window, out_window;
  uint32_t stream;
  uint32_t call;  // CallId
  // From here on, in shared memory of V operations alone: the others' part of a PostedCall is one
  // cache line.
  uint64_t args_offset;  // V operations: their arrays in the rank's argument ring, in its heap
  uint64_t args_hash;    // AlltoAllVC: of the whole matrix
  uint64_t sequence;     // not looked at in shared memory
};
inline constexpr size_t kDescriptorLine = offsetof(Descriptor, args_offset);

// A descriptor in its place, with what says that it is there.
struct alignas(64) PostedCall {
  std::atomic<uint64_t> posted;  // sequence + 1
  Descriptor call;
};
static_assert(offsetof(PostedCall, call) + kDescriptorLine == 64 && sizeof(PostedCall) == 128);

enum DescriptorFlag : uint8_t {
  kFlagWindow = 1,     // A.10 items 1-7 hold on this rank
  kFlagUnsafe = 2,     // its buffers lie to each other in a way that only the buffered path bears
  kFlagPrivateIn = 4,  // only the owner can address the buffer (several mappings, foreign memory)
  kFlagPrivateOut = 8,
  kFlagSkipped = 16,  // its stream stops after a failure: the operation fails on all ranks
  kFlagStaged = 32,   // its stage buffers have pages: any process may write to them
  kFlagExchange = 64,  // posted for an exchange
};

// One operation under way. The slot serves operation `epoch`; sequence k uses slot k % kRingSlots.
//  1. A rank waits for epoch == k, writes its descriptor, stores posted[rank] = k + 1 (release),
//     then offers itself as the reference (compare-exchange from 0) and compares itself with
//     whoever is the reference. Only then it counts itself in `arrived`.
//  2. arrived == ranks: everybody may read all descriptors. A disagreement found on the way has
//     set `failure`.
//  3. When it is the operation's turn (`completed` == k) it is executed, in the way that
//     comm/execution_choice.h says: the ranks meet at `barrier` between the phases, or one thread
//     makes itself the `opener` (compare-exchange from less than k + 1 to k + 1) and executes all
//     or opens `claims` to everybody. Of an operation that may be done alone the opener decides:
//     the others read nothing in the slot, which may be recycled at any time, but `each_rank`,
//     which becomes k + 1 if every rank must do its own pieces after all.
//  4. A rank that is done with the slot, well or not, counts itself in `left`. The last one resets
//     the counters (relaxed) and stores epoch = k + kRingSlots (seq_cst), which publishes the
//     resets: only now may anybody write into the slot again. An operation that one thread did
//     alone is over for everybody then: that thread does the same on behalf of all ranks, which do
//     not touch the slot again (Completions::alone tells them), after it has counted the operation
//     as complete. This saves every other rank two misses on a line that all of them write. To a
//     rank that still waits, `arrived` and `failure` of a recycled slot mean nothing: it looks at
//     `completed` after them, which it then sees.
//  5. A rank that gives up (time-out, abort, a stream that is dropped) returns buffers to their
//     owner, so nobody may execute the operation afterwards. Before all have arrived it takes its
//     arrival back (compare-exchange), so that all arrivals never come together; when they have, it
//     makes itself an opener who opens nothing (all ones). If there is an opener already it waits,
//     at most a second, for `completed` or `each_rank`. Where every rank does its own share it
//     closes `barrier`, and waits as long for the shares under way.
// But for 5, arrived, reference, failure, left and barrier grow by seq_cst read-modify-writes: they
// are also conditions of EventCount waits. `posted` is written by one rank and only read by the
// others.
//
// Exchanges. Where every rank has a processor, the time of an operation of a few bytes is that of
// the cache lines which go to and fro. So its ranks do not use the slot at all: each writes its
// input beside its descriptor (in the place of the offsets, which nobody needs then, or behind),
// stores posted[rank] = k + 1 (release), waits until all have, compares every descriptor with its
// own, and makes its own output of all inputs. Whether an operation is an exchange follows from
// what must agree (comm/exchange.h), so if one rank comes for an exchange and another for something
// else it is a mismatch. Nobody touches another's buffers. Who gives up takes its call back
// (posted[rank] = 0), unless all have come by then. Another rank may have seen all calls there
// before and still make its output, of copies.
//  6. Nobody counts in the slot, so each rank says for itself how far it is: operations_done is the
//     number of the first operation that it is not done with. A rank may post operation k +
//     kRingSlots in its place once every rank is done with k; an operation that is none counts as
//     complete, and its slot as recycled, when all are done with it, which anybody may note who
//     waits for it: `completed` is raised to the least operations_done by compare-exchange, which
//     cannot pass an operation under way, since its ranks are not done with it, nor one that has
//     been completed otherwise; and `epoch` is set to k by who has set it to kEpochOfNobody before,
//     again by compare-exchange, and then reset the counters.
//  7. An operation that is queued behind an exchange in its stream is not posted before the
//     exchange is over on this rank: others might execute it and use a buffer which that still
//     writes. Nor is an exchange posted before all in front of it is over: its input might not be
//     there.
//  8. In an operation to which some ranks came for an exchange and some did not, the former find
//     the others' descriptors. The latter wait in the slot and must find `failure`: before a rank
//     of the former leaves with a failure, and when one of the latter posts, it makes sure that its
//     own post is visible and then looks for the other kind (seq_cst), so at least one of both sees
//     the other and sets `failure`.
struct alignas(64) Slot {
  std::atomic<uint64_t> epoch;
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> reference;  // rank + 1 of the first to post, 0 = nobody yet
  std::atomic<uint32_t> failure;    // SlotFailure
  std::atomic<uint32_t> left;
  PhaseBarrier barrier;               // where each rank does its own share
  std::atomic<int64_t> completed_ns;  // NowNs() of the last phase's end
  std::atomic<uint64_t> opener;       // sequence + 1 of the last operation that was opened; all
                                      // ones: no more will be
  std::atomic<uint64_t> each_rank;    // sequence + 1 of the last whose opener chose that
  std::atomic<uint32_t> path;         // Path, with an opener; published by `completed`. It and
                                      // completed_ns stay until the next operation in the slot is
                                      // complete
  Claims claims;
};

inline constexpr uint64_t kEpochOfNobody = UINT64_MAX;  // the slot is being reset

enum class SlotFailure : uint32_t { kNone = 0, kMismatch = 1, kWindowOffsets = 2 };

enum class RankState : uint32_t { kAlive = 0, kDestroyed = 1, kExited = 2, kFailed = 3 };

// What a rank is and where it stands. Constants are written by the server before anybody maps the
// block; the rest by the rank alone, for reports and for the question whether it can still come
// (liveness.h). Only the process watcher of a peer changes it for the rank: when the process of a
// rank that had left its communicator ends with operations under way.
struct alignas(64) RankRecord {
  int32_t pid;
  int32_t device;
  uint64_t heap_uid;
  uint64_t heap_bytes;
  std::atomic<uint32_t> state;       // RankState
  std::atomic<int32_t> exit_status;  // with kFailed
  std::atomic<uint64_t> issued;      // operations called (numbered) so far
  std::atomic<uint64_t> posted;      // operations posted so far
  std::atomic<uint64_t> windows;     // HcclCommSymWinRegister rounds entered so far
  std::atomic<uint32_t> call;        // CallId of the last call on this communicator
  std::atomic<uint32_t> last_op;     // Op of the last call
  std::atomic<uint64_t> transfers;   // sends and receives called so far
  uint64_t stage_a, stage_b;         // HCCL buffers: offsets in the rank's heap
  uint64_t stage_bytes;              // of each
  // Operations and calls of sends and receives that this rank is done with, well or not. Below
  // `issued` and `transfers`, it still owes its peers something. Where ranks exchange, all
  // operations below operations_done are done.
  std::atomic<uint64_t> operations_done;
  std::atomic<uint64_t> transfers_done;
  uint32_t server;  // constants, for comm/places.h; equal numbers mean the same server
  uint32_t pod;     // likewise: physical and logical SuperPoD together
};

// One rank's side of one round of HcclCommSymWinRegister. Two banks: a rank can be in round k+2
// only after round k+1 was complete, for which everybody had left round k, so the bank of round k
// is free again.
struct WindowEntry {
  uint64_t round;
  uint64_t slot_offset;   // in the stride; compared
  uint64_t mapped_bytes;  // compared
  uint64_t user_bytes;    // unequal: warned about
  uint64_t birth_round;   // round in which the mapping was first registered; compared
  uint64_t heap_offset;   // of the mapping in the rank's heap; may differ
  uint64_t stride;        // unequal: warned about
  uint64_t reserved;
};

// Where a rank sleeps that waits for a transfer: of the other ranks only its peers wake it.
struct alignas(64) RankEvent {
  EventCount event;
};

// How far the operations have come, with what those that wait for it want to know at once, in one
// cache line: whoever waits for an operation that another thread does alone looks at nothing else.
//
// All is written by the thread that completes operation k: it has seen completed == k, so there is
// one writer at a time and each sees what the one before wrote. (Where ranks exchange, whoever
// waits may raise `completed` past exchanges, by compare-exchange and leaving the rest alone: Slot,
// 6.) `completed` is stored last, seq_cst (it is the condition of EventCount waits), and publishes
// the rest. Words about operation k are
// overwritten by that of k + 1 (last_ns), or k + kRingSlots (the bits), whose writer has seen
// completed == k + 1, or k + kRingSlots: a reader loads them (acquire, so that they come before)
// and then `completed` once more, which tells it whether they were still about k.
struct alignas(64) Completions {
  // Operations complete so far: operation k may run when completed == k. Stored by the last rank
  // through the last phase, by whoever executed alone, or by the last to leave a failed operation.
  std::atomic<uint64_t> completed;
  std::atomic<uint64_t> alone;    // bit k % kRingSlots: one thread did it, the slot is recycled
  std::atomic<uint64_t> windows;  // bit k % kRingSlots, of those: on the window path
  std::atomic<int64_t> last_ns;   // when the last one was complete
};
static_assert(kRingSlots == 64, "bits of a word");

struct ControlHeader {
  uint64_t magic;
  uint32_t layout;
  uint32_t ranks;
  uint64_t bytes;       // of the whole block
  uint32_t processors;  // that the ranks share, as the server saw them
  uint32_t oversubscribed;
  // As the server was told, so that they are the same for all ranks.
  uint32_t engine;           // Engine
  uint32_t accumulate_fp32;  // HCCLRUN_ACCUMULATE
  alignas(64) WaitWords waits[2];  // WaitPolicy's; [1]: of waits for what takes long

  // 0 = in use; else cause << 32 | rank + 1. Set once by compare-exchange; readers need only the
  // value itself.
  alignas(64) std::atomic<uint64_t> abort_word;
  // All sleeps on this communicator but those for transfers: one event count, since every change
  // concerns most ranks.
  alignas(64) EventCount event;
  Completions done;
  // Arrivals at window rounds so far: round k is complete at (k + 1) * ranks. A rank that gives up
  // an incomplete round sets kWindowsBroken in it by compare-exchange, so that all ranks agree
  // about every round: it was complete before, or it and all later ones fail, also for a rank that
  // arrives then.
  alignas(64) std::atomic<uint64_t> window_arrivals;
  // Of the newest failed operation that a rank has told its user in full, so that not all do: its
  // sequence + 1, times kMaxRanks, and the rank. A note, which orders nothing.
  std::atomic<uint64_t> told;
  // Likewise of transfers whose ends differ, a word for some pairs: 1, sender, receiver, the transfer's
  // number (cut to 30 bits) and the rank, from the top.
  std::atomic<uint64_t> told_transfers[kTransferNotes];
};

inline constexpr uint64_t kWindowsBroken = uint64_t{1} << 63;

enum class AbortCause : uint32_t {
  kNone = 0,
  kRankDied = 1,
  kRankFailed = 2,
  kTimeout = 3,
  kInternal = 4,
  kDropped = 5,  // a rank gave up operations that it had called: destroyed stream, reset device
};

// The block's parts, computed from the number of ranks. Plain pointers into the mapping;
// copies are cheap.
struct ControlView {
  // Ranks: this process' own number. What leads to an address is never read from the block.
  uint32_t size = 0;
  ControlHeader* header = nullptr;
  RankRecord* ranks = nullptr;
  SeenOn* seen_on = nullptr;            // [ranks]
  WindowEntry* windows = nullptr;       // [2][ranks]
  Slot* slots = nullptr;                // [kRingSlots]
  PostedCall* calls = nullptr;          // [kRingSlots][ranks]
  // [kRingSlots][ranks] of ExchangeBytes(), of few ranks: inputs that are too long for the
  // descriptor.
  char* inputs = nullptr;
  RankEvent* rank_events = nullptr;     // [ranks]
  TransferChannel* channels = nullptr;  // [ranks][ranks]: sender, receiver

  static uint64_t BytesFor(uint32_t ranks) { return Lay(nullptr, ranks).second; }
  // All but the channels, which come last, from the start of a page.
  static uint64_t FixedBytesFor(uint32_t ranks) {
    return reinterpret_cast<uintptr_t>(Lay(nullptr, ranks).first.channels);
  }
  static ControlView At(void* base, uint32_t ranks) {
    return Lay(static_cast<char*>(base), ranks).first;
  }

  Slot& slot(uint64_t sequence) const { return slots[sequence % kRingSlots]; }
  PostedCall& call_of(uint64_t sequence, uint32_t rank) const {
    return calls[sequence % kRingSlots * size + rank];
  }
  std::atomic<uint64_t>& posted_by(uint64_t sequence, uint32_t rank) const {
    return call_of(sequence, rank).posted;
  }
  Descriptor& descriptor(uint64_t sequence, uint32_t rank) const {
    return call_of(sequence, rank).call;
  }
  // Where the input of a rank of an exchange is.
  char* exchanged(uint64_t sequence, uint32_t rank, uint64_t bytes) const {
    Descriptor& d = descriptor(sequence, rank);
    static_assert(offsetof(Descriptor, out_offset) == offsetof(Descriptor, in_offset) + 8);
    return bytes <= 16 ? reinterpret_cast<char*>(&d.in_offset)
                       : inputs + (sequence % kRingSlots * size + rank) * ExchangeBytes(size);
  }
  EventCount& event_of(uint32_t rank) const { return rank_events[rank].event; }
  // Through which `rank`, as `end`, meets `peer`.
  TransferChannel& channel(uint32_t rank, TransferEnd end, uint32_t peer) const {
    const uint64_t sender = end == kSenderEnd ? rank : peer;
    const uint64_t receiver = end == kSenderEnd ? peer : rank;
    return channels[sender * size + receiver];
  }
  // Wakes every sleeper of the communicator.
  void NotifyAll() const {
    header->event.Notify();
    for (uint32_t r = 0; r < size; r++) event_of(r).Notify();
  }
  WindowEntry& window(uint64_t round, uint32_t rank) const {
    return windows[round % 2 * size + rank];
  }

 private:
  static constexpr uint64_t kPage = uint64_t{64} << 10;  // of any machine
  static std::pair<ControlView, uint64_t> Lay(char* base, uint32_t ranks) {
    ControlView v;
    v.size = ranks;
    uint64_t at = 0;
    auto take = [&](uint64_t bytes) {
      char* p = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(base) + at);
      at = (at + bytes + 63) & ~uint64_t{63};
      return p;
    };
    v.header = reinterpret_cast<ControlHeader*>(take(sizeof(ControlHeader)));
    v.ranks = reinterpret_cast<RankRecord*>(take(sizeof(RankRecord) * ranks));
    v.seen_on = reinterpret_cast<SeenOn*>(take(sizeof(SeenOn) * ranks));
    v.windows = reinterpret_cast<WindowEntry*>(take(sizeof(WindowEntry) * ranks * 2));
    v.slots = reinterpret_cast<Slot*>(take(sizeof(Slot) * kRingSlots));
    v.calls = reinterpret_cast<PostedCall*>(take(sizeof(PostedCall) * kRingSlots * ranks));
    v.inputs = take(ExchangeBytes(ranks) * kRingSlots * ranks);
    v.rank_events = reinterpret_cast<RankEvent*>(take(sizeof(RankEvent) * ranks));
    at = (at + kPage - 1) & ~(kPage - 1);
    v.channels = reinterpret_cast<TransferChannel*>(take(sizeof(TransferChannel) * ranks * ranks));
    return {v, at};
  }
};

}  // namespace hcclrun
