#include "check/peer_doing.h"

#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "base/speaker.h"
#include "shm/job_ranks.h"
#include "shm/lifeline.h"
#include "shm/process_watch.h"
#include "shm/recorder.h"

namespace hcclrun {
namespace {

// The last operation that the process recorded: " after HcclAllReduce #41 of communicator world".
// What another rank wrote is copied and not trusted.
std::string LastOperation(JobPage* page, uint32_t rank) {
  if (!Recorder::Mine()) return "";
  const RecorderLayout& layout = Recorder::Mine()->layout;  // checked when it was taken
  const RecorderView view = RecorderView::At(reinterpret_cast<char*>(page), layout, rank);
  const uint64_t number = view.next->load(std::memory_order_acquire);
  const OperationRecord& r = view.operation(number);
  if (number == 0 || r.number.load(std::memory_order_acquire) != number ||
      r.kind.load(std::memory_order_acquire) != OperationRecord::kCollective)
    return "";
  const uint32_t call = r.call.load(std::memory_order_acquire);
  const uint64_t sequence = r.sequence.load(std::memory_order_acquire);
  const uint32_t comm = r.comm.load(std::memory_order_acquire);
  if (r.number.load(std::memory_order_acquire) != number) return "";
  std::string text =
      absl::StrCat(" after ", CallName(static_cast<CallId>(call)), " #", sequence + 1);
  const CommunicatorRecord& c = view.communicators[comm % layout.communicators];
  if (comm != 0 && c.id.load(std::memory_order_acquire) == comm)
    absl::StrAppend(&text, " of communicator ",
                    ShownName(std::string(c.name, strnlen(c.name, sizeof c.name))));
  return text;
}

}  // namespace

std::string PeerDoing(int32_t pid) {
  if (pid <= 0 || pid == getpid()) return "";  // not known, or a rank in a thread of this process
  if (ProcessStopped(pid)) return "stopped by a signal (SIGCONT lets it go on)";
  JobPage* page = Lifeline::Page();
  const int rank = JobRankOf(pid);
  if (!page || rank < 0) return "";
  const RankActivity& activity = page->activity[rank];
  if (activity.inside.load(std::memory_order_relaxed) == 0) return "";
  return absl::StrCat("now in ",
                      CallName(static_cast<CallId>(activity.call.load(std::memory_order_relaxed))),
                      LastOperation(page, static_cast<uint32_t>(rank)));
}

}  // namespace hcclrun
