#pragma once
// The shared memory of one ordered pair of ranks, through which its sends meet its receives.
//
// Transfers of a pair are numbered from 0 in the order in which each end calls them (FIFO, semantics
// C.2): the k-th send meets the k-th receive. Transfer k uses slot k % kTransferSlots. The block is
// zero-filled when it is made, which is a valid state of every channel.
//  1. An end waits until the slot's generation is k / kTransferSlots, writes its TransferCall and
//     sets its bit in `ends` (seq_cst: publishes the call, and is the condition of an EventCount).
//  2. When both bits are set, each end compares the two calls. If they differ, both come to the same
//     conclusion by themselves and nothing is moved. Otherwise the bytes are moved in parts of
//     kTransferPart by whoever is there: a part belongs to the end whose fetch_add on `claimed`
//     returned its number, and is moved when that end has counted it in `moved` (seq_cst: all bytes
//     of the part come before). An end whose peer's buffer only the peer can address claims nothing.
//     Mostly the second end to come does it all at once: when it finds the first there, the two calls
//     alike and the transfer short, it sets its bit together with kTaken (compare-exchange from the
//     first's bit alone), moves the one part, counts itself in `left` (a store: the other end touches
//     nothing before it finds the part moved), and then the part in `moved`. An end that sees both bits
//     sees kTaken with them, and claims nothing. The line of these words goes to and fro twice then, not
//     with every step of two ends that compete for a part.
//  3. moved == parts: the transfer is complete. Each end counts itself in `left`; the second resets
//     the slot and stores the next generation: only now may anybody write into it again. Neither end
//     touches the slot after it has left.
// An end that gives up (time-out, abort, a stream that is dropped) takes its bit back if it is the
// only one (compare-exchange), or else counts all parts as claimed and waits for those that its peer
// is moving, which with kTaken is the one: its buffer is its owner's again afterwards.
// An end that dies leaves a bit unset or a part unmoved for ever; the other end finds out by the
// abort word or the peer's RankRecord, at least every 200 ms. Nothing is repaired afterwards.

#include <atomic>
#include <cstdint>

namespace hcclrun {

inline constexpr uint32_t kTransferSlots = 32;  // so many transfers of a pair may be announced
inline constexpr uint64_t kTransferPart = uint64_t{64} << 10;

// One end's side of a transfer: plain data, immutable from posting to leaving.
struct TransferCall {
  uint64_t count;
  uint64_t offset;  // of the buffer in the rank's heap; unused when private
  uint64_t number;  // of the call among the rank's transfers on this communicator
  uint32_t call;    // CallId
  uint32_t stream;
  uint8_t dtype;       // DataType
  uint8_t is_private;  // only this end can address the buffer (receivers only)
  uint8_t is_skipped;  // its stream stops after a failure: the transfer fails on both ends
  uint8_t padding[13];
};
static_assert(sizeof(TransferCall) == 48);

enum TransferEnd : uint32_t { kSenderEnd = 0, kReceiverEnd = 1 };
inline constexpr uint32_t kTaken = 4;  // the end that came second does it all
inline constexpr uint64_t kTakenBytes = 4096;  // at most; one part

struct alignas(64) TransferSlot {
  std::atomic<uint64_t> generation;
  std::atomic<uint32_t> ends;  // bit per TransferEnd that has posted; kTaken
  std::atomic<uint32_t> left;
  std::atomic<uint32_t> claimed, moved;  // parts
  std::atomic<int64_t> completed_ns;     // NowNs() when the last part was moved
  TransferCall calls[2];                 // by TransferEnd
};
static_assert(sizeof(TransferSlot) == 128);

struct alignas(64) TransferChannel {
  // Sends and receives called so far, written by their rank, which alone writes to the line: whether a
  // rank that has destroyed its communicator can still come.
  struct alignas(64) Called : std::atomic<uint64_t> {};
  Called called[2];
  TransferSlot slots[kTransferSlots];

  TransferSlot& slot(uint64_t transfer) { return slots[transfer % kTransferSlots]; }
};

}  // namespace hcclrun
