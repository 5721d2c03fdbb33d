#pragma once
// Who executes an operation. Every rank decides for itself once all have posted, from facts that
// are the same on all ranks, so nothing is exchanged about it.

#include <cstdint>

#include "comm/control_block.h"

namespace hcclrun {

enum class Execution {
  kEachRank,   // every rank its own pieces, with a barrier after each phase
  kOneThread,  // the first thread that finds it is the operation's turn, all of it
  kAllThreads  // whoever comes, piece by piece
};

// Of the operation that `own`, this rank's descriptor, stands for; all ranks have posted it without
// disagreement and none has recycled it.
//
// With more ranks than processors most ranks' threads are not running when the last one posts. If
// each had to do its share the operation would take as many switches as there are ranks, twice; so
// the ranks share the work, and an operation of a few microseconds is done at once by one thread.
// When every rank has a processor, the threads are all there and their caches hold their own
// shares: only the smallest operations gain, and of operations that are large for the caches none
// does. Each rank does its own share, too, where a rank alone can reach its buffers or knows its
// arrays.
Execution ChooseExecution(const ControlView& view, const Descriptor& own);

// Whether an operation of this size may be done alone by the thread that opens it, who finds out
// whether it is: ChooseExecution() says kOneThread or kEachRank. From facts of the own descriptor,
// which agree with those of the others.
bool MayBeAlone(const ControlView& view, const Descriptor& own);

// Whether threads of this rank execute for others. Every process that does maps, page by page, what
// it touches of all ranks' memory; in a job of hundreds of ranks that would be most of the machine.
bool MayExecute(const ControlView& view, uint32_t rank);

// Bytes read and written by all ranks together; UINT64_MAX when that does not fit. Not
// of V operations.
uint64_t BytesMoved(const Descriptor& descriptor, uint32_t ranks);

}  // namespace hcclrun
