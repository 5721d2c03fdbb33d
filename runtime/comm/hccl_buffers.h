#pragma once
// The two HCCL buffers of a rank: ranges of its device's heap, address space at first, pages as
// operations need them. A communicator has its own, unless its configuration names them
// (hcclBufferName): the communicators of one device that give the same name share them.
//
// Sharing is safe as long as all operations are on one stream, as hardware demands (semantics C.6):
// an operation posts, and so opens the buffers to its peers, only when the operation of another
// communicator before it in the stream is complete on all ranks. Begin() refuses an operation that
// others' operations on another stream are in the way of. One that is given up half-way may go on
// in other processes: the buffers are then lost to everybody but its communicator. Any thread.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/fault.h"
#include "device/device.h"

namespace hcclrun {

class HcclBuffers {
 public:
  // Of `bytes` bytes each. With a name: those that the device has under it, whatever their size.
  static Result<std::shared_ptr<HcclBuffers>> Get(Device* device, const std::string& name,
                                                  uint64_t bytes);
  ~HcclBuffers();
  HcclBuffers(const HcclBuffers&) = delete;

  // Offsets in the heap.
  uint64_t a() const { return a_; }
  uint64_t b() const { return b_; }
  uint64_t bytes() const { return bytes_; }
  // Gives the first `bytes` bytes of both pages.
  Fault Commit(uint64_t bytes);

  // kCommBroken when another communicator gave an operation up that still may use them.
  Fault Lost(const std::string& user);
  bool shared() const { return !name_.empty(); }
  // An operation of communicator `user` is queued on `stream`; kBusy when it must not be.
  Fault Begin(const std::string& user, uint32_t stream);
  // It is over; `complete`: on all ranks.
  void End(const std::string& user, uint32_t stream, bool complete);

 private:
  HcclBuffers(Device* device, std::string name, uint64_t bytes)
      : device_(device), name_(std::move(name)), bytes_(bytes) {}
  Fault LostLocked(const std::string& user) const;

  Device* const device_;
  const std::string name_;
  const uint64_t bytes_;
  uint64_t a_ = 0, b_ = 0;
  bool allocated_ = false;
  std::mutex mutex_;
  // Operations under way by communicator and stream. Guarded by mutex_, like the next.
  std::map<std::pair<std::string, uint32_t>, uint64_t> pending_;
  std::string lost_to_;  // communicator that gave an operation up
};

}  // namespace hcclrun
