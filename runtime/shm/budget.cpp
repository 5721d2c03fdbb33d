#include "shm/budget.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/settings.h"
#include "shm/job_page.h"
#include "shm/lifeline.h"
#include "shm/memory_object.h"

namespace hcclrun {
namespace {

// Left to everything that is not device memory.
constexpr uint64_t kHeadroom = uint64_t{128} << 20;

uint64_t ReadNumber(const std::string& path, uint64_t otherwise) {
  FILE* f = fopen(path.c_str(), "re");
  if (!f) return otherwise;
  unsigned long long value;
  uint64_t result = fscanf(f, "%llu", &value) == 1 ? value : otherwise;  // "max" is no number
  fclose(f);
  return result;
}

uint64_t MemAvailable() {
  FILE* f = fopen("/proc/meminfo", "re");
  if (!f) return UINT64_MAX;
  char line[256];
  unsigned long long kib;
  uint64_t result = UINT64_MAX;
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
      result = uint64_t{kib} << 10;
      break;
    }
  }
  fclose(f);
  return result;
}

// Smallest room under the limits of this process' cgroup and its ancestors (v2, then v1).
uint64_t CgroupAvailable() {
  FILE* f = fopen("/proc/self/cgroup", "re");
  if (!f) return UINT64_MAX;
  uint64_t room = UINT64_MAX;
  char line[4096];
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    std::string root, limit, usage, path;
    if (strncmp(line, "0::", 3) == 0) {
      root = "/sys/fs/cgroup", limit = "/memory.max", usage = "/memory.current", path = line + 3;
    } else if (strstr(line, ":memory:")) {
      root = "/sys/fs/cgroup/memory", limit = "/memory.limit_in_bytes",
      usage = "/memory.usage_in_bytes";
      path = strstr(line, ":memory:") + 8;
    } else {
      continue;
    }
    // Up to the mount's root, where the limits of a container often sit whatever the path says.
    for (;;) {
      uint64_t max = ReadNumber(root + path + limit, UINT64_MAX);
      if (max != UINT64_MAX)
        room = std::min(room, max - std::min(max, ReadNumber(root + path + usage, 0)));
      size_t slash = path.rfind('/');
      if (path.empty() || path == "/" || slash == std::string::npos) break;
      path.resize(slash);
    }
  }
  fclose(f);
  return room;
}

// What /dev/shm has left; more than there can be when it is not used.
uint64_t ShmAvailable() {
  struct statvfs fs;
  if (statvfs("/dev/shm", &fs) != 0 || uint64_t{fs.f_blocks} * fs.f_frsize < kSmallShm)
    return UINT64_MAX;
  return uint64_t{fs.f_bavail} * fs.f_frsize;
}

const char* ShortOnMachine() {
  return ShmAvailable() < std::min(MemAvailable(), CgroupAvailable())
             ? "the size of /dev/shm, or free what fills it"
             : "the memory of this machine or container";
}

}  // namespace

uint64_t MachineMemoryAvailable() {
  const uint64_t room = std::min({MemAvailable(), CgroupAvailable(), ShmAvailable()});
  return room - std::min(room, kHeadroom);
}

Budget& Budget::Get() {
  static Budget* budget = new Budget();
  return *budget;
}

Budget::Budget() : mine_(&own_), all_(&own_), count_(1) {
  limit_ = Settings::Get().memory_bytes;  // under hcclrun also what --memory says
  given_ = limit_ != 0;
  JobPage* page = Lifeline::Page();
  if (page) {
    all_ = page->committed_bytes;
    count_ = std::min(page->ranks, kMaxJobRanks);
    mine_ = &page->committed_bytes[Lifeline::Rank()];
    if (!limit_) limit_ = page->memory_limit_bytes;
  }
  if (!limit_) limit_ = MachineMemoryAvailable();
}

uint64_t Budget::used() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count_; i++) sum += all_[i].load(std::memory_order_relaxed);
  return sum;
}

uint64_t Budget::available() const {
  uint64_t in_use = used();
  return std::min(limit_ - std::min(limit_, in_use), MachineMemoryAvailable());
}

Fault Budget::Charge(uint64_t bytes) {
  mine_->fetch_add(bytes, std::memory_order_relaxed);
  uint64_t in_use = used();
  // The machine is asked only for requests that could matter to it.
  bool fits =
      in_use <= limit_ && (bytes < (uint64_t{1} << 20) || bytes <= MachineMemoryAvailable());
  if (fits) return Fault::None();
  mine_->fetch_sub(bytes, std::memory_order_relaxed);
  return Fault(FaultKind::kMemoryExhausted, {bytes, available(), 0, used(), limit_},
               given_ && in_use > limit_ ? "HCCLRUN_MEMORY or hcclrun --memory"
                                         : ShortOnMachine());
}

void Budget::Refund(uint64_t bytes) { mine_->fetch_sub(bytes, std::memory_order_relaxed); }

}  // namespace hcclrun
