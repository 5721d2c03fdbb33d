#include "shm/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace hcclrun {

std::vector<int> ProcessorsOf(pid_t process) {
  std::vector<int> processors;
  // Larger than cpu_set_t where the machine has more processors than that has bits.
  for (int bits = 1024; bits <= 65536 && processors.empty(); bits *= 4) {
    cpu_set_t* set = CPU_ALLOC(bits);
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(bits);
    CPU_ZERO_S(bytes, set);
    if (sched_getaffinity(process, bytes, set) == 0) {
      for (int p = 0; p < bits; p++) {
        if (CPU_ISSET_S(p, bytes, set)) processors.push_back(p);
      }
    }
    CPU_FREE(set);
  }
  return processors;
}

std::vector<int> CoresFirst(std::vector<int> processors) {
  // How many processors of the same core come before it.
  std::map<int, int> turn;
  std::map<std::string, int> seen;
  for (int p : processors) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(p) +
                       "/topology/thread_siblings_list");
    std::string core;
    if (!(file >> core)) core = std::to_string(p);
    turn[p] = seen[core]++;
  }
  std::stable_sort(processors.begin(), processors.end(),
                   [&turn](int a, int b) { return turn[a] < turn[b]; });
  return processors;
}

namespace {

// An affinity mask, made before it is needed.
class Mask {
 public:
  explicit Mask(const std::vector<int>& processors)
      : bits_(*std::max_element(processors.begin(), processors.end()) + 1), set_(CPU_ALLOC(bits_)) {
    if (!set_) return;
    CPU_ZERO_S(bytes(), set_);
    for (const int p : processors) CPU_SET_S(p, bytes(), set_);
  }
  ~Mask() {
    if (set_) CPU_FREE(set_);
  }
  Mask(const Mask&) = delete;
  bool Apply() const { return set_ && sched_setaffinity(0, bytes(), set_) == 0; }
  explicit operator bool() const { return set_ != nullptr; }

 private:
  size_t bytes() const { return CPU_ALLOC_SIZE(bits_); }
  const int bits_;
  cpu_set_t* const set_;
};

}  // namespace

// The kernel moves a thread before it returns, if it is not where it may be.
bool MoveThread(int processor, const std::vector<int>& allowed) {
  const Mask there({processor}), before(allowed);
  if (!before || !there.Apply()) return false;
  if (before.Apply()) return true;
  // None of them is left: all that the kernel lets it have.
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  return true;
}

uint32_t UsableProcessors() {
  return std::max(1u, static_cast<uint32_t>(ProcessorsOf(0).size()));
}

double QuotaProcessors() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period)
    return quota == "max" || period <= 0 ? 0 : atof(quota.c_str()) / period;
  double v1_quota = 0;
  std::ifstream q("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), p("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return q >> v1_quota && p >> period && v1_quota > 0 && period > 0 ? v1_quota / period : 0;
}

namespace {

uint32_t WithinQuota(uint32_t usable) {
  const double quota = QuotaProcessors();
  if (quota <= 0 || quota >= usable) return usable;
  return std::max(1u, static_cast<uint32_t>(std::ceil(quota)));
}

}  // namespace

uint32_t ProcessorCount() { return WithinQuota(UsableProcessors()); }

uint32_t ProcessorCount(const std::vector<pid_t>& processes) {
  std::set<int> all;
  for (const pid_t process : processes) {
    std::vector<int> some = ProcessorsOf(process);
    if (some.empty()) some = ProcessorsOf(0);
    all.insert(some.begin(), some.end());
  }
  return WithinQuota(std::max(1u, static_cast<uint32_t>(all.size())));
}

}  // namespace hcclrun
