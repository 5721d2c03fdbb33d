#pragma once
// One rank's view of a communicator. Handles of the C API name it through comm/comm_table. Thread
// rule (semantics D.11): one issuing thread at a time; a lock makes a violation harmless.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/call.h"
#include "base/fault.h"
#include "collective/types.h"
#include "comm/control_block.h"
#include "comm/issue_lock.h"
#include "comm/liveness.h"
#include "comm/meeting.h"
#include "comm/output_count.h"
#include "comm/places.h"
#include "comm/rendezvous_client.h"
#include "comm/thresholds.h"
#include "device/device.h"
#include "device/memory_map.h"
#include "device/stream.h"
#include "shm/stall.h"
#include "shm/wait_policy.h"

namespace hcclrun {

class HcclBuffers;
class SymmetricHeap;
class ArgumentRing;
struct Transfer;
struct VArguments;

// How AI CPU expansion is set (config or HCCL_OP_EXPANSION_MODE); only kAiCpu lets
// operations use windows. The numbers of HcclOpExpansionMode.
enum class Expansion : int32_t { kAiCpu = 0, kAiv = 1, kHost = 2, kHostTs = 3, kAivOnly = 6 };

struct CommConfig {
  std::string name;                             // empty: the root info's
  std::string label;                            // hcclUdi: the user's text, for messages
  bool from_rank_table = false;                 // at most one on a device (semantics D.4)
  bool resets_device = false;                   // its destruction gives back a device reference
  Places places;                                // of all ranks; empty: as the ranks say at creation
  uint64_t buffer_bytes = uint64_t{200} << 20;  // of each of the two HCCL buffers
  std::string buffer_name;                      // of HCCL buffers that are shared; empty: none
  uint64_t stride_bytes = uint64_t{16} << 30;   // of the symmetric heap per rank
  Expansion expansion = Expansion::kAiCpu;
  std::string algorithm;  // HCCL_ALGO or hcclAlgo; for whoever asks
  int64_t connect_timeout_ms = 120'000;
  int64_t exec_timeout_ms = 1'836'000;  // < 0 = never
  bool strict = false;                  // strict determinism (semantics C.4)
};

struct OpRequest {
  Op op;
  CallId call;
  DataType dtype = DataType::kInt8;
  ReduceOp reduce_op = ReduceOp::kSum;
  uint32_t root = 0;
  uint64_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;
  std::shared_ptr<const VArguments> v;  // V operations, instead of count
  bool refused_at_once = false;         // ExchangeNow() has been asked and said no
};

// One send or receive of a call.
struct TransferRequest {
  TransferEnd end;  // what this rank is
  uint32_t peer;
  DataType dtype;
  uint64_t count;
  void* buffer;
};

// Where a buffer of an operation is.
struct Buffer {
  char* address = nullptr;  // the user's, valid in this process
  uint64_t bytes = 0;
  uint64_t heap_offset = 0;
  uint64_t window_offset = kNoWindow;
  // Scattered or foreign: only this process can use it, through the address.
  bool is_private = false;
};


class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  // Blocks until all ranks have it (semantics D.2). The calling thread's device
  // becomes the communicator's.
  static Result<std::shared_ptr<Communicator>> Create(const RootInfo& info, uint32_t ranks,
                                                      uint32_t rank, const CommConfig& config);
  // At once: the members, who all derive `info`, are met in the background (comm/meeting.h).
  static Result<std::shared_ptr<Communicator>> CreateUnmet(Device* device, const RootInfo& info,
                                                           uint32_t ranks, uint32_t rank,
                                                           const CommConfig& config,
                                                           Ancestry ancestry);
  ~Communicator();

  // Whether the members have been met: view() and windows() are there.
  bool connected() const { return connected_.load(std::memory_order_acquire); }
  // What every use of the members begins with, after the arguments have been checked: refused while
  // the communicator is suspended; waits for the members of a communicator of CreateUnmet(), at
  // most the connect timeout.
  Fault Ready();
  // For the meeting: takes the members in.
  Fault Attach(Membership membership);
  // What only members know (root_info.h).
  const std::string& key() const { return key_; }
  // The how manyth communicator with this key tail is derived from this one, from 0.
  uint64_t CountDerived(const std::string& tail);

  uint32_t rank() const { return rank_; }
  uint32_t size() const { return size_; }
  const std::string& name() const { return config_.name; }
  // In messages, and who speaks in them (base/speaker.h).
  const std::string& shown_name() const { return shown_name_; }
  uint32_t speaker() const { return speaker_; }
  // Once connected: why no operation can take the window path (semantics A.10 items 4 to 6); null:
  // they can.
  const char* no_window_path() const { return no_window_path_; }
  // Why there is no symmetric heap (semantics A.3 steps 7 and 8); null: there is.
  const char* no_windows() const;
  const CommConfig& config() const { return config_; }
  Device* device() const { return device_; }
  const ControlView& view() const { return membership_->view; }
  SymmetricHeap& windows() { return *windows_; }
  char* heap_base(uint32_t rank) const { return membership_->heaps[rank]->base(); }
  // Where the program sees it.
  char* program_base(uint32_t rank) const { return membership_->heaps[rank]->program_base(); }
  uint64_t heap_bytes(uint32_t rank) const { return membership_->heaps[rank]->bytes(); }

  // Numbers the operation and queues it on the stream. Faults of the arguments' memory come back
  // here, everything else from the stream. The request's arguments have passed the checks of
  // semantics C.1.
  Fault Submit(const OpRequest& request, const std::shared_ptr<Stream>& stream);

  // As Submit(), for an operation that needs no task: of a few bytes and, mostly, complete on
  // return. Under issuing(); takes no reference to communicator or stream. `called`: ticks, for the
  // record; 0: now. False: nothing has happened, it is something else or something is wrong.
  bool ExchangeNow(const OpRequest& request, Stream& stream, uint64_t called);
  IssueLock& issuing() { return issuing_; }

  // Numbers the transfers, which make one task of the stream, and queues it. Faults as Submit().
  Fault SubmitTransfers(CallId call, absl::Span<const TransferRequest> requests,
                        const std::shared_ptr<Stream>& stream);

  // As ExchangeNow(), for a send or receive.
  bool TransferNow(CallId call, const TransferRequest& request, Stream& stream, uint64_t called);

  // What keeps the communicator from going on, if anything (semantics D.6, HcclGetCommAsyncError).
  Fault AsyncFault() const;
  // That, or why the next operation would be refused although this communicator is sound.
  Fault OutOfUse() const;
  // HcclCommDestroy: local. Operations already called go on; later calls of peers find that this
  // rank has left.
  void Destroy();

  // A rank's HCCL buffers are used in pieces of this many bytes per stage buffer; the same
  // on all ranks.
  uint64_t chunk_bytes() const { return chunk_bytes_; }
  // Gives this rank's stage buffers pages for one chunk; once.
  Fault CommitStages();
  HcclBuffers& buffers() { return *buffers_; }
  char* stage_a(uint32_t rank) const { return stages_[rank].a; }
  char* stage_b(uint32_t rank) const { return stages_[rank].b; }

  // Of the operations that are called, by the thread that calls.
  OutputCount& outputs() { return outputs_; }

  // Of V operations; there from the first one on.
  ArgumentRing& arguments() { return *arguments_; }

  // This rank is done with the operation, well or not: it looks at nothing of it any more.
  void DoneWith(uint64_t sequence);
  // Whether the rank may post operation `sequence` for an exchange.
  bool PlaceIsFree(uint64_t sequence);

  StallWatch& stall() { return stall_; }
  // As WaitPolicy::Outlast(), for waits of this rank for the others, who move so many bytes
  // meanwhile, together.
  template <class Condition>
  bool OutlastWait(Condition ready, uint64_t bytes_moved) {
    ControlHeader& header = *view().header;
    const RankRecord& own = view().ranks[rank_];
    const bool takes_long = bytes_moved >= kLongWorkBytes;
    return wait_policy_.Outlast({rank_, size_, header.processors, takes_long,
                                 header.waits[takes_long], view().seen_on, own.operations_done,
                                 own.transfers_done, static_cast<uint32_t>(view().ranks[0].pid)},
                                ready);
  }
  uint32_t record() const { return record_; }  // its id in the flight recorder (shm/recorder.h)
  // What rank r is in hcclrun's job; -1 when that is not known (shm/job_ranks.h).
  int job_rank(uint32_t r) const { return r < job_ranks_.size() ? job_ranks_[r] : -1; }

  std::atomic<bool> suspended{false};  // HcclCommSuspend: takes no operations (semantics D.8)

  // The path of the rank's last finished operation, for tests and explanations.
  void NotePath(Path path) {
    last_path_.store(static_cast<uint32_t>(path), std::memory_order_relaxed);
  }
  Path last_path() const { return static_cast<Path>(last_path_.load(std::memory_order_relaxed)); }

 private:
  struct Stages {
    char *a, *b;
  };
  Communicator(Device* device, uint32_t ranks, uint32_t rank, const CommConfig& config);
  static Result<std::shared_ptr<Communicator>> Prepare(Device* device, const RootInfo& info,
                                                       uint32_t ranks, uint32_t rank,
                                                       const CommConfig& config, Hello* hello);
  Fault CheckPeers();
  Fault MakeArgumentRing();
  Fault CommitChannel(TransferEnd end, uint32_t peer);
  Transfer Describe(CallId call, const TransferRequest& request, const Buffer& buffer,
                    uint32_t stream) const;
  // What is wrong with a buffer can be told before the members are there.
  Fault CheckBuffer(const void* address, uint64_t bytes, const char* parameter) const;
  // All of `buffer`, whose address and size are there, but its place in the windows.
  Fault FindPlace(const MemoryInfo& memory, const char* parameter, Buffer* buffer) const;
  // Under issuing_.
  Fault Locate(const void* address, uint64_t bytes, const char* parameter, Buffer* buffer);
  bool IsKnown(const void* address, uint64_t bytes, Buffer* buffer);
  Fault LocateAnew(const void* address, uint64_t bytes, const char* parameter, Buffer* buffer);
  // Buffers that overlap in a way that has no meaning: a warning, or with HCCLRUN_STRICT a fault.
  Fault CheckOverlap(const OpRequest& request, const Buffer& in, const Buffer& out);
  Fault CheckOverlap(CallId call, absl::Span<const TransferRequest> requests);
  Fault OverlapFault(CallId call, const char* in, uint64_t in_bytes, const char* out,
                     uint64_t out_bytes);
  void WarnOfUnfinished() const;
  struct KnownExchange;
  void CountCall(const Descriptor& d);
  // Null: it is none, or something is wrong, or not known.
  const KnownExchange* FindExchange(const OpRequest& request);
  Fault Queue(const Descriptor& descriptor, const Buffer& in, const Buffer& out,
              const OpRequest& request, Stream& stream, OperationNote note);
  // A pointer that keeps nothing alive, for a task that ends before the call does.
  std::shared_ptr<Communicator> Borrowed() { return {std::shared_ptr<void>(), this}; }
  // There is no memory to keep an operation or transfer that is posted or counted, and that its own end
  // has taken back where it could. A task that fails, in its place; the communicator is out of use.
  std::unique_ptr<Task> InsteadOfKeeping();
  // As AsyncFault(), where that is mostly nothing.
  bool GoesOn() const {
    return connected() && view().header->abort_word.load(std::memory_order_seq_cst) == 0;
  }

  Device* device_;
  uint32_t size_, rank_;
  CommConfig config_;
  std::string key_, shown_name_;
  uint32_t speaker_ = 0;
  const char* no_window_path_ = nullptr;
  std::shared_ptr<HcclBuffers> buffers_;  // the own ones
  std::shared_ptr<const Membership> membership_;
  std::vector<Stages> stages_;
  uint64_t chunk_bytes_ = 0;
  bool exchanges_ = false;  // operations of a few bytes may be exchanges without a task
  std::unique_ptr<SymmetricHeap> windows_;
  std::unique_ptr<Liveness> liveness_;

  // An allocation or mapping of this device that operations used lately, as a buffer; holds as long
  // as the two generations are what they were before it was looked up.
  struct KnownMemory {
    uint64_t map_generation = 0, window_generation = 0;
    Buffer whole;
  };
  static constexpr size_t kKnown = 4;
  // An exchange that was called lately, with what its checks found, which holds as long as the
  // generations do and no memory is active for zero copy.
  struct KnownExchange {
    OpRequest request = {};  // .v stays null
    uint64_t map_generation = UINT64_MAX, window_generation = 0;
    Buffer in, out;
    Descriptor descriptor = {};
    uint64_t largest_input = 0;
    uint8_t reason = 0;  // Recorder::Reason()
    bool IsAbout(const OpRequest& r) const {
      return request.op == r.op && request.dtype == r.dtype && request.reduce_op == r.reduce_op &&
             request.root == r.root && request.count == r.count && request.in == r.in &&
             request.out == r.out && request.call == r.call;
    }
  };
  static constexpr size_t kKnownExchanges = 32;  // a power of two

  IssueLock& issuing_;                              // numbering and queueing are one step
  KnownMemory known_[kKnown];                       // guarded by issuing_
  size_t next_known_ = 0;                           // guarded by issuing_
  KnownExchange known_exchanges_[kKnownExchanges];  // guarded by issuing_
  uint64_t next_sequence_ = 0;                      // guarded by issuing_
  OutputCount outputs_;                             // guarded by issuing_
  // Sends and receives called so far by peer, by TransferEnd; empty before the first.
  // Guarded by issuing_.
  std::vector<uint64_t> next_transfer_[2];
  // Peers whose channel has pages, by TransferEnd; likewise.
  std::vector<bool> has_channel_[2];
  // Operations that are done while one before them is not: see DoneWith().
  std::mutex ahead_mutex_;
  std::set<uint64_t> done_ahead_;  // guarded by ahead_mutex_
  std::atomic<bool> any_ahead_{false};
  // Below, places are known to be free (release, acquire).
  std::atomic<uint64_t> free_places_{0};
  std::mutex stage_mutex_;
  // Stored under stage_mutex_ when the pages are there (release), read without (acquire).
  std::atomic<bool> stages_committed_{false};
  std::unique_ptr<ArgumentRing> arguments_;  // made under stage_mutex_, before the first V task
  StallWatch stall_;
  WaitPolicy wait_policy_;
  uint32_t record_ = 0;
  std::vector<int> job_ranks_;  // written before connected_
  std::mutex derived_mutex_;
  std::map<std::string, uint64_t> derived_;  // guarded by derived_mutex_
  std::unique_ptr<Task> last_resort_;        // guarded by issuing_; for InsteadOfKeeping(), once
  std::atomic<uint32_t> last_path_{uint32_t(Path::kBuffered)};
  std::atomic<bool> overlap_told_{false};
  std::atomic<bool> connected_{false};  // stored by Attach() when all it made is in place (release)
  std::unique_ptr<Meeting> meeting_;    // last: its thread uses the rest
};

}  // namespace hcclrun
