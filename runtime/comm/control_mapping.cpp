#include "comm/control_mapping.h"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

namespace hcclrun {
namespace {

using Region = boost::interprocess::mapped_region;

// By device and inode, which stay taken as long as a mapping lives.
struct Mappings {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Region>> known;  // guarded by mutex
};

Mappings& GetMappings() {
  static Mappings* mappings = new Mappings();
  return *mappings;
}

}  // namespace

Result<std::shared_ptr<Region>> MapControl(const MemoryObject& object) {
  struct stat s;
  if (fstat(object.fd(), &s) != 0)
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "look at a communicator's control block");
  Mappings& mappings = GetMappings();
  std::lock_guard<std::mutex> lock(mappings.mutex);
  std::erase_if(mappings.known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Region>& known = mappings.known[{s.st_dev, s.st_ino}];
  if (std::shared_ptr<Region> region = known.lock()) return region;
  Result<Region> fresh = object.Map();
  if (!fresh.ok()) return fresh.fault();
  auto region = std::make_shared<Region>(std::move(*fresh));
  known = region;
  return region;
}

}  // namespace hcclrun
