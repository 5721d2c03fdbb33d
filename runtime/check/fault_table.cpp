#include "check/fault_table.h"

#include <iterator>

namespace hcclrun {
namespace {

using K = FaultKind;

// Codes: semantics B.1, C.1, D.2-D.6, F.1, G.1-G.4. Codes for conditions that hardware does
// not diagnose (mismatch on every call, dead ranks, window offsets) are ours;
// docs/behaviour.md lists them.
constexpr FaultRow kRows[] = {
    {K::kNone, 0, 0, nullptr, false},
    {K::kNullArgument, 100000, 2, "EI0003", true},
    {K::kBadValue, 107000, 1, "EI0003", true},
    {K::kBadEnum, 107000, 5, "EI0003", true},
    {K::kNotSupported, 207000, 5, nullptr, true},
    {K::kUnknownHandle, 107017, 1, "EI0003", true},
    {K::kNoContext, 107002, 15, nullptr, true},
    {K::kBadDevice, 107001, 1, nullptr, true},
    {K::kNotInitialised, 100001, 15, nullptr, true},
    {K::kRepeatedInit, 100002, 4, nullptr, false},
    {K::kRepeatedFinalize, 100037, 4, nullptr, false},
    {K::kEnvironment, 100000, 1, "EI0001", true},

    {K::kSystem, 507899, 8, nullptr, true},
    {K::kMemoryExhausted, 207001, 3, "EI0011", true},
    {K::kAddressSpace, 207001, 3, "EI0011", true},
    {K::kHostMemory, 207001, 3, nullptr, true},

    {K::kNotDeviceMemory, 107000, 1, "EI0003", true},
    {K::kOutsideAllocation, 107000, 1, "EI0003", true},
    {K::kOtherDevice, 107000, 1, "EI0003", true},
    {K::kUnaligned, 107000, 1, nullptr, true},
    {K::kRangeMapped, 107000, 15, nullptr, true},
    {K::kNotMapped, 107000, 15, nullptr, true},
    {K::kNotReserved, 107000, 15, nullptr, true},
    {K::kReservationBusy, 107000, 15, nullptr, true},
    {K::kForeignHandle, 107000, 15, nullptr, true},
    {K::kCopyTooLong, 107000, 1, nullptr, true},
    {K::kCopyKind, 107000, 1, nullptr, true},
    {K::kBuffersOverlap, 107000, 1, "EI0003", true},
    {K::kFreedInUse, 507053, 15, "EI0012", true},

    {K::kStreamTimeout, 507046, 9, nullptr, false},
    {K::kEventTimeout, 507047, 9, nullptr, false},
    {K::kEventWaitTimeout, 107020, 9, nullptr, false},
    {K::kRecorderEnded, 507057, 15, nullptr, true},
    {K::kEventNotRecorded, 507000, 15, nullptr, true},
    {K::kEventNotFinished, 107006, 15, nullptr, true},
    {K::kEventNoTimeline, 107006, 15, nullptr, true},
    {K::kStreamOfOtherContext, 107003, 1, "EI0003", true},
    {K::kStreamAborted, 107023, 15, nullptr, true},
    {K::kNotifyTimeout, 107020, 9, nullptr, false},
    {K::kNotSubscribed, 107015, 15, nullptr, true},
    {K::kReportTimeout, 507012, 9, nullptr, false},

    {K::kRootInfoInvalid, 107000, 1, "EI0015", true},
    {K::kRootUnreachable, 507899, 9, "EI0015", true, Cause::kAnotherRank},
    {K::kRanksMissing, 507899, 4, "EI0015", true, Cause::kAnotherRank},
    {K::kRankTaken, 107000, 4, "EI0015", true},
    {K::kSizeMismatch, 107000, 4, "EI0015", true},
    {K::kDuplicateDevice, 107000, 1, "EI0015", true},
    {K::kBuildMismatch, 507899, 4, "EI0008", true},
    {K::kRendezvousRefused, 507899, 4, "EI0015", true, Cause::kAnotherRank},
    {K::kNameTaken, 107000, 1, "EI0003", true},
    {K::kConfigInvalid, 107000, 1, "EI0003", true},
    {K::kRankTable, 107000, 1, "EI0014", true},

    {K::kMismatch, 507018, 1, "EI0005", true, Cause::kSomeRank},
    {K::kRankDied, 507057, 21, "EI0013", true, Cause::kAnotherRank},
    {K::kRankExited, 507057, 21, "EI0013", true, Cause::kAnotherRank},
    {K::kExecTimeout, 507017, 9, "EI0002", true, Cause::kAnotherRank},
    {K::kCommBroken, 507018, 7, nullptr, true, Cause::kAnotherRank},
    {K::kBusy, 507899, 20, nullptr, true},
    {K::kSuspended, 507899, 22, nullptr, true},
    {K::kTransferMismatch, 507018, 1, "EI0005", true, Cause::kSomeRank},
    {K::kTransferTimeout, 507017, 9, "EI0002", true, Cause::kAnotherRank},
    {K::kTransferGone, 507057, 21, "EI0013", true, Cause::kAnotherRank},

    {K::kWindowSlotsFull, 207001, 3, nullptr, true},
    {K::kWindowMismatch, 107000, 4, nullptr, true, Cause::kSomeRank},
    {K::kWindowMissingRank, 507899, 13, nullptr, true, Cause::kAnotherRank},
    {K::kWindowNotVmm, 107000, 1, nullptr, true},
    {K::kWindowNotFound, 107000, 6, nullptr, false},
    {K::kStrideInvalid, 107000, 1, nullptr, true},
    {K::kZeroCopy, 107000, 1, nullptr, true},
    {K::kWindowOffsets, 507018, 1, "EI0005", true, Cause::kSomeRank},

    {K::kRuntimeCall, 500000, 15, nullptr, true},
    {K::kKernelFailed, 507015, 15, nullptr, true},
    {K::kInternal, 500000, 4, nullptr, true},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kRows); i++) {
    if (static_cast<size_t>(kRows[i].kind) != i) return false;
  }
  return true;
}
static_assert(std::size(kRows) == static_cast<size_t>(K::kInternal) + 1, "a kind has no row");
static_assert(InOrder(), "the rows are in the order of FaultKind");

}  // namespace

const FaultRow& RowOf(FaultKind kind) { return kRows[static_cast<size_t>(kind)]; }

}  // namespace hcclrun
