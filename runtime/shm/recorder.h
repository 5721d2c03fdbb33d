#pragma once
// The flight recorder: what each rank called last, and what its streams and threads wait for, in
// memory that the launcher owns and that survives the rank.
//
// It lies behind the job page, one area per rank: tables of communicators, streams and threads, and
// a ring of operations. A rank writes into its own area only, always, whether somebody will ask or
// not: without a system call, a lock, or a cache line that another rank writes. The launcher alone
// reads, whenever it likes, also long after the writer's death.
//
// Who writes what. A place of the ring belongs to one operation at a time: the thread that calls
// the operation takes the next number (fetch_add), sets the place's number to 0, writes the facts
// and stores the number (release). Times and outcome are added later by the one thread that drives
// the operation then. A reader takes the number, copies (acquire loads, so that nothing moves
// ahead), and discards the copy if the number has changed. When more operations are under way than
// the ring has places, an old operation adds its times to a place that is not its own any more,
// unless it looks first, which it does; between look and store remains a window in which it spoils
// a time of a record. It is a note for people, not a protocol: readers trust no value to be in
// range. A waiter (stream, thread) has one writer at a time, its driver or itself. Its fields are
// stored between two increments of `version` (odd: under way); a reader that finds it odd or
// changed tries again a few times and then takes what is there: the writer may have died in
// between.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ticks.h"

namespace hcclrun {

inline constexpr uint32_t kNoPeer = 0xffffffff;
inline constexpr uint8_t kNoOp = 0xff;

// A call that has a place in the order of a communicator's calls: an operation, one item of a
// batch, or a local call such as HcclCommSymWinDeregister.
struct OperationRecord {
  enum Kind : uint8_t { kCollective, kSend, kReceive, kLocal };
  std::atomic<uint64_t> number;    // from 1; 0 = being written or never written
  std::atomic<uint64_t> sequence;  // on the communicator; of the pair of ranks for kSend, kReceive;
                                   // for kLocal the operations called before it
  std::atomic<uint64_t> count;     // for kLocal the call's own number, from 1; 0 = it has none
  std::atomic<uint64_t> bytes;                    // of the rank's larger buffer
  std::atomic<uint64_t> in_window, out_window;    // offset in the symmetric heap; UINT64_MAX = none
  std::atomic<uint64_t> called, posted, started;  // ticks; 0 = not yet
  std::atomic<int64_t> finished;  // NowNs(), or less than 0: minus ticks; 0 = not yet
  std::atomic<uint64_t> reserved;
  std::atomic<uint32_t> comm;  // CommunicatorRecord::id
  std::atomic<uint32_t> stream;
  std::atomic<uint32_t> call;   // CallId
  std::atomic<int32_t> thread;  // that called
  std::atomic<uint32_t> peer;   // root or peer, rank of the communicator; kNoPeer = none
  std::atomic<uint32_t> fault;  // FaultKind; 0 = none so far
  std::atomic<uint8_t> kind, dtype, reduce_op;
  std::atomic<uint8_t> path;    // PathTaken
  std::atomic<uint8_t> reason;  // why not the window: number of a ReasonRecord, 0 = none
  std::atomic<uint8_t> flags;   // of the descriptor
  std::atomic<uint8_t> op;      // Op of collective/types.h; kNoOp for kLocal
  char padding[9];
};
static_assert(sizeof(OperationRecord) == 128);

// Texts that many operations have in common. Added by the first that has it; never changed.
struct ReasonRecord {
  std::atomic<uint32_t> there;  // 1 once the text is in place (release)
  char text[124];               // cut; ends with NUL
};

enum class PathTaken : uint8_t { kUnknown, kWindow, kBuffered, kDirect };

struct CommunicatorRecord {
  std::atomic<uint32_t> id;     // from 1; 0 = being written or never written
  std::atomic<uint32_t> alive;  // 0 once the rank has destroyed it
  std::atomic<uint64_t> key;    // the same for all members
  std::atomic<uint32_t> rank, size;
  std::atomic<uint64_t> called;   // collectives called so far
  std::atomic<uint64_t> stages;   // bytes of one HCCL buffer
  std::atomic<uint32_t> servers;  // over which a rank table spreads it, 1 without
  char padding[20];
  char name[64];  // cut; ends with NUL
  // Ranks of the job that are to be members, a bit each, where that is known before they have come;
  // else 0.
  static constexpr uint32_t kExpectedWords = 16;
  std::atomic<uint64_t> expected[kExpectedWords];
};
static_assert(sizeof(CommunicatorRecord) == 256);

enum class WaitKind : uint32_t {
  kNothing,
  kCollective,    // in a stream, for ranks that have not posted; missing
  kTurn,          // for operation `target` of the communicator to be complete
  kRun,           // for the other ranks' share
  kTransfer,      // sequence, target: the peer; kind of end in `detail`
  kEvent,         // target: stream of the record + 1, 0 = nobody has recorded it
  kSharedEvent,   // target: pid of the recorder, 0 unknown
  kNotify,        // target: handle
  kValue,         // target: address
  kHostFunction,  // runs; waits for nothing
  kStream,        // a thread: for stream `target`
  kRegister,      // a thread: for ranks that have not come to registration `sequence`; missing
  kMembers,       // a thread: for ranks that have not come to make a communicator
  kCount
};

struct Waiter {
  static constexpr uint32_t kListed = 16;
  std::atomic<uint32_t> version;
  std::atomic<uint32_t> kind;   // WaitKind
  std::atomic<uint64_t> owner;  // stream + 1, or thread; 0 = free
  std::atomic<uint64_t> since;  // ticks
  std::atomic<uint64_t> sequence, target;
  std::atomic<uint32_t> comm, detail;
  std::atomic<uint32_t> call;               // a thread's: CallId
  std::atomic<uint32_t> inside;             // it has not returned
  std::atomic<uint64_t> entered;            // ticks
  std::atomic<uint64_t> queued, completed;  // a stream's tasks
  std::atomic<uint32_t> missing;            // ranks of the communicator
  std::atomic<uint16_t> ranks[kListed];     // the first of them
  char padding[12];
};
static_assert(sizeof(Waiter) == 128);

// Both clocks at one moment: of a few readings the one in which the least time passed between them,
// so that no interruption in between shifts all times of a report.
struct ClockReading {
  uint64_t ticks;
  int64_t ns;
  static ClockReading Take();
};

// The same for all ranks; a part of the job page.
struct RecorderLayout {
  uint64_t offset;  // of rank 0's area in the shared object, 0 = no recorder
  uint64_t stride;
  uint32_t reasons, communicators, streams, threads;
  uint32_t operations;   // a power of two
  uint32_t counter;      // 1: times are Ticks(), 0: NowNs()
  uint64_t start_ticks;  // and NowNs() of the same moment
  int64_t start_ns;

  void SetStart(const ClockReading& now) {
    start_ticks = now.ticks;
    start_ns = now.ns;
  }
  uint64_t AreaBytes() const {
    return kLine + sizeof(ReasonRecord) * reasons + sizeof(CommunicatorRecord) * communicators +
           sizeof(Waiter) * (streams + threads) + sizeof(OperationRecord) * operations;
  }
  // Whether the areas of so many ranks lie in an object of so many bytes.
  bool Fits(uint32_t ranks, uint64_t object_bytes) const;
  // What is reasonable for so many ranks: some hundred operations each, with `trace` many more. The
  // offset is left at 0.
  static RecorderLayout For(uint32_t ranks, bool trace);

  static constexpr uint64_t kLine = 64;
};

// The parts of one rank's area.
struct RecorderView {
  std::atomic<uint64_t>* next = nullptr;  // operations recorded so far; alone in its line
  ReasonRecord* reasons = nullptr;
  CommunicatorRecord* communicators = nullptr;
  Waiter *streams = nullptr, *threads = nullptr;
  OperationRecord* operations = nullptr;
  RecorderLayout layout = {};

  static RecorderView At(char* base, const RecorderLayout& layout, uint32_t rank);
  OperationRecord& operation(uint64_t number) const {
    return operations[number & (layout.operations - 1)];
  }
};

// ---- in a rank ----

// Where one operation is recorded. Empty without a launcher. Copies are cheap.
class OperationNote {
 public:
  OperationNote() = default;
  // The time for Posted(): taken before others can see that the operation is posted and, perhaps,
  // complete it.
  uint64_t BeforePost() const { return record_ ? Now() : 0; }
  void Posted(uint64_t ticks) const { Stamp(&OperationRecord::posted, ticks); }
  void Started() const {
    if (record_) Stamp(&OperationRecord::started, Now());
  }
  void Finished(int64_t at_ns, PathTaken path) const;
  // As Finished(), now, by the cheaper clock.
  void FinishedNow(PathTaken path) const;
  void Failed(uint32_t fault_kind) const;

 private:
  friend class Recorder;
  static uint64_t Now();
  void Stamp(std::atomic<uint64_t> OperationRecord::*field, uint64_t ticks) const {
    if (Mine()) (record_->*field).store(ticks, std::memory_order_relaxed);
  }
  bool Mine() const {
    return record_ && record_->number.load(std::memory_order_relaxed) == number_;
  }
  OperationRecord* record_ = nullptr;
  uint64_t number_ = 0;
};

// Of one operation, as Recorder::Operation() takes them.
struct OperationFacts {
  OperationRecord::Kind kind = OperationRecord::kCollective;
  uint32_t comm = 0, stream = 0, call = 0;
  uint64_t sequence = 0, count = 0, bytes = 0;
  uint32_t peer = kNoPeer;
  uint8_t op = kNoOp, dtype = 0, reduce_op = 0, reason = 0, flags = 0;
  uint64_t called = 0, posted = 0;  // ticks; 0: now, and not yet
  uint64_t in_window = UINT64_MAX, out_window = UINT64_MAX;
};

// What a stream or thread waits for. `missing` ranks of the communicator, of which the first
// kListed are in `ranks`.
struct Waiting {
  WaitKind kind = WaitKind::kNothing;
  uint32_t comm = 0, detail = 0;
  uint64_t sequence = 0, target = 0;
  uint32_t missing = 0;
  uint16_t ranks[Waiter::kListed] = {};

  void AddMissing(uint32_t rank) {
    if (missing < Waiter::kListed) ranks[missing] = static_cast<uint16_t>(rank);
    missing++;
  }
};

class Recorder {
 public:
  // Null without a launcher. Set once, when the process has attached to it.
  static const RecorderView* Mine() { return mine_.load(std::memory_order_acquire); }
  static void Attach(const RecorderView& mine);
  static uint64_t Now(const RecorderView& view) {
    return view.layout.counter ? Ticks() : static_cast<uint64_t>(NowNs());
  }

  // The communicator's id for records; 0 when there is no place for it.
  static uint32_t AddCommunicator(uint64_t key, const char* name, uint32_t rank, uint32_t size,
                                  uint64_t stage_bytes);
  static void EndCommunicator(uint32_t id);
  // This rank of the job is to be a member of it.
  static void Expect(uint32_t id, uint32_t job_rank);
  // Its record, or null.
  static CommunicatorRecord* Communicator(uint32_t id);

  // The number of a reason for OperationFacts; `text` is a literal. 0 for "" and when there is no
  // place for more.
  static uint8_t Reason(const char* text);

  static OperationNote Operation(const OperationFacts& facts);
  // A local call, for its place among the others. Of a registration: its number, from 1, and the
  // bytes as the user gave them.
  static void Local(uint32_t comm, uint32_t call, uint64_t number = 0, uint64_t bytes = 0);

  // A place for the stream's waits; null when there is none. By its owner, once.
  static Waiter* AddStream(uint32_t id);
  static void Release(Waiter* stream);
  // The calling thread's; null as above.
  static Waiter* Thread();

  // `waiter` may be null. Repeated with the same facts it costs a few loads.
  static void Wait(Waiter* waiter, const Waiting& waiting);
  // The calling thread is about to wait for a stream, and is noted as such when it first goes to
  // sleep for it: in Wait(), for what the stream itself waits for, or in Sleeps(). NothingAwaited()
  // when it is over.
  static void WillWait(uint32_t stream) { awaited_ = uint64_t{stream} + 1; }
  static void NothingAwaited() { awaited_ = 0; }
  static void Sleeps() {
    if (awaited_) NoteAwaited();
  }
  static void Go(Waiter* waiter) {
    if (waiter) waiter->kind.store(0, std::memory_order_relaxed);
  }
  // When the calling thread's last noted call began; 0: there was none.
  static uint64_t Entered() { return entered_; }
  static void Enters(Waiter* thread) {
    entered_ = Now(*Mine());
    thread->entered.store(entered_, std::memory_order_relaxed);
  }
  static bool Waits(const Waiter& waiter) {
    return waiter.kind.load(std::memory_order_relaxed) != 0;
  }

 private:
  static void NoteAwaited();
  static inline std::atomic<const RecorderView*> mine_{nullptr};
  static inline thread_local uint64_t awaited_ = 0;  // stream + 1
  static inline thread_local uint64_t entered_ = 0;  // ticks
};

inline uint64_t OperationNote::Now() { return Recorder::Now(*Recorder::Mine()); }

}  // namespace hcclrun
