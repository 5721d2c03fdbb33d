#pragma once
// The shared memory of one ordered pair of ranks, through which its sends meet its receives.
//
// Transfers of a pair are numbered from 0 in the order in which each end calls them (FIFO, semantics
// C.2): the k-th send meets the k-th receive. Transfer k uses slot k % kTransferSlots. The block is
// zero-filled when it is made, which is a valid state of every channel.
//  1. An end waits until the slot's generation is k / kTransferSlots, writes its TransferCall and
//     sets its bit in `ends` (seq_cst: publishes the call, and is the condition of an EventCount).
//  2. When both bits are set, each end compares the two calls. If they differ, both come to the same
//     conclusion by themselves and nothing is moved. Otherwise the bytes are moved in parts
//     (TransferPart) by whoever is there: the sender's end takes them from the front, the receiver's
//     from the back, until they meet. So each end has the same half of a buffer every time, whose pages
//     and lines its processor knows, and one that sleeps or is busy elsewhere leaves all to the other:
//     nobody waits for help, only for parts that were taken.
//     A part is taken by a fetch_add on `claimed`, which counts both ends' parts in one word; it is had
//     if they were fewer than all before. None is had twice: an end's own counts differ, and front part
//     f is back part parts - 1 - b only if f + b + 1 = parts, so that whoever of the two was later found
//     all taken. A part is moved when its end has counted it in `moved` (seq_cst: all bytes of the part
//     come before, and who reads the last count has read all others'). Of a line of memory that two
//     parts share each end writes its own bytes. An end whose peer's buffer only the peer can
//     address claims nothing. No claim can come late: an end claims before it leaves (3.), and the slot is
//     nobody else's until both have left.
//     Mostly the second end to come does a short transfer all at once: when it finds the first there, and
//     the two calls alike, it sets its bit together with kTaken (compare-exchange from the
//     first's bit alone), moves the one part, counts itself in `left` (a store: the other end touches
//     nothing before it finds the part moved), and then the part in `moved`. An end that sees both bits
//     sees kTaken with them; then the calls have been compared, and it claims nothing. The line of these
//     words goes to and fro twice then, not with every step of two ends that compete for a part.
//  3. moved == parts: the transfer is complete. Each end counts itself in `left`; the second resets
//     the slot and stores the next generation: only now may anybody write into it again. Neither end
//     touches the slot after it has left.
// An end that gives up (time-out, abort, a stream that is dropped) takes its bit back if it is the
// only one (compare-exchange), or else exchanges `claimed` for kPartsClosed, so that nobody takes a part
// any more. What it read was the last count of parts that were had. It moves none of them now, and waits
// until `moved` is as many, with kTaken one: then its peer moves none either, and its buffer is its
// owner's again. One that finds kPartsClosed there waits for nobody: its peer has given up, and moves
// nothing.
// An end that dies leaves a bit unset or a part unmoved for ever; the other end finds out by the
// abort word or the peer's RankRecord, at least every 200 ms, and waits a moment only for the parts that
// the dead one had, which nobody writes to any more. Nothing is repaired afterwards.

#include <atomic>
#include <cstdint>

namespace hcclrun {

inline constexpr uint32_t kTransferSlots = 32;  // so many transfers of a pair may be announced

// Messages of one part are left to one end: with two below 32 KiB each the second costs more than it
// brings. Larger ones than 64 KiB bring nothing, and smaller ones make ends wait less for each other's
// last part.
inline constexpr uint64_t kLeastPart = uint64_t{32} << 10, kMostPart = uint64_t{64} << 10;
inline constexpr uint64_t kMostParts = 0x7ffe;

constexpr uint64_t TransferPart(uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  if (bytes > kMostParts * kMostPart) {
    const uint64_t share = (bytes + kMostParts - 1) / kMostParts;
    return (share + kMostPart - 1) / kMostPart * kMostPart;
  }
  const uint64_t half = ((bytes + 1) / 2 + kPage - 1) / kPage * kPage;
  return half < kLeastPart ? kLeastPart : half < kMostPart ? half : kMostPart;
}
constexpr uint64_t TransferParts(uint64_t bytes) {
  const uint64_t part = TransferPart(bytes);
  return (bytes + part - 1) / part;
}
static_assert(TransferParts(kLeastPart) == 1 && TransferParts(kLeastPart + 1) == 2);
static_assert(TransferParts(2 * kMostPart) == 2 && TransferParts(2 * kMostPart + 1) == 3);
static_assert(TransferParts(kMostParts * kMostPart + 1) <= kMostParts);
static_assert(TransferParts(uint64_t{1} << 40) <= kMostParts);

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

// TransferSlot::claimed: the sender's parts, from the front, in the lower half, and the receiver's, from
// the back, above. Each end may count one that was not to be had; neither count leaves its place.
inline constexpr uint32_t kFromBack = 1u << 16;
inline constexpr uint32_t kPartsClosed = 1u << 31;  // more than all parts
constexpr uint32_t FrontParts(uint32_t claimed) { return claimed % kFromBack; }
constexpr uint32_t BackParts(uint32_t claimed) { return claimed / kFromBack; }
constexpr uint32_t ClaimedParts(uint32_t claimed) {
  return FrontParts(claimed) + BackParts(claimed);
}

struct alignas(64) TransferSlot {
  std::atomic<uint64_t> generation;
  std::atomic<uint32_t> ends;  // bit per TransferEnd that has posted; kTaken
  std::atomic<uint32_t> left;
  std::atomic<uint32_t> claimed;         // see FrontParts()
  std::atomic<uint32_t> moved;           // parts
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
