#pragma once
// HCCLRUN_STRICT: device memory is closed to the host (device/program_view.h), and an access is
// explained before it ends the program.
//
// Two signals. SIGSEGV: code of the program has touched the closed view; the sentence is written,
// and then the signal goes to whatever handler the program has, or ends it. SIGSYS: a system call
// is about to get an address of the closed view as its buffer; it fails with EFAULT, as it would
// anyway, after the sentence. A filter of the kernel (seccomp) sends it, where that can be had; it
// looks at nothing but the number of the call and the address, and programs that this one starts
// inherit it, to no effect: nothing else lies at these addresses.

#include "base/call.h"

namespace hcclrun {

// At every call of the library: sees to it that our handlers are there and the first to be asked,
// also when the program has installed its own since. `call` is named as the thread's last one.
void WatchClosedMemory(CallId call);

}  // namespace hcclrun
