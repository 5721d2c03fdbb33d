#pragma once
// The handles of communicators and windows: numbers that are never used twice, looked up before
// every use, so that a stale or invented handle is an error and never a crash. Any thread.

#include <cstdint>
#include <memory>
#include <string>

#include "base/fault.h"
#include "comm/communicator.h"

namespace hcclrun {

// kNameTaken when a communicator of this device has the name (semantics D.2).
Fault CheckNameFree(const std::string& name, int32_t device);
// Takes the communicator in; its handle.
void* AddCommunicator(std::shared_ptr<Communicator> comm);
// The communicator of a handle; its members may not have been met (Communicator::Ready).
Result<std::shared_ptr<Communicator>> FindCommunicator(void* handle);
// In whose name faults of calls with this handle are told; 0: it is none.
uint32_t SpeakerOfCommunicator(void* handle);
// The communicator of a handle that this thread found last: under its issuing() lock, which keeps
// it alive and which the caller unlocks. Null: use FindCommunicator().
Communicator* VisitCommunicator(void* handle);
// The handle of the communicator of this name on this device; nullptr if there is none.
void* FindByName(const std::string& name, int32_t device);
// Whether a communicator of a rank table is alive on this device.
bool HasRankTableCommunicator(int32_t device);
// Destroys: the handle is dead, the communicator has left. kUnknownHandle.
Fault RemoveCommunicator(void* handle);

void* AddWindow(const std::shared_ptr<Communicator>& comm, uint64_t window);
struct WindowRef {
  std::shared_ptr<Communicator> comm;
  uint64_t window;
};
// kUnknownHandle, also for windows of destroyed communicators (semantics A.9).
Result<WindowRef> FindWindow(void* handle);
// The handle under which a window was given out.
void* HandleOfWindow(const Communicator& comm, uint64_t window);
void RemoveWindow(void* handle);

}  // namespace hcclrun
