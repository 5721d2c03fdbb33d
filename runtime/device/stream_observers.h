#pragma once
// Who is told when streams come and go, default streams included. Observers have names, each once.
// They run in the thread that makes or closes the stream, without a lock of ours, while the handle
// is valid; an observer that is removed may be under way in another thread for a moment longer.
// Any thread.

#include <functional>
#include <string>

#include "base/fault.h"

namespace hcclrun {

enum class StreamState { kCreated = 1, kClosing = 2 };  // aclrtStreamState
using StreamObserver = std::function<void(void* handle, StreamState state)>;

// kBusy when the name is taken.
Fault AddStreamObserver(const std::string& name, StreamObserver observer);
// kUnknownHandle.
Fault RemoveStreamObserver(const std::string& name);
void TellStreamObservers(void* handle, StreamState state);

}  // namespace hcclrun
