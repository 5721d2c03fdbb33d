#include "shm/process_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
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
constexpr int kEvents = 64;  // taken at once
}  // namespace

// The watching thread sleeps in epoll_wait; watches are added and removed by whoever wants them,
// without waking it. In a job of hundreds of ranks each watches all others, and rebuilding a list
// for poll() with every watch would take most of the job's start.

struct ProcessWatch::Impl {
  struct Entry {
    UniqueFd fd;      // pidfd or socket, in the epoll set; invalid = look at /proc
    int32_t pid = 0;  // 0 = a socket
    std::function<void()> callback;
  };
  std::mutex mutex;  // not absl::Mutex, whose shared library ThreadSanitizer does not see into
  std::condition_variable fired;
  std::map<Id, Entry> entries;  // this and the next three: guarded by mutex
  Id next = 1;
  Id running = 0;  // whose callback runs now
  bool started = false;
  UniqueFd set, wake;  // epoll, and an eventfd in it: somebody is to be looked at in /proc

  Result<Id> Add(Entry entry) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!started) {
      if (Fault f = Start()) return f;
      started = true;
    }
    Id id = next++;
    if (entry.fd.valid()) {
      if (Fault f = Include(entry.fd.get(), id)) return f;
    } else {
      uint64_t one = 1;
      (void)!write(wake.get(), &one, sizeof one);
    }
    entries.emplace(id, std::move(entry));
    return id;
  }

  Fault Include(int fd, Id id) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = id;
    if (epoll_ctl(set.get(), EPOLL_CTL_ADD, fd, &event) == 0) return Fault::None();
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "watch a process");
  }

  // With the mutex. Closing the descriptor is not enough to take it out of the set: a forked child,
  // or the owner of a socket, may have another one of the same file.
  void Erase(std::map<Id, Entry>::iterator it) {
    if (it->second.fd.valid()) epoll_ctl(set.get(), EPOLL_CTL_DEL, it->second.fd.get(), nullptr);
    entries.erase(it);
  }

  Fault Start() {
    UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC)), event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll.valid() || !event.valid())
      return Fault(FaultKind::kSystem, {uint64_t(errno)}, "create an eventfd");
    set = std::move(epoll);
    wake = std::move(event);
    if (Fault f = Include(wake.get(), 0)) return f;
    std::thread thread;
    if (Fault f = StartQuietThread([this] { Loop(); }, &thread)) return f;
    thread.detach();
    return Fault::None();
  }

  void Loop() {
    pthread_setname_np(pthread_self(), "hcclrun-watch");
    for (;;) {
      std::vector<Id> by_pid;
      {
        std::lock_guard<std::mutex> lock(mutex);
        for (auto& [id, entry] : entries) {
          if (!entry.fd.valid()) by_pid.push_back(id);
        }
      }
      epoll_event events[kEvents];
      int n = epoll_wait(set.get(), events, kEvents, by_pid.empty() ? -1 : kLookMs);
      if (n < 0 && errno != EINTR) {  // somebody has closed our descriptors: look by number
        timespec nap = {0, kLookMs * 1'000'000};
        nanosleep(&nap, nullptr);
      }
      for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == 0) {
          uint64_t drained;
          (void)!read(wake.get(), &drained, sizeof drained);
        } else {
          Fire(events[i].data.u64);
        }
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
      Erase(it);
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
  entry.fd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));  // close-on-exec
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
  if (auto it = impl_->entries.find(id); it != impl_->entries.end()) impl_->Erase(it);
  impl_->fired.wait(lock, [&] { return impl_->running != id; });
}

}  // namespace hcclrun
