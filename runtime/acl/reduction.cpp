// Reduction of one range of device memory into another, in stream order.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "collective/kernels.h"
#include "device/memory_map.h"

namespace hcclrun {
namespace {

class ReductionTask : public Task {
 public:
  ReductionTask(void* destination, const void* source, uint64_t bytes, DataType type, ReduceOp op)
      : destination_(destination), source_(source), bytes_(bytes), type_(type), op_(op) {}
  Progress Advance(Fault* fault) override {
    // The memory may have been freed or unmapped since the call.
    *fault = CheckDeviceRange(destination_, bytes_, "dst");
    if (!*fault) *fault = CheckDeviceRange(source_, bytes_, "src");
    if (*fault) return Progress::kDone;
    void* const destinations[] = {EngineView(destination_)};
    const void* const sources[] = {destinations[0], EngineView(source_)};
    Reduce(type_, op_, destinations, 1, sources, 2, bytes_ / ElementSize(type_), false);
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool Uses(const MemoryInfo& memory) const override {
    return Overlaps(destination_, bytes_, memory) || Overlaps(source_, bytes_, memory);
  }
  const char* Name() const override { return "reduction"; }

 private:
  void* const destination_;
  const void* const source_;
  const uint64_t bytes_;
  const DataType type_;
  const ReduceOp op_;
};

// What Atlas A3's copy engine reduces.
Result<DataType> TypeOf(int type) {
  switch (type) {
    case ACL_INT8: return DataType::kInt8;
    case ACL_INT16: return DataType::kInt16;
    case ACL_INT32: return DataType::kInt32;
    case ACL_FLOAT16: return DataType::kFp16;
    case ACL_FLOAT: return DataType::kFp32;
    case ACL_BF16: return DataType::kBf16;
    default: return Fault(FaultKind::kNotSupported, "a reduction of this type");
  }
}

Result<ReduceOp> OpOf(int kind) {
  switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM: return ReduceOp::kSum;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX: return ReduceOp::kMax;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN: return ReduceOp::kMin;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL:
      return Fault(FaultKind::kNotSupported, "ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL");
    default: return Fault(FaultKind::kBadEnum, {uint64_t(kind)}, "kind");
  }
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtReduceAsync(void* dst, const void* src, uint64_t count, aclrtReduceKind kind,
                          aclDataType type, aclrtStream stream, void* reserve) {
  return Answer(CallId::aclrtReduceAsync, [&]() -> Fault {
    if (!dst) return NullArgument("dst");
    if (!src) return NullArgument("src");
    if (count == 0) return ZeroArgument("count");
    if (reserve) return InvalidArgument("reserve is not null; pass null");
    Result<ReduceOp> op = OpOf(RawValue(kind));
    if (!op.ok()) return op.fault();
    Result<DataType> element = TypeOf(RawValue(type));
    if (!element.ok()) return element.fault();
    if (count % ElementSize(*element)) {
      return NotAllowed(absl::StrCat("count is ", count, " bytes; it must be a multiple of ",
                                     ElementSize(*element), ", the size of an element"));
    }
    if (Fault f = CheckDeviceRange(dst, count, "dst")) return f;
    if (Fault f = CheckDeviceRange(src, count, "src")) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return s->Enqueue(std::make_unique<ReductionTask>(dst, src, count, *element, *op));
    });
  });
}
