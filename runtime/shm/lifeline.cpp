#include "shm/lifeline.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/job.h"
#include "base/log.h"
#include "shm/futex.h"
#include "shm/memory_object.h"
#include "shm/private_copy.h"
#include "shm/process_watch.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

constexpr int64_t kPatienceMs = 10'000;

constexpr int64_t kReportPatienceMs = 1'000;

struct Attached {
  boost::interprocess::mapped_region region;
  UniqueFd socket;
  JobPage* page = nullptr;
};

Attached Attach() {
  Attached result;
  const Job& job = Job::Get();
  if (!job.launched()) return result;
  auto refuse = [&](absl::string_view why) {
    Tell(LogLevel::kWarning,
         absl::StrCat("cannot reach the launcher of this job (", why,
                      "); the job's memory account and its report of this rank are off"));
    return Attached();
  };
  if (job.rank() < 0 || job.rank() >= static_cast<int>(kMaxJobRanks))
    return refuse("rank out of range");
  Deadline deadline = Deadline::After(kPatienceMs);
  // The launcher listened before it started us: nobody there means that it is dead.
  Result<UniqueFd> socket =
      ConnectAbstract(job.lifeline(), deadline, [] { return getppid() == 1; });
  if (!socket.ok()) return refuse("nobody listens");
  LifelineHello hello = {};
  hello.magic = kJobPageMagic;
  hello.version = kLifelineVersion;
  hello.rank = job.rank();
  hello.pid = getpid();
  memcpy(hello.secret, job.secret().c_str(), std::min(job.secret().size(), sizeof hello.secret));
  if (SendPacket(socket->get(), &hello, sizeof hello, {}, deadline))
    return refuse("it does not listen");
  LifelineWelcome welcome = {};
  std::vector<UniqueFd> fds;
  Result<size_t> got = ReceivePacket(socket->get(), &welcome, sizeof welcome, &fds, deadline);
  if (!got.ok() || *got != sizeof welcome || welcome.magic != kJobPageMagic)
    return refuse("no answer");
  if (welcome.version != kLifelineVersion) return refuse("it is of another version of hcclrun");
  if (welcome.status != 0 || fds.size() != 1) return refuse("it refused the rank");
  Result<MemoryObject> object = MemoryObject::Adopt(fds[0].Release(), sizeof(JobPage));
  if (!object.ok()) return refuse("its job page is too small");
  Result<boost::interprocess::mapped_region> region = object->Map();
  if (!region.ok()) return refuse("its job page cannot be mapped");
  JobPage* page = static_cast<JobPage*>(region->get_address());
  if (page->magic != kJobPageMagic || page->version != kJobPageVersion ||
      page->ranks > kMaxJobRanks || uint32_t(job.rank()) >= page->ranks) {
    return refuse("its job page is of another version of hcclrun");
  }
  // Open for the life of the process. Its end means that the launcher was killed: nobody is left to
  // end this rank.
  Result<ProcessWatch::Id> watch = ProcessWatch::Get().WatchSocket(socket->get(), [] {
    if (!InForkedChild()) _exit(128 + 9);
  });
  if (!watch.ok()) return refuse("no thread or descriptor to watch it");
  page->activity[job.rank()].pid.store(getpid(), std::memory_order_relaxed);
  const RecorderLayout recorder = PrivateCopy(page->recorder);
  if (welcome.records && recorder.Fits(static_cast<uint32_t>(job.size()), object->size())) {
    Recorder::Attach(RecorderView::At(static_cast<char*>(region->get_address()), recorder,
                                      static_cast<uint32_t>(job.rank())));
  }
  std::atexit([] {
    if (RankActivity* a = Lifeline::Activity()) a->finished.store(1, std::memory_order_release);
  });
  result.socket = std::move(*socket);
  result.region = std::move(*region);
  result.page = page;
  return result;
}

const Attached& Get() {
  // Never unmapped: late threads still write notes.
  static const Attached* attached = new Attached(Attach());
  return *attached;
}

}  // namespace

JobPage* Lifeline::Page() { return Get().page; }
int Lifeline::Rank() { return Job::Get().rank(); }

void Lifeline::NoteWaiting(uint32_t missing, int32_t first) {
  RankActivity* activity = Activity();
  if (!activity) return;
  activity->waiting_for.store(first, std::memory_order_relaxed);
  activity->waiting.store(missing, std::memory_order_relaxed);
}

void Lifeline::AskForReport(ReportCause cause) {
  JobPage* page = Page();
  if (!page || InForkedChild()) return;
  const Deadline deadline = Deadline::After(kReportPatienceMs);
  const uint32_t number = page->reports_asked.fetch_add(1, std::memory_order_relaxed) + 1;
  const LifelineAsk ask = {kJobPageMagic, static_cast<uint32_t>(cause), number};
  if (SendPacket(Get().socket.get(), &ask, sizeof ask, {}, deadline)) return;
  for (;;) {
    const uint32_t taken = page->reports_taken.load(std::memory_order_acquire);
    if (static_cast<int32_t>(taken - number) >= 0 || deadline.passed()) return;
    FutexWait(&page->reports_taken, taken, deadline.Remaining(kReportPatienceMs * 1'000'000));
  }
}

void Lifeline::TellStall() {
  if (!Page() || InForkedChild()) return;
  const LifelineAsk ask = {kJobPageMagic, static_cast<uint32_t>(ReportCause::kStall), 0};
  // Without an answer there is only no such line.
  (void)SendPacket(Get().socket.get(), &ask, sizeof ask, {}, Deadline::After(0));
}

RankActivity* Lifeline::Activity() {
  static RankActivity* const own = Page() ? &Page()->activity[Rank()] : nullptr;
  return InForkedChild() ? nullptr : own;
}

}  // namespace hcclrun
