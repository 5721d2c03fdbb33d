#pragma once
// What went wrong, as a typed fact. Lower layers return facts; check/ turns a fact into the
// sentence a user reads (sentences) and into the result codes of the C API (fault_table). Sentences
// about faults are written nowhere else; warnings and notes that are no faults go through base/log.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace hcclrun {

// The operands of each kind, in the order of Fault::n, stand behind it; `text` holds a name where
// one belongs to it.
enum class FaultKind : uint16_t {
  kNone = 0,

  // arguments and handles
  kNullArgument,    // text: parameter
  kBadValue,        // n: given, lowest legal, highest legal; text: parameter. An empty range: the
                    // text is the whole reason (base/not_allowed.h)
  kBadEnum,         // n: given, and where known lowest and highest legal; text: parameter
  kNotSupported,    // text: what
  kUnknownHandle,   // n: handle; text: what kind of handle
  kNoContext,       // the calling thread has set no device
  kBadDevice,       // n: given, device count
  kNotInitialised,  // aclInit is missing
  kRepeatedInit,
  kRepeatedFinalize,
  kEnvironment,  // text: "NAME=value; legal: ..."

  // system
  kSystem,           // n: errno; text: what was attempted
  kMemoryExhausted,  // n: requested, free in budget, largest block, in use, budget, peak or 0; text:
                     // setting to raise
  kAddressSpace,     // n: requested bytes, errno
  kHostMemory,       // n: requested

  // device memory
  kNotDeviceMemory,    // n: address; text: parameter; detail: MemoryDetail or none
  kOutsideAllocation,  // n: address, bytes wanted, allocation base, allocation bytes; text:
                       // parameter; detail: MemoryDetail or none
  kOtherDevice,        // n: address, its device, expected device; text: parameter
  kUnaligned,          // n: value, alignment; text: parameter
  kRangeMapped,        // n: address, bytes (already mapped)
  kNotMapped,          // n: address
  kNotReserved,        // n: address, bytes (outside every reservation)
  kReservationBusy,    // n: address, mappings still inside
  kForeignHandle,      // text: why a shareable handle cannot be imported
  kCopyTooLong,        // n: count, destination maximum
  kCopyKind,           // n: kind, source, destination; text: which side is of the other kind
  kBuffersOverlap,     // n: input, its bytes, output, its bytes
  kFreedInUse,         // text: the memory, and which call gave it back

  // streams and events
  kStreamTimeout,         // n: waited milliseconds, tasks left
  kEventTimeout,          // n: waited milliseconds
  kEventWaitTimeout,      // n: waited milliseconds: a wait in a stream
  kRecorderEnded,         // n: pid of the process whose record of an event will not complete
  kEventNotRecorded,      // n: event
  kEventNotFinished,      // n: event
  kEventNoTimeline,       // n: event
  kStreamOfOtherContext,  // n: stream
  kStreamAborted,         // n: stream
  kNotifyTimeout,         // n: notify, waited milliseconds
  kNotSubscribed,         // n: thread; text: what it is not subscribed to
  kReportTimeout,         // n: waited milliseconds

  // rendezvous
  kRootInfoInvalid,  // text: what is wrong with the blob
  kRootUnreachable,  // n: waited milliseconds, 1 if the process that made the root info lives, 2 if
                     // it has ended, 0 unknown; text: that process
  kRanksMissing,     // n: waited milliseconds, arrived, expected; text: lists of ranks
  kRankTaken,        // n: rank, pid that holds it, own pid
  kSizeMismatch,     // n: nRanks of the rank that contradicted, of the first, their ranks
  kDuplicateDevice,  // n: rank a, rank b, device, device count
  kBuildMismatch,    // n: own layout version, peer's
  kRendezvousRefused,  // text: the server's reason
  kNameTaken,          // text: communicator name
  kConfigInvalid,      // n: given; text: field
  kRankTable,          // text: "file: field: what is wrong and what is expected"

  // collectives
  kMismatch,  // n: op number; detail: OpDetail
  kRankDied,  // n: rank, pid, op number the survivor was in, exit status or 0; detail: OpDetail of
              // that rank
  kRankExited,   // n: rank, pid, op number; detail: OpDetail of that rank
  kExecTimeout,  // n: op number, waited milliseconds, and where that put the communicator out of
                 // use before: rank that gave up + 1; detail: OpDetail of all ranks
  kCommBroken,   // text: first fault of the communicator
  kBusy,         // an operation is in progress
  kSuspended,    // the communicator is suspended
  kTransferMismatch,  // n: transfer number on the pair; detail: TransferDetail
  kTransferTimeout,   // n: transfer number, waited milliseconds; detail: TransferDetail
  kTransferGone,      // n: rank, pid, transfer number, exit status or 0; detail: TransferDetail

  // symmetric windows
  kWindowSlotsFull,    // n: mapped size, largest free range, stride
  kWindowMismatch,     // n: round; detail: WindowDetail
  kWindowMissingRank,  // n: round, waited milliseconds, 1 if this rank is the late one; detail:
                       // WindowDetail
  kWindowNotVmm,       // n: address
  kWindowNotFound,     // n: address, bytes
  kStrideInvalid,      // n: stride bytes, HBM bytes
  kZeroCopy,           // n: address; text: what is wrong with it
  kWindowOffsets,      // n: op number; detail: OpDetail

  kRuntimeCall,   // n: its result; text: the acl call that failed underneath
  kKernelFailed,  // n: what the kernel returned
  kInternal,      // text: what invariant failed
};

// Operands that do not fit into numbers; a layer derives its own, check/ knows them all.
struct FaultDetail {
  virtual ~FaultDetail() = default;
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  std::array<uint64_t, 6> n{};
  std::string text;
  std::shared_ptr<const FaultDetail> detail;
  // A code that the specification fixes for this very occasion and that differs from the kind's
  // usual one (check/fault_table); 0 = the usual code.
  int32_t code_override = 0;
  // Whose call or operation it is about (base/speaker.h); 0: of no communicator, or not known yet.
  uint32_t speaker = 0;

  Fault() = default;
  explicit Fault(FaultKind k, std::string t = {}) : kind(k), text(std::move(t)) {}
  Fault(FaultKind k, std::initializer_list<uint64_t> operands, std::string t = {})
      : kind(k), text(std::move(t)) {
    size_t i = 0;
    for (uint64_t v : operands) n[i++] = v;
  }
  static Fault None() { return {}; }
  Fault&& WithCode(int32_t code) && {
    code_override = code;
    return std::move(*this);
  }
  // Said by whoever it is first said to be of.
  Fault& SaidBy(uint32_t who) & {
    if (speaker == 0) speaker = who;
    return *this;
  }
  Fault&& SaidBy(uint32_t who) && { return std::move(SaidBy(who)); }
  // True when something went wrong.
  explicit operator bool() const { return kind != FaultKind::kNone; }
};

// Either a value or the fault that prevented it.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: conversion is the point
  Result(Fault fault) : state_(std::in_place_index<1>, std::move(fault)) {}  // NOLINT
  bool ok() const { return state_.index() == 0; }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  T* operator->() { return &value(); }
  Fault& fault() { return std::get<1>(state_); }

 private:
  std::variant<T, Fault> state_;
};

}  // namespace hcclrun
