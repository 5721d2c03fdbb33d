#pragma once
// A range of addresses that belongs to nobody else (PROT_NONE, no memory behind it), into which
// pieces of shared objects are mapped and from which they are taken again. Taking a piece puts
// PROT_NONE back in its place: an munmap would open a hole that any other mmap of the process could
// fall into.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class Reservation {
 public:
  Reservation() = default;
  // `size` bytes, aligned to `alignment` (a power of two). `hint` may be nullptr; it is taken when
  // it is free.
  static Result<Reservation> Create(uint64_t size, uint64_t alignment, void* hint = nullptr);
  Reservation(Reservation&& other) noexcept : base_(other.base_), size_(other.size_) {
    other.base_ = nullptr;
  }
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  char* base() const { return base_; }
  uint64_t size() const { return size_; }
  bool Contains(const void* p, uint64_t length) const {
    const char* c = static_cast<const char*>(p);
    return base_ && c >= base_ && length <= size_ && uint64_t(c - base_) <= size_ - length;
  }

  // Maps [object_offset, +size) of the shared object `fd` at `at`, which must lie inside:
  // read-write, or `closed`, without access.
  Fault Map(void* at, uint64_t size, int fd, uint64_t object_offset, bool closed = false);
  Fault Unmap(void* at, uint64_t size);

 private:
  Reservation(char* base, uint64_t size) : base_(base), size_(size) {}
  char* base_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace hcclrun
