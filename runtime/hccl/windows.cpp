// Symmetric windows: the checks of semantics A.3, A.7 and A.8 that need no knowledge of the heap.

#include "comm/comm_table.h"
#include "comm/symmetric_heap.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_sym_win.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

extern "C" {

HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size,
                                  HcclCommSymWindow* winHandle, uint32_t flag) {
  return Guarded(CallId::HcclCommSymWinRegister, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!addr) return Null("addr");
    if (!winHandle) return Null("winHandle");
    if (size == 0) return Fault(FaultKind::kBadValue, {0, 1, UINT64_MAX}, "size");
    if (flag != HCCL_WIN_COLL_SYMMETRIC) {
      return Fault(FaultKind::kBadValue, {flag, HCCL_WIN_COLL_SYMMETRIC, HCCL_WIN_COLL_SYMMETRIC},
                   "flag");
    }
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    if (Fault f = (*c)->Ready()) return f;
    Result<uint64_t> window = (*c)->windows().Register(addr, size);
    if (!window.ok()) return window.fault();
    *winHandle = AddWindow(*c, *window);
    return Fault::None();
  });
}

HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle) {
  return Guarded(CallId::HcclCommSymWinDeregister, [&]() -> Fault {
    if (!winHandle) return Null("winHandle");
    Result<WindowRef> ref = FindWindow(winHandle);
    if (!ref.ok()) return ref.fault();
    ref->comm->windows().Deregister(ref->window);
    RemoveWindow(winHandle);
    return Fault::None();
  });
}

HcclResult HcclCommSymWinGet(HcclComm comm, void* ptr, size_t size, HcclCommSymWindow* winHandle,
                             size_t* offset) {
  return Guarded(CallId::HcclCommSymWinGet, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!ptr) return Null("ptr");
    if (!winHandle) return Null("winHandle");
    if (!offset) return Null("offset");
    if (size == 0) return Fault(FaultKind::kBadValue, {0, 1, UINT64_MAX}, "size");
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    if (!(*c)->connected()) {  // without members there is no window
      if (const char* why = (*c)->no_windows())
        return Fault(FaultKind::kNotSupported, why).WithCode(HCCL_E_PTR);
      return Fault(FaultKind::kWindowNotFound, {reinterpret_cast<uintptr_t>(ptr), size});
    }
    uint64_t at = 0;
    Result<uint64_t> window = (*c)->windows().Find(ptr, size, &at);
    if (!window.ok()) return window.fault();
    void* handle = HandleOfWindow(**c, *window);
    if (!handle) return Fault(FaultKind::kWindowNotFound, {reinterpret_cast<uintptr_t>(ptr), size});
    *winHandle = handle;
    *offset = at;
    return Fault::None();
  });
}

HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank,
                                    void** ptr) {
  return Guarded(CallId::HcclSymWinGetPeerPointer, [&]() -> Fault {
    if (!winHandle) return Null("winHandle");
    if (!ptr) return Null("ptr");
    Result<WindowRef> ref = FindWindow(winHandle);
    if (!ref.ok()) return ref.fault();
    Result<char*> pointer = ref->comm->windows().PeerPointer(ref->window, offset, peerRank);
    if (!pointer.ok()) return std::move(pointer.fault()).SaidBy(ref->comm->speaker());
    *ptr = *pointer;
    return Fault::None();
  });
}

}  // extern "C"
