#pragma once
// From the arguments of an operation to the communicator's queue.

#include <memory>
#include <mutex>
#include <vector>

#include "comm/comm_table.h"
#include "comm/communicator.h"
#include "device/stream.h"
#include "hccl/group.h"
#include "hccl/hccl_types.h"

namespace hcclrun {

inline OpRequest Request(Op op, CallId call, int32_t type, uint64_t count, const void* in,
                         void* out) {
  OpRequest r;
  r.op = op;
  r.call = call;
  r.dtype = static_cast<DataType>(type);
  r.count = count;
  r.in = in;
  r.out = out;
  return r;
}

// Hands the operation over.
inline Fault Submit(const OpRequest& request, const std::shared_ptr<Communicator>& comm,
                    aclrtStream stream) {
  Result<std::shared_ptr<Stream>> s = Stream::From(stream);
  if (!s.ok()) return s.fault();
  if (InGroup()) {
    KeepOperation(comm, request, *s);
    return Fault::None();
  }
  return comm->Submit(request, *s);
}

inline Fault SubmitTransfers(CallId call, absl::Span<const TransferRequest> requests,
                             const std::shared_ptr<Communicator>& comm, aclrtStream stream) {
  Result<std::shared_ptr<Stream>> s = Stream::From(stream);
  if (!s.ok()) return s.fault();
  if (InGroup()) {
    KeepTransfers(comm, {requests.begin(), requests.end()}, *s);
    return Fault::None();
  }
  return comm->SubmitTransfers(call, requests, *s);
}

// What call(communicator, stream) says under the communicator's issuing() lock, where this thread
// knows both from before. False: it does not, or a group is open.
template <class Call>
bool AtOnce(HcclComm comm, aclrtStream stream, Call call) {
  if (InGroup()) return false;
  Stream* const known = Stream::Known(stream);
  Communicator* const c = known ? VisitCommunicator(comm) : nullptr;
  if (!c) return false;
  std::lock_guard<IssueLock> lock(c->issuing(), std::adopt_lock);
  return call(*c, *known);
}

// For operations of a few bytes, mostly: done, and in order. False: nothing has happened, and the
// request knows whether it was refused.
inline bool ExchangeNow(OpRequest* request, HcclComm comm, aclrtStream stream) {
  return request->count <= kExchangeBytes && AtOnce(comm, stream, [&](Communicator& c, Stream& s) {
           request->refused_at_once = !c.ExchangeNow(*request, s, Recorder::Entered());
           return !request->refused_at_once;
         });
}

inline bool TransferNow(CallId call, const TransferRequest& request, HcclComm comm,
                        aclrtStream stream) {
  return AtOnce(comm, stream, [&](Communicator& c, Stream& s) {
    return c.TransferNow(call, request, s, Recorder::Entered());
  });
}

inline Fault Submit(OpRequest&& request, HcclComm comm, aclrtStream stream) {
  if (ExchangeNow(&request, comm, stream)) return Fault::None();
  Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
  return c.ok() ? Submit(request, *c, stream) : c.fault();
}

}  // namespace hcclrun
