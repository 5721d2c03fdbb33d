#pragma once
// Memory of other processes that this one touches for the first time.

#include <cstdint>

namespace hcclrun {

// To be called before [at, +bytes), which may be read and written, is worked on. A store to a page
// that this process has not touched yet maps that page; a load maps the pages around it as well, 16
// of them, for little more, and what is mapped for reading in shared memory can be written to. So
// this loads a byte of every 64 KiB, a fifth of the price. It remembers where it has been, in a
// table that forgets: then a byte is loaded once more. Memory that has got new pages since is
// mapped page by page. Any thread.
void TouchBeforeUse(const char* at, uint64_t bytes);

}  // namespace hcclrun
