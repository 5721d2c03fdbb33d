#pragma once
// Functions of the program that run in stream order, on the stream's worker.

#include "base/fault.h"

namespace hcclrun {

class Stream;

// Whether any stream of the process has user code that is queued or runs. A hint.
bool UserCodeQueued();

Fault RunInStream(Stream& stream, void (*function)(void*), void* argument);
// As above; when the function returns another number than 0, the task fails with kKernelFailed.
Fault RunKernelInStream(Stream& stream, int (*kernel)(void*), void* argument);

}  // namespace hcclrun
