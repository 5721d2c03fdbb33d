// The sentences of all faults. Each says what was given, what was expected and what to do; tests
// pin them. Operations and rounds are counted from 0 in the code and from 1 in sentences.

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/job.h"
#include "check/details.h"
#include "check/memory_sentences.h"
#include "check/report.h"
#include "check/transfer_sentences.h"

namespace hcclrun {
namespace {

using K = FaultKind;

std::string Bytes(uint64_t n) {
  if (n >= (uint64_t{1} << 30) && n % (uint64_t{1} << 20) == 0)
    return absl::StrFormat("%.4g GiB", n / 1073741824.0);
  if (n >= (uint64_t{1} << 20)) return absl::StrFormat("%.4g MiB", n / 1048576.0);
  if (n >= 1024 * 10) return absl::StrFormat("%.4g KiB", n / 1024.0);
  return absl::StrCat(n, " bytes");
}

std::string Address(uint64_t a) { return absl::StrFormat("0x%x", a); }

// Arguments of signed types come widened: whatever is this large was negative.
std::string Signed(uint64_t n) { return absl::StrCat(static_cast<int64_t>(n)); }

std::string Seconds(uint64_t ms) { return absl::StrFormat("%.3g s", ms / 1000.0); }

std::string System(uint64_t error) { return strerror(static_cast<int>(error)); }

const char* Remedy(uint64_t error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    case ENOENT:
    case EACCES:
    case EISDIR:
      return "; check the path and its permissions";
    case EAGAIN:
      return "; raise the limit of threads and processes (ulimit -u)";
    default:
      return "; hcclrun doctor says what this machine allows";
  }
}

}  // namespace

std::string SentenceOf(const Fault& f) {
  const auto& n = f.n;
  const std::string& t = f.text;
  switch (f.kind) {
    case K::kNone:
      return "no fault";
    case K::kNullArgument:
      return absl::StrCat(t, " is null; pass a valid pointer or handle");
    case K::kBadValue:
      if (n[1] > n[2]) return t;
      if (n[1] == n[2]) return absl::StrCat(t, " is ", Signed(n[0]), "; it must be ", n[1]);
      if (n[2] == UINT64_MAX)
        return absl::StrCat(t, " is ", Signed(n[0]), "; it must be at least ", n[1]);
      return absl::StrCat(t, " is ", Signed(n[0]), "; it must lie between ", n[1], " and ", n[2]);
    case K::kBadEnum:
      return absl::StrCat(t, " is ", Signed(n[0]), ", which its enumeration does not have; ",
                          n[2] ? absl::StrCat("it must lie between ", n[1], " and ", n[2])
                               : "pass one of its names");
    case K::kNotSupported:
      return absl::StrCat(t, " is not supported on this device");
    case K::kUnknownHandle:
      return absl::StrCat("the ", t, " handle ", Address(n[0]),
                          " is not known: it was never created here, or it has been destroyed");
    case K::kNoContext:
      return "this thread has no current device; call aclrtSetDevice in it first";
    case K::kBadDevice:
      return absl::StrCat(
          "device ", static_cast<int64_t>(n[0]), " does not exist; there are ", n[1], " devices (",
          n[1] ? absl::StrCat("0 to ", n[1] - 1) : "ASCEND_RT_VISIBLE_DEVICES names none of them",
          "), HCCLRUN_DEVICE_COUNT sets their number",
          Job::Get().topology().given()
              ? absl::StrCat("; each server of this job (--servers) has devices of "
                             "its own, LOCAL_RANK numbers the ranks of a server: "
                             "this one's is ",
                             Job::Get().place().local_rank)
              : "");
    case K::kNotInitialised:
      return "aclInit has not been called";
    case K::kRepeatedInit:
      return "aclInit has been called before; the repetition has no effect";
    case K::kRepeatedFinalize:
      return "aclFinalize has been called before; the repetition has no effect";
    case K::kEnvironment:
      return absl::StrCat("the environment variable ", t);

    case K::kSystem:
      return absl::StrCat("could not ", t, ": ", System(n[0]), Remedy(n[0]));
    case K::kMemoryExhausted: {
      std::string s = absl::StrCat("no memory for ", Bytes(n[0]), ": ", Bytes(n[1]), " are free");
      if (n[2]) absl::StrAppend(&s, ", the largest free block is ", Bytes(n[2]));
      absl::StrAppend(&s, ", ", Bytes(n[3]), " of ", Bytes(n[4]), " are in use");
      if (n[5]) absl::StrAppend(&s, " (at most ", Bytes(n[5]), " were)");
      absl::StrAppend(&s, "; free device memory or raise ", t);
      return s;
    }
    case K::kAddressSpace:
      return absl::StrCat("no address space for ", Bytes(n[0]), " (", System(n[1]),
                          "); raise the address-space limit (ulimit -v) or lower HCCLRUN_HBM_SIZE");
    case K::kHostMemory:
      return absl::StrCat("the host has no memory", n[0] ? absl::StrCat(" for ", Bytes(n[0])) : "",
                          "; free some, or start fewer ranks");

    case K::kNotDeviceMemory:
    case K::kOutsideAllocation:
    case K::kBuffersOverlap:
    case K::kFreedInUse:
      return MemorySentence(f);
    case K::kOtherDevice:
      return absl::StrCat(t, " (", Address(n[0]), ") is memory of device ", n[1],
                          ", but the communicator's device is ", n[2]);
    case K::kUnaligned:
      return absl::StrCat(t, " is ", n[0], "; it must be a multiple of ", n[1]);
    case K::kRangeMapped:
      return absl::StrCat("the range of ", Bytes(n[1]), " at ", Address(n[0]),
                          " already holds a mapping; unmap it first");
    case K::kNotMapped:
      if (f.detail) return MemorySentence(f);
      return absl::StrCat(
          "nothing is mapped at ", Address(n[0]),
          "; pass an address that aclrtMapMem has mapped and aclrtUnmapMem not unmapped");
    case K::kNotReserved:
      return absl::StrCat("the range of ", Bytes(n[1]), " at ", Address(n[0]),
                          " does not lie in one reservation of aclrtReserveMemAddress");
    case K::kReservationBusy:
      return absl::StrCat("the reservation at ", Address(n[0]), " still holds ", n[1],
                          " mappings; call aclrtUnmapMem on each first");
    case K::kForeignHandle:
      return absl::StrCat("the shareable handle cannot be used: ", t);
    case K::kCopyTooLong:
      return absl::StrCat("count is ", n[0], " bytes, but the destination takes at most ", n[1],
                          " (destMax)");
    case K::kCopyKind:
      return absl::StrCat("the copy kind ", n[0], " does not fit the addresses: ", t);

    case K::kStreamTimeout:
      return absl::StrCat("the stream was not done after ", Seconds(n[0]), "; ", n[1],
                          " tasks are left and go on; synchronise again, or allow more time");
    case K::kEventTimeout:
    case K::kEventWaitTimeout:
      return absl::StrCat("the event had not happened after ", Seconds(n[0]),
                          "; look at what its stream waits for, or allow more time");
    case K::kRecorderEnded:
      return absl::StrCat("process ", n[0],
                          ", which recorded the event, ended before its stream "
                          "came to the record; record the event again");
    case K::kEventNotRecorded:
      return "the event has never been recorded; call aclrtRecordEvent first";
    case K::kEventNotFinished:
      return "the event has not happened yet; synchronise with it first";
    case K::kEventNoTimeline:
      return "the event was created without ACL_EVENT_TIME_LINE and has no time";
    case K::kStreamOfOtherContext:
      return "the stream belongs to another device or context; make that one current first "
             "(aclrtSetDevice, aclrtSetCurrentContext)";
    case K::kStreamAborted:
      return "the stream was aborted or destroyed before this was done; use another stream, or "
             "queue "
             "the work again after the abort";
    case K::kNotifyTimeout:
      return absl::StrCat("nobody recorded the notify ", Address(n[0]), " within ", Seconds(n[1]),
                          "; record it on a stream of either process, or raise the timeout");
    case K::kNotSubscribed:
      return absl::StrCat(n[0] ? absl::StrCat("thread ", n[0], " is not") : "no thread is",
                          " subscribed to ", t,
                          "; subscribe it before it processes or unsubscribes");
    case K::kReportTimeout:
      return absl::StrCat("no callback arrived for this thread within ", Seconds(n[0]),
                          "; queue one with aclrtLaunchCallback, or raise the timeout");

    case K::kRootInfoInvalid:
      return absl::StrCat("the root info is not usable: ", t,
                          "; every rank must get the bytes of rank 0's HcclGetRootInfo");
    case K::kRootUnreachable: {
      std::string who = absl::StrCat("nobody serves this root info (waited ", Seconds(n[0]), "): ");
      if (n[1] == 2) return absl::StrCat(who, t, ", which called HcclGetRootInfo, has ended");
      if (n[1] == 1) {
        return absl::StrCat(
            who, t,
            " called HcclGetRootInfo, and this root info has already made its communicator or "
            "failed to; call HcclGetRootInfo anew for each communicator");
      }
      return absl::StrCat(
          who,
          "rank 0 did not make it, or it has already made its communicator; call HcclGetRootInfo "
          "anew for each communicator");
    }
    case K::kRanksMissing:
      if (n[1] == n[2]) {
        return absl::StrCat("all ", n[2], " ranks came, but one of them has not gone on for ",
                            Seconds(n[0]), "; ", t, "; see whether a rank is stopped");
      }
      return absl::StrCat("only ", n[1], " of ", n[2], " ranks came within ", Seconds(n[0]), "; ",
                          t, "; start the missing ranks or raise HCCL_CONNECT_TIMEOUT");
    case K::kRankTaken:
      return absl::StrCat("rank ", n[0], " is held by process ", n[1],
                          " and was claimed again by process ", n[2],
                          "; each rank must be used once");
    case K::kSizeMismatch:
      return absl::StrCat("rank ", n[2], " passed nRanks = ", n[0], ", but rank ", n[3], " passed ",
                          n[1], "; all ranks must pass the same number");
    case K::kDuplicateDevice:
      return absl::StrCat(
          "ranks ", n[0], " and ", n[1], " both use device ", n[2], "; there are ", n[3],
          " devices, give each rank one of its own (HCCLRUN_DEVICE_COUNT sets their number)");
    case K::kBuildMismatch:
      return absl::StrCat("this process has layout version ", n[0], " of hcclrun, its peer ", n[1],
                          "; all ranks must load the same installation");
    case K::kRendezvousRefused:
      return absl::StrCat("the communicator was not made: ", t);
    case K::kNameTaken:
      if (n[0] == 1) return absl::StrCat("no communicator of this process is named \"", t, "\"");
      return absl::StrCat("a communicator named \"", t,
                          "\" exists on this device; choose another name or destroy that one");
    case K::kConfigInvalid:
      return absl::StrCat("the communicator configuration has ", t, " = ", n[0],
                          ", which is not allowed");
    case K::kRankTable:
      return absl::StrCat("the rank table is not usable: ", t);

    case K::kMismatch:
      return MismatchSentence(f);
    case K::kRankDied:
      return absl::StrCat(WhoLeft(f), " ", n[3] ? absl::StrCat("exited with code ", n[3]) : "died",
                          DoingWhat(f), "; this rank was at ", OperationIn(f));
    case K::kRankExited:
      return RankExitedSentence(f);
    case K::kExecTimeout:
      return ExecTimeoutSentence(f);
    case K::kCommBroken:
      return absl::StrCat("the communicator is out of use since an earlier fault: ", t);
    case K::kSuspended:
      return "the communicator is suspended; call HcclCommResume first";
    case K::kTransferMismatch:
      return TransferMismatchSentence(f);
    case K::kTransferTimeout:
      return TransferTimeoutSentence(f);
    case K::kTransferGone:
      return TransferGoneSentence(f);
    case K::kBusy:
      return absl::StrCat("another call on this ", t, " is in progress; try again");

    case K::kWindowSlotsFull:
      return absl::StrCat("no room for a mapping of ", Bytes(n[0]),
                          " in the symmetric heap: its largest free range is ", Bytes(n[1]), " of ",
                          Bytes(n[2]), "; raise hcclSymWinMaxMemSizePerRank or deregister windows");
    case K::kWindowMismatch:
      return WindowMismatchSentence(f);
    case K::kWindowMissingRank:
      return WindowMissingSentence(f);
    case K::kWindowNotVmm:
      return absl::StrCat(
          "the address ", Address(n[0]),
          " does not belong to memory of this device made by aclrtMallocPhysical and aclrtMapMem, "
          "which a symmetric window needs (aclrtMalloc memory cannot be registered)");
    case K::kWindowNotFound:
      return absl::StrCat("no window of this communicator holds the ", n[1], " bytes at ",
                          Address(n[0]));
    case K::kStrideInvalid:
      return absl::StrCat("hcclSymWinMaxMemSizePerRank is ", Bytes(n[0]),
                          "; it must be at least 1 GiB and at most the ", Bytes(n[1]),
                          " of a device (HCCLRUN_HBM_SIZE)");
    case K::kZeroCopy:
      return absl::StrCat("the address ", Address(n[0]), " ", t,
                          "; set a range first, then activate memory inside it, and undo both in "
                          "the opposite order");
    case K::kWindowOffsets:
      return WindowOffsetsSentence(f);
    case K::kRuntimeCall:
      return absl::StrCat(t, " failed with ", n[0]);
    case K::kKernelFailed:
      return absl::StrCat("the kernel returned ", Signed(n[0]),
                          "; a kernel returns 0 when it has done its work");
    case K::kInternal:
      return absl::StrCat("internal: ", t, "; this should not happen, please report it");
  }
  return "unknown fault";
}

}  // namespace hcclrun
