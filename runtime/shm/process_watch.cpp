#include "shm/process_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fork_guard.h"
#include "base/quiet_thread.h"

namespace hcclrun {

namespace {
// The letter of /proc/<pid>/stat; 'X' when there is no such process, 0 when that cannot be told.
char StateOf(int32_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* f = fopen(path, "re");
  if (!f) return errno == ENOENT ? 'X' : 0;
  char letter = 0;
  if (fgets(line, sizeof line, f)) {
    // The name may hold anything; the state follows its last parenthesis.
    const char* state = strrchr(line, ')');
    if (state && state[1]) letter = state[2];
  }
  fclose(f);
  return letter;
}
}  // namespace

bool ProcessEnded(int32_t pid) {
  const char state = StateOf(pid);
  return state == 'Z' || state == 'X';
}

bool ProcessStopped(int32_t pid) { return StateOf(pid) == 'T'; }

namespace {
constexpr int kLookMs = 200;
}  // namespace

struct ProcessWatch::Impl {
  struct Entry {
    UniqueFd fd;      // pidfd or socket; invalid = look at /proc
    int32_t pid = 0;  // 0 = a socket
    std::function<void()> callback;
  };
  std::mutex mutex;  // not absl::Mutex, whose shared library ThreadSanitizer does not see into
  std::condition_variable fired;
  std::map<Id, Entry> entries;  // this and the next three: guarded by mutex
  Id next = 1;
  Id running = 0;  // whose callback runs now
  bool started = false;
  UniqueFd wake;

  Result<Id> Add(Entry entry) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!started) {
      if (Fault f = Start()) return f;
      started = true;
    }
    Id id = next++;
    entries.emplace(id, std::move(entry));
    Wake();
    return id;
  }

  Fault Start() {
    if (!wake.valid()) wake = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.valid()) return Fault(FaultKind::kSystem, {uint64_t(errno)}, "create an eventfd");
    std::thread thread;
    if (Fault f = StartQuietThread([this] { Loop(); }, &thread)) return f;
    thread.detach();
    return Fault::None();
  }

  void Wake() {
    uint64_t one = 1;
    (void)!write(wake.get(), &one, sizeof one);
  }

  void Loop() {
    pthread_setname_np(pthread_self(), "hcclrun-watch");
    std::vector<pollfd> polled;
    std::vector<Id> ids;
    for (;;) {
      polled.assign(1, {wake.get(), POLLIN, 0});
      ids.assign(1, 0);
      std::vector<Id> by_pid;
      {
        std::lock_guard<std::mutex> lock(mutex);
        for (auto& [id, entry] : entries) {
          if (entry.fd.valid()) {
            polled.push_back({entry.fd.get(), POLLIN, 0});
            ids.push_back(id);
          } else {
            by_pid.push_back(id);
          }
        }
      }
      if (poll(polled.data(), polled.size(), by_pid.empty() ? -1 : kLookMs) < 0) {
        // No memory just now, or a limit on descriptors that fell: nothing is known, go on soon.
        for (pollfd& p : polled) p.revents = 0;
        const timespec nap = {0, kLookMs * 1'000'000};
        nanosleep(&nap, nullptr);
      }
      uint64_t drained;
      if (polled[0].revents) (void)!read(wake.get(), &drained, sizeof drained);
      for (size_t i = 1; i < polled.size(); i++) {
        if (polled[i].revents) Fire(ids[i]);
      }
      for (Id id : by_pid) {
        int32_t pid = 0;
        {
          std::lock_guard<std::mutex> lock(mutex);
          auto it = entries.find(id);
          if (it != entries.end()) pid = it->second.pid;
        }
        if (pid && ProcessEnded(pid)) Fire(id);
      }
    }
  }

  void Fire(Id id) {
    std::function<void()> callback;
    {
      std::lock_guard<std::mutex> lock(mutex);
      auto it = entries.find(id);
      if (it == entries.end()) return;
      callback = std::move(it->second.callback);
      entries.erase(it);
      running = id;
    }
    callback();
    std::lock_guard<std::mutex> lock(mutex);
    running = 0;
    fired.notify_all();
  }
};

ProcessWatch::ProcessWatch() : impl_(new Impl()) {}

ProcessWatch& ProcessWatch::Get() {
  static ProcessWatch* watch = new ProcessWatch();  // its thread outlives static destruction
  return *watch;
}

Result<ProcessWatch::Id> ProcessWatch::WatchProcess(int32_t pid, std::function<void()> ended) {
  Impl::Entry entry;
  entry.fd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (entry.fd.valid()) fcntl(entry.fd.get(), F_SETFD, FD_CLOEXEC);
  entry.pid = pid;
  entry.callback = std::move(ended);
  return impl_->Add(std::move(entry));
}

Result<ProcessWatch::Id> ProcessWatch::WatchSocket(int socket, std::function<void()> closed) {
  Impl::Entry entry;
  entry.fd = UniqueFd(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!entry.fd.valid())
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "duplicate a descriptor");
  entry.callback = std::move(closed);
  return impl_->Add(std::move(entry));
}

void ProcessWatch::Cancel(Id id) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->entries.erase(id);
  impl_->fired.wait(lock, [&] { return impl_->running != id; });
  impl_->Wake();
}

}  // namespace hcclrun
