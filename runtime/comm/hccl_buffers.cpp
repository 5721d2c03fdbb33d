#include "comm/hccl_buffers.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "device/heap.h"

namespace hcclrun {
namespace {

struct Named {
  std::mutex mutex;
  std::map<std::pair<int32_t, std::string>, std::weak_ptr<HcclBuffers>> known;  // guarded by mutex
};

Named& GetNamed() {
  static Named* named = new Named();
  return *named;
}

}  // namespace

Result<std::shared_ptr<HcclBuffers>> HcclBuffers::Get(Device* device, const std::string& name,
                                                      uint64_t bytes) {
  Named& named = GetNamed();
  std::unique_lock<std::mutex> lock(named.mutex, std::defer_lock);
  if (!name.empty()) {
    lock.lock();
    std::erase_if(named.known, [](const auto& entry) { return entry.second.expired(); });
    const auto it = named.known.find({device->id(), name});
    if (auto known = it == named.known.end() ? nullptr : it->second.lock()) {
      if (known->bytes() != bytes) {
        Tell(LogLevel::kWarning,
             absl::StrCat("the HCCL buffers named ", name, " are there with ", known->bytes(),
                          " bytes each; the ", bytes, " bytes asked for are ignored"));
      }
      return known;
    }
  }
  std::shared_ptr<HcclBuffers> buffers(new HcclBuffers(device, name, bytes));
  Heap& heap = device->heap();
  Result<uint64_t> a = heap.AllocateUncommitted(bytes, kGranule);
  if (!a.ok()) return a.fault();
  Result<uint64_t> b = heap.AllocateUncommitted(bytes, kGranule);
  if (!b.ok()) {
    heap.Free(*a);
    return b.fault();
  }
  buffers->a_ = *a;
  buffers->b_ = *b;
  buffers->allocated_ = true;
  if (!name.empty()) named.known[{device->id(), name}] = buffers;
  return buffers;
}

HcclBuffers::~HcclBuffers() {
  if (!allocated_) return;
  device_->heap().Free(a_);
  device_->heap().Free(b_);
}

Fault HcclBuffers::Commit(uint64_t bytes) {
  if (Fault f = device_->heap().Commit(a_, bytes)) return f;
  return device_->heap().Commit(b_, bytes);
}

Fault HcclBuffers::LostLocked(const std::string& user) const {
  if (lost_to_.empty() || lost_to_ == user) return Fault::None();
  return Fault(FaultKind::kCommBroken,
               absl::StrCat("the HCCL buffers named ", name_, " are out of use with communicator ",
                            lost_to_, ", which shares them"));
}

Fault HcclBuffers::Lost(const std::string& user) {
  if (!shared()) return Fault::None();
  std::lock_guard<std::mutex> lock(mutex_);
  return LostLocked(user);
}

Fault HcclBuffers::Begin(const std::string& user, uint32_t stream) {
  if (!shared()) return Fault::None();
  std::lock_guard<std::mutex> lock(mutex_);
  if (Fault f = LostLocked(user)) return f;
  for (const auto& [who, count] : pending_) {
    if (who.first != user && who.second != stream) {
      return Fault(FaultKind::kBusy,
                   absl::StrCat("HCCL buffer named ", name_, ", by communicator ", who.first,
                                " on another stream (", who.second, ", here ", stream, "),"));
    }
  }
  pending_[{user, stream}]++;
  return Fault::None();
}

void HcclBuffers::End(const std::string& user, uint32_t stream, bool complete) {
  if (!shared()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = pending_.find({user, stream});
  if (it != pending_.end() && --it->second == 0) pending_.erase(it);
  if (!complete) lost_to_ = user;
}

}  // namespace hcclrun
