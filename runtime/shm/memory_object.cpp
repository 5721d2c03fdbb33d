#include "shm/memory_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "shm/budget.h"

namespace hcclrun {
namespace {

int OpenUnnamed() {
  struct statvfs fs;
  if (statvfs("/dev/shm", &fs) == 0 && uint64_t{fs.f_blocks} * fs.f_frsize >= kSmallShm) {
    int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
  }
  int fd = memfd_create("hcclrun", MFD_CLOEXEC);
  if (fd >= 0) fchmod(fd, 0600);
  return fd;
}

}  // namespace

void ShieldMapping(void* base, uint64_t length) {
  madvise(base, length, MADV_DONTDUMP);
  madvise(base, length, MADV_DONTFORK);
}

Result<MemoryObject> MemoryObject::Create(uint64_t size) {
  UniqueFd fd(OpenUnnamed());
  if (!fd.valid())
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "create an unnamed shared-memory object");
  if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "size a shared-memory object");
  }
  return MemoryObject(std::move(fd), size);
}

Result<MemoryObject> MemoryObject::Adopt(int raw, uint64_t min_size) {
  UniqueFd fd(raw);
  struct stat st;
  if (fstat(raw, &st) != 0)
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "inspect a peer's shared memory");
  if (!S_ISREG(st.st_mode) || st.st_size < 0 || uint64_t(st.st_size) < min_size) {
    return Fault(FaultKind::kInternal,
                 "a peer sent a descriptor that is not shared memory of the announced size");
  }
  return MemoryObject(std::move(fd), uint64_t(st.st_size));
}

Result<boost::interprocess::mapped_region> MemoryObject::Map() const {
  try {
    boost::interprocess::mapped_region region(*this, boost::interprocess::read_write, 0, size_);
    ShieldMapping(region.get_address(), region.get_size());
    return region;
  } catch (const boost::interprocess::interprocess_exception& e) {
    return Fault(FaultKind::kAddressSpace, {size_, uint64_t(e.get_native_error())});
  }
}

Result<boost::interprocess::mapped_region> MemoryObject::MapClosed(void* hint) const {
  // Boost takes an address as an order, so whether it is free is tried out first.
  if (hint) {
    void* p = mmap(hint, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) munmap(p, size_);
    if (p != hint) hint = nullptr;
  }
  try {
    boost::interprocess::mapped_region region(*this, boost::interprocess::read_write, 0, size_,
                                              hint);
    ShieldMapping(region.get_address(), region.get_size());
    if (mprotect(region.get_address(), region.get_size(), PROT_NONE) != 0)
      return Fault(FaultKind::kSystem, {uint64_t(errno)}, "close device memory to the host");
    return region;
  } catch (const boost::interprocess::interprocess_exception& e) {
    if (hint) return MapClosed(nullptr);  // another thread's mapping came in between
    return Fault(FaultKind::kAddressSpace, {size_, uint64_t(e.get_native_error())});
  }
}

Fault MemoryObject::EnsurePages(uint64_t offset, uint64_t length) const {
  int rc;
  do {
    rc = fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(length));
  } while (rc != 0 && errno == EINTR);
  if (rc == 0) return Fault::None();
  if (errno != ENOSPC && errno != ENOMEM)
    return Fault(FaultKind::kSystem, {uint64_t(errno)}, "commit shared memory");
  const Budget& budget = Budget::Get();
  return Fault(
      FaultKind::kMemoryExhausted, {length, budget.available(), 0, budget.used(), budget.limit()},
      errno == ENOSPC ? "the size of /dev/shm" : "the memory of this machine or container");
}

Fault MemoryObject::Commit(uint64_t offset, uint64_t length) {
  if (length == 0) return Fault::None();
  if (Fault f = Budget::Get().Charge(length)) return f;
  int rc;
  do {
    rc = fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(length));
  } while (rc != 0 && errno == EINTR);
  if (rc == 0) return Fault::None();
  int error = errno;
  fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(length));
  Budget& budget = Budget::Get();
  budget.Refund(length);
  if (error != ENOSPC && error != ENOMEM)
    return Fault(FaultKind::kSystem, {uint64_t(error)}, "commit device memory");
  return Fault(
      FaultKind::kMemoryExhausted, {length, budget.available(), 0, budget.used(), budget.limit()},
      error == ENOSPC ? "the size of /dev/shm" : "the memory of this machine or container");
}

void MemoryObject::Decommit(uint64_t offset, uint64_t length) {
  if (length == 0) return;
  if (fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(length)) == 0) {
    Budget::Get().Refund(length);
  }
}

}  // namespace hcclrun
