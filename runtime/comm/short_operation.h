#pragma once
// A short operation, done by one thread with as few steps as possible: no plan, no lists.

#include "collective/types.h"
#include "comm/communicator.h"
#include "comm/control_block.h"

namespace hcclrun {

// By the opener of an operation that may be done alone, which all ranks have posted without
// disagreement. Does all of it if this thread can reach every buffer and no rank's buffers lie to
// each other in a way that needs the input staged; *path receives the path that the operation
// counts as. False, and nothing has happened, otherwise.
//
// Bytes that go through the HCCL buffers elsewhere do not here: with one thread at work, and every
// input read before it is overwritten, nobody can see the difference.
bool ExecuteShort(const Communicator& comm, const Descriptor& own, Path* path);

}  // namespace hcclrun
