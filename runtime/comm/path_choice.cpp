#include "comm/path_choice.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/settings.h"
#include "collective/plan.h"
#include "comm/hccl_env.h"
#include "comm/v_arguments.h"
#include "comm/zero_copy.h"

namespace hcclrun {

bool IsStrict(const Communicator& comm, const OpRequest& request) {
  const bool floating = request.dtype == DataType::kFp16 || request.dtype == DataType::kFp32 ||
                        request.dtype == DataType::kBf16;
  return comm.config().strict && comm.size() >= 3 && floating && !request.v &&
         (request.op == Op::kAllReduce || request.op == Op::kReduceScatter) &&
         (request.reduce_op == ReduceOp::kSum || request.reduce_op == ReduceOp::kProd);
}

Fault CheckStrict(const Communicator& comm, const OpRequest& request) {
  if (!IsStrict(comm, request)) return Fault::None();
  if (request.reduce_op == ReduceOp::kProd) {
    return Fault(FaultKind::kNotSupported,
                 "prod of floating-point numbers with HCCL_DETERMINISTIC=strict");
  }
  const char* why = comm.config().places.StrictRefused(HcclEnv::Get().inter_hccs_disable);
  return why ? Fault(FaultKind::kNotSupported, why) : Fault::None();
}

PathChoice ChoosePath(Communicator& comm, const OpRequest& request, const Buffer& in,
                      const Buffer& out) {
  PathChoice choice;
  auto no = [&choice](const char* why) {
    choice.reason = why;
    return choice;
  };
  // Zero-copy memory is eligible like a window, and Broadcast with it; windows win where
  // both hold (A.10).
  const bool active = request.op != Op::kAllToAll && request.op != Op::kBarrier &&
                      ZeroCopyRanges::Get().IsActive(in.address, in.bytes) &&
                      ZeroCopyRanges::Get().IsActive(out.address, out.bytes) &&
                      comm.config().places.one_server();  // D.10
  const bool direct = Settings::Get().direct || active;
  if (!UsesWindows(request.op) && !(active && request.op == Op::kBroadcast) &&
      !Settings::Get().direct)
    return no("item 1: the operation never uses windows");
  if (comm.config().expansion != Expansion::kAiCpu) return no("item 2: AI CPU expansion is off");
  if (comm.size() == 1) return no("item 2: a communicator of one rank has no window path");
  if (IsReduction(request.op) && !WindowReduction(request.dtype, request.reduce_op)) {
    return no(
        "item 2: the reduction is not one of the SDMA engine (int8, int16, int32, fp16, fp32, bf16 "
        "with sum, max, min)");
  }
  if (comm.no_window_path()) return no(comm.no_window_path());  // items 4 to 6
  if (in.is_private || out.is_private)
    return no("item 7: a buffer spans several mappings or is not of this device");
  if (!direct && in.bytes && in.window_offset == kNoWindow)
    return no("item 7: the input is not in a registered window");
  if (!direct && out.bytes && out.window_offset == kNoWindow)
    return no("item 7: the output is not in a registered window");
  if (IsStrict(comm, request)) return no("item 8: HCCL_DETERMINISTIC=strict has other algorithms");
  choice.window = true;
  OpShape shape;
  shape.op = request.op;
  shape.path = Path::kWindow;
  shape.ranks = comm.size();
  shape.root = request.root;
  shape.count = request.count;
  shape.elem = ElementSize(request.dtype);
  if (request.v) shape.layout = &request.v->layout;
  if (in.bytes && out.bytes &&
      !InPlaceSafe(shape, ClassifyAliasing(shape, comm.rank(), in.heap_offset, out.heap_offset))) {
    choice.unsafe = true;
    choice.reason = "the buffers overlap: the input is staged";
  }
  return choice;
}

void Explain(Communicator& comm, const OpRequest& request, uint64_t sequence,
             const PathChoice& choice) {
  const bool window = choice.window && !choice.unsafe;
  Tell(LogLevel::kInfo,
       absl::StrCat(CallName(request.call), " #", sequence + 1, " on ", comm.shown_name(), ": ",
                    window ? "window path" : "buffered path", window ? "" : " because of ",
                    window ? "" : choice.reason),
       comm.speaker());
}

}  // namespace hcclrun
