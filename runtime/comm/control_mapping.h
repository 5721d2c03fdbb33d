#pragma once
// The control block of a communicator in this process. Ranks that are threads of one process share
// one mapping: pages are faulted in once, and checkers of memory accesses, which know addresses and
// not pages, see that these ranks use the same memory. Any thread.

#include <boost/interprocess/mapped_region.hpp>
#include <memory>

#include "base/fault.h"
#include "shm/memory_object.h"

namespace hcclrun {

// The mapping of the object, which lives until its last user lets go of it.
Result<std::shared_ptr<boost::interprocess::mapped_region>> MapControl(const MemoryObject& object);

}  // namespace hcclrun
