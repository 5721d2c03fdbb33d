#include "shm/reservation.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/fork_guard.h"
#include "shm/memory_object.h"

namespace hcclrun {

Result<Reservation> Reservation::Create(uint64_t size, uint64_t alignment, void* hint) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (hint) {
    void* p = mmap(hint, size, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == hint) return Reservation(static_cast<char*>(p), size);
    if (p != MAP_FAILED) munmap(p, size);  // a kernel that does not know the flag
  }
  uint64_t padded = size + alignment;
  if (padded < size) return Fault(FaultKind::kAddressSpace, {size, ENOMEM});
  void* p = mmap(nullptr, padded, PROT_NONE, kFlags, -1, 0);
  if (p == MAP_FAILED) return Fault(FaultKind::kAddressSpace, {size, uint64_t(errno)});
  // Trim to the aligned part.
  char* raw = static_cast<char*>(p);
  char* base = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(raw) + alignment - 1) &
                                       ~(alignment - 1));
  if (base > raw) munmap(raw, base - raw);
  uint64_t tail = raw + padded - (base + size);
  if (tail) munmap(base + size, tail);
  return Reservation(base, size);
}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    if (base_ && !InForkedChild()) munmap(base_, size_);
    base_ = other.base_;
    size_ = other.size_;
    other.base_ = nullptr;
  }
  return *this;
}

Reservation::~Reservation() {
  if (base_ && !InForkedChild()) munmap(base_, size_);
}

Fault Reservation::Map(void* at, uint64_t size, int fd, uint64_t object_offset, bool closed) {
  if (!Contains(at, size))
    return Fault(FaultKind::kNotReserved, {reinterpret_cast<uintptr_t>(at), size});
  void* p = mmap(at, size, closed ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                 static_cast<off_t>(object_offset));
  if (p == MAP_FAILED) return Fault(FaultKind::kSystem, {uint64_t(errno)}, "map device memory");
  ShieldMapping(at, size);
  return Fault::None();
}

Fault Reservation::Unmap(void* at, uint64_t size) {
  if (!Contains(at, size))
    return Fault(FaultKind::kNotReserved, {reinterpret_cast<uintptr_t>(at), size});
  void* p =
      mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (p == MAP_FAILED) return Fault(FaultKind::kSystem, {uint64_t(errno)}, "unmap device memory");
  return Fault::None();
}

}  // namespace hcclrun
