#pragma once
// A shared-memory object without a name: an O_TMPFILE file in /dev/shm, or a memfd where /dev/shm
// is missing or smaller than kSmallShm. Nothing can leak: the kernel frees it with the last
// descriptor and mapping, whoever is killed when. It is sparse; pages come only through Commit(),
// which charges the job's budget first, so that a shortage is a Fault and never a SIGBUS.

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>

#include "base/fault.h"
#include "base/fork_guard.h"

namespace hcclrun {

inline constexpr uint64_t kSmallShm = uint64_t{1} << 30;

class MemoryObject {
 public:
  MemoryObject() = default;
  // `size` bytes of sparse memory, mode 0600, CLOEXEC.
  static Result<MemoryObject> Create(uint64_t size);
  // Takes a descriptor that a peer sent. Refused unless it is a regular file of at
  // least `min_size` bytes.
  static Result<MemoryObject> Adopt(int fd, uint64_t min_size);

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }
  // Boost.Interprocess' memory-mappable concept.
  boost::interprocess::mapping_handle_t get_mapping_handle() const {
    boost::interprocess::mapping_handle_t handle = {};
    handle.handle = fd_.get();
    return handle;
  }
  // Maps all of it read-write; never in core dumps, never inherited by forked children.
  Result<boost::interprocess::mapped_region> Map() const;
  // Likewise, without access (PROT_NONE), at `hint` where that is free.
  Result<boost::interprocess::mapped_region> MapClosed(void* hint) const;

  // Gives [offset, offset+length) pages. kMemoryExhausted when the budget or the machine has
  // no room; nothing is committed then. Committing committed pages again charges again:
  // callers keep track.
  Fault Commit(uint64_t offset, uint64_t length);
  // Pages without a charge, for the small structures in which processes meet and whose end no
  // process sees. What has pages already keeps them; any process may do this at any time.
  Fault EnsurePages(uint64_t offset, uint64_t length) const;
  // Returns the pages to the machine and to the budget; contents are lost.
  void Decommit(uint64_t offset, uint64_t length);

 private:
  MemoryObject(UniqueFd fd, uint64_t size) : fd_(std::move(fd)), size_(size) {}
  UniqueFd fd_;
  uint64_t size_ = 0;
};

// Device views: out of core dumps and out of forked children.
void ShieldMapping(void* base, uint64_t length);

}  // namespace hcclrun
