#include "shm/process_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/fork_guard.h"

namespace hcclrun {

bool ProcessEnded(int32_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* f = fopen(path, "re");
  if (!f) return errno == ENOENT;
  bool ended = false;
  if (fgets(line, sizeof line, f)) {
    const char* state = strrchr(line, ')');  // the name may hold anything, the state follows its last parenthesis
    ended = state && (state[2] == 'Z' || state[2] == 'X');
  }
  fclose(f);
  return ended;
}

struct ProcessWatch::Impl {
  struct Entry {
    UniqueFd fd;      // pidfd or socket; invalid = look at /proc
    int32_t pid = 0;  // 0 = a socket
    std::function<void()> callback;
  };
  absl::Mutex mutex;
  std::map<Id, Entry> entries ABSL_GUARDED_BY(mutex);
  Id next ABSL_GUARDED_BY(mutex) = 1;
  Id running ABSL_GUARDED_BY(mutex) = 0;  // whose callback runs now
  bool started ABSL_GUARDED_BY(mutex) = false;
  UniqueFd wake;

  Id Add(Entry entry) {
    absl::MutexLock lock(&mutex);
    Id id = next++;
    entries.emplace(id, std::move(entry));
    if (!started) {
      started = true;
      wake = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits the mask
      std::thread([this] { Loop(); }).detach();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    Wake();
    return id;
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
        absl::MutexLock lock(&mutex);
        for (auto& [id, entry] : entries) {
          if (entry.fd.valid()) {
            polled.push_back({entry.fd.get(), POLLIN, 0});
            ids.push_back(id);
          } else {
            by_pid.push_back(id);
          }
        }
      }
      if (poll(polled.data(), polled.size(), by_pid.empty() ? -1 : 200) < 0 && errno != EINTR) return;
      uint64_t drained;
      if (polled[0].revents) (void)!read(wake.get(), &drained, sizeof drained);
      for (size_t i = 1; i < polled.size(); i++) {
        if (polled[i].revents) Fire(ids[i]);
      }
      for (Id id : by_pid) {
        int32_t pid = 0;
        {
          absl::MutexLock lock(&mutex);
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
      absl::MutexLock lock(&mutex);
      auto it = entries.find(id);
      if (it == entries.end()) return;
      callback = std::move(it->second.callback);
      entries.erase(it);
      running = id;
    }
    callback();
    absl::MutexLock lock(&mutex);
    running = 0;
  }
};

ProcessWatch::ProcessWatch() : impl_(new Impl()) {}

ProcessWatch& ProcessWatch::Get() {
  static ProcessWatch* watch = new ProcessWatch();  // its thread outlives static destruction
  return *watch;
}

ProcessWatch::Id ProcessWatch::WatchProcess(int32_t pid, std::function<void()> ended) {
  Impl::Entry entry;
  entry.fd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (entry.fd.valid()) fcntl(entry.fd.get(), F_SETFD, FD_CLOEXEC);
  entry.pid = pid;
  entry.callback = std::move(ended);
  return impl_->Add(std::move(entry));
}

ProcessWatch::Id ProcessWatch::WatchSocket(int socket, std::function<void()> closed) {
  Impl::Entry entry;
  entry.fd = UniqueFd(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  entry.callback = std::move(closed);
  return impl_->Add(std::move(entry));
}

void ProcessWatch::Cancel(Id id) {
  absl::MutexLock lock(&impl_->mutex);
  impl_->entries.erase(id);
  auto done = [this, id]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl_->mutex) { return impl_->running != id; };
  impl_->mutex.Await(absl::Condition(&done));
  impl_->Wake();
}

}  // namespace hcclrun
