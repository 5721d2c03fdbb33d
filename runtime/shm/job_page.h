#pragma once
// The page that the launcher and its ranks share: the memory account, the board on which rank 0
// leaves root infos, and what each rank is doing, for the launcher's verdict. Behind it lies the
// flight recorder (shm/recorder.h).
//
// The launcher creates it (MemoryObject), zero-filled, fills the constants and hands the descriptor
// to every rank over the lifeline. It survives any rank, so the launcher can read what a dead rank
// did last. There is no lock in it. Everything a reader takes from it is copied and range-checked:
// a corrupted rank must not confuse the launcher.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm/recorder.h"

namespace hcclrun {

inline constexpr uint32_t kJobPageVersion = 7;
inline constexpr uint32_t kMaxJobRanks = 1024;
inline constexpr uint32_t kBoardSlots = 256;
inline constexpr uint32_t kNoRankFailed = kMaxJobRanks + 1;
inline constexpr size_t kBlameBytes = 480;
inline constexpr size_t kRootInfoUsed = 200;  // bytes of HcclRootInfo that carry anything

// What a rank said of a call that failed because of more than itself, for the launcher's verdict
// should the rank end now. Written once: the thread that takes it from 0 to 1 writes the sentence,
// cut to fit and ended by a zero, and then 2 (release). Who loads 2 (acquire) may read it.
struct Blame {
  std::atomic<uint32_t> state;
  char sentence[kBlameBytes];
  bool told() const { return state.load(std::memory_order_acquire) == 2; }
};

// What a rank is doing. One writer at a time (the thread that makes the call; the last writer
// wins when several threads call), any reader. Fields are independent atomics, so a reader may
// see a mix of two neighbouring calls; it is a note for people, not a protocol. Relaxed
// stores, relaxed loads.
struct RankActivity {
  std::atomic<int32_t> pid;      // of the process that loaded the library, 0 = not yet
  std::atomic<uint32_t> call;    // CallId of the API call made last
  std::atomic<uint32_t> inside;  // 1 while the call has not returned
  // 1 once the process left through exit(), or the launcher saw it end (release, acquire).
  std::atomic<uint32_t> finished;
  std::atomic<uint64_t> sequence;  // number of the operation on its communicator, 0 = none
  std::atomic<uint64_t> calls;     // API calls made so far
  // Ranks missing in the operation the rank waits for, 0 = it waits for nobody.
  std::atomic<uint32_t> waiting;
  std::atomic<int32_t> waiting_for;  // one of them, -1 = none
  Blame another;  // it failed because of another rank: this rank is no first cause
  Blame differs;  // ranks called different things: whose fault it is, the sentence shows at best
  char padding[12];
};

// One root info left by rank 0 for the others: `ready` becomes 1 (release) after the bytes are in
// place; readers wait on it as a futex and read the bytes after an acquire load. Written once,
// never reused.
struct BoardSlot {
  std::atomic<uint32_t> ready;
  char blob[kRootInfoUsed];
};

struct JobPage {
  uint64_t magic;
  uint32_t version;
  uint32_t ranks;
  uint64_t memory_limit_bytes;
  // Not 0 once the launcher has begun to end the job: first failed rank + 1, or kNoRankFailed.
  std::atomic<uint32_t> aborting;
  // A rank that is about to give up asks for a report of how things stand before it does
  // (lifeline.h): it takes a number from `reports_asked`, and waits, not long, until
  // `reports_taken`, a futex, has reached it. The launcher copies what it needs before it stores
  // that (release).
  std::atomic<uint32_t> reports_asked, reports_taken;
  RecorderLayout recorder;
  std::atomic<uint64_t> committed_bytes[kMaxJobRanks];
  RankActivity activity[kMaxJobRanks];
  BoardSlot board[kBoardSlots];
};
inline constexpr uint64_t kJobPageMagic = 0x6863636c72756e31;  // "hcclrun1"

}  // namespace hcclrun
