#pragma once
// The handles of communicators and windows: numbers that are never used twice, looked up before
// every use, so that a stale or invented handle is an error and never a crash. Any thread.

#include <cstdint>
#include <memory>
#include <string>

#include "base/fault.h"
#include "comm/communicator.h"

namespace hcclrun {

// Takes the communicator in. kNameTaken when its name is in use on this process' device (semantics
// D.2).
Fault CheckNameFree(const std::string& name, int32_t device);
void* AddCommunicator(std::shared_ptr<Communicator> comm);
Result<std::shared_ptr<Communicator>> FindCommunicator(void* handle);
// Destroys: the handle is dead, the communicator has left. kUnknownHandle.
Fault RemoveCommunicator(void* handle);

void* AddWindow(const std::shared_ptr<Communicator>& comm, uint64_t window);
struct WindowRef {
  std::shared_ptr<Communicator> comm;
  uint64_t window;
};
// kUnknownHandle, also for windows of destroyed communicators (decision H.5).
Result<WindowRef> FindWindow(void* handle);
// The handle under which a window was given out.
void* HandleOfWindow(const Communicator& comm, uint64_t window);
void RemoveWindow(void* handle);

}  // namespace hcclrun
