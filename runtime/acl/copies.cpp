// Copies and fills, at once and in streams.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/copy.h"
#include "device/host_registration.h"
#include "device/memory_map.h"

namespace hcclrun {
namespace {

Fault CheckCopyArguments(const void* dst, size_t destMax, const void* src, size_t count) {
  if (!dst) return NullArgument("dst");
  if (!src) return NullArgument("src");
  if (count > destMax)
    return Fault(FaultKind::kCopyTooLong, {count, destMax}).WithCode(ACL_ERROR_INVALID_PARAM);
  return NeedContext();
}

Fault CheckFillArguments(const void* devPtr, size_t maxCount, size_t count) {
  if (!devPtr) return NullArgument("devPtr");
  if (count > maxCount)
    return Fault(FaultKind::kCopyTooLong, {count, maxCount}).WithCode(ACL_ERROR_INVALID_PARAM);
  return NeedContext();
}

// Arrays of the batch calls.
struct Batch {
  void** dsts;
  size_t* maxima;
  void** srcs;
  size_t* sizes;
  size_t count;
  aclrtMemcpyBatchAttr* attributes;
  size_t* indexes;
  size_t attribute_count;
  size_t* fail_index;
};

Fault CheckBatch(const Batch& batch) {
  if (!batch.fail_index) return NullArgument("failIndex");
  *batch.fail_index = SIZE_MAX;
  if (!batch.dsts) return NullArgument("dsts");
  if (!batch.maxima) return NullArgument("destMaxs");
  if (!batch.srcs) return NullArgument("srcs");
  if (!batch.sizes) return NullArgument("sizes");
  if (!batch.attributes) return NullArgument("attrs");
  if (!batch.indexes) return NullArgument("attrsIndexes");
  if (batch.count == 0) return ZeroArgument("numBatches");
  if (batch.attribute_count == 0) return ZeroArgument("numAttrs");
  for (size_t i = 0; i < batch.attribute_count; i++) {
    const size_t lowest = i == 0 ? 0 : batch.indexes[i - 1] + 1;
    const size_t highest = i == 0 ? 0 : batch.count - 1;
    if (batch.indexes[i] < lowest || batch.indexes[i] > highest)
      return Fault(FaultKind::kBadValue, {batch.indexes[i], lowest, highest}, "attrsIndexes");
    for (int type :
         {RawValue(batch.attributes[i].dstLoc.type), RawValue(batch.attributes[i].srcLoc.type)}) {
      if (type != ACL_MEM_LOCATION_TYPE_HOST && type != ACL_MEM_LOCATION_TYPE_DEVICE)
        return Fault(FaultKind::kBadEnum, {uint64_t(type)}, "attrs.type");
    }
  }
  return NeedContext();
}

CopyKind KindOf(const aclrtMemcpyBatchAttr& attribute) {
  const bool from_device = attribute.srcLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  const bool to_device = attribute.dstLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (from_device) return to_device ? CopyKind::kDeviceToDevice : CopyKind::kDeviceToHost;
  return to_device ? CopyKind::kHostToDevice : CopyKind::kHostToHost;
}

// Calls `copy(dst, src, bytes, kind)` for one entry after the other until one fails.
template <class CopyOne>
Fault ForEachCopy(const Batch& batch, CopyOne&& copy) {
  size_t attribute = 0;
  for (size_t i = 0; i < batch.count; i++) {
    while (attribute + 1 < batch.attribute_count && batch.indexes[attribute + 1] <= i) attribute++;
    Fault fault = CheckCopyArguments(batch.dsts[i], batch.maxima[i], batch.srcs[i], batch.sizes[i]);
    if (!fault)
      fault =
          copy(batch.dsts[i], batch.srcs[i], batch.sizes[i], KindOf(batch.attributes[attribute]));
    if (!fault) continue;
    *batch.fail_index = i;
    return fault;
  }
  return Fault::None();
}

Fault CheckMatrix(const CopyRows& copy) {
  if (!copy.destination) return NullArgument("dst");
  if (!copy.source) return NullArgument("src");
  if (copy.width == 0) return ZeroArgument("width");
  if (copy.rows == 0) return ZeroArgument("height");
  for (uint64_t pitch : {copy.destination_pitch, copy.source_pitch}) {
    if (copy.width > pitch) return InvalidArgument(copy.width, 1, pitch, "width");
  }
  return NeedContext();
}

// Host memory that may be gone when a queued copy runs.
bool IsPageable(const void* address) {
  return FindMemory(address).kind == MemoryKind::kNone && !IsKnownHostMemory(address);
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return Answer(CallId::aclrtMemcpy, [&]() -> Fault {
    if (Fault f = CheckCopyArguments(dst, destMax, src, count)) return f;
    Device::LetStreamsCatchUp();
    return Copy(dst, src, count, static_cast<CopyKind>(RawValue(kind)));
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return Answer(CallId::aclrtMemcpyAsync, [&]() -> Fault {
    if (Fault f = CheckCopyArguments(dst, destMax, src, count)) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return CopyInStream(*s, dst, src, count, static_cast<CopyKind>(RawValue(kind)));
    });
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return Answer(CallId::aclrtMemset, [&]() -> Fault {
    if (Fault f = CheckFillArguments(devPtr, maxCount, count)) return f;
    Device::LetStreamsCatchUp();
    return Fill(devPtr, value, count);
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  return Answer(CallId::aclrtMemsetAsync, [&]() -> Fault {
    if (Fault f = CheckFillArguments(devPtr, maxCount, count)) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return FillInStream(*s, devPtr, value, count);
    });
  });
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
  return Answer(CallId::aclrtMemcpyAsyncWithCondition, [&]() -> Fault {
    if (Fault f = CheckCopyArguments(dst, destMax, src, count)) return f;
    if (RawValue(kind) == ACL_MEMCPY_HOST_TO_HOST)
      return Fault(FaultKind::kNotSupported, "a queued copy from host to host");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      const bool wait = IsPageable(dst) || IsPageable(src);
      Fault fault = CopyInStream(*s, dst, src, count, static_cast<CopyKind>(RawValue(kind)));
      if (!fault && wait) s->WaitQueued();
      return fault;
    });
  });
}

aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                          size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                          size_t numAttrs, size_t* failIndex) {
  return Answer(CallId::aclrtMemcpyBatch, [&]() -> Fault {
    const Batch batch = {dsts,  destMaxs,     srcs,     sizes,    numBatches,
                         attrs, attrsIndexes, numAttrs, failIndex};
    if (Fault f = CheckBatch(batch)) return f;
    Device::LetStreamsCatchUp();
    return ForEachCopy(batch, Copy);
  });
}

aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                               size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                               size_t numAttrs, size_t* failIndex, aclrtStream stream) {
  return Answer(CallId::aclrtMemcpyBatchAsync, [&]() -> Fault {
    const Batch batch = {dsts,  destMaxs,     srcs,     sizes,    numBatches,
                         attrs, attrsIndexes, numAttrs, failIndex};
    if (Fault f = CheckBatch(batch)) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      bool wait = false;
      Fault fault =
          ForEachCopy(batch, [&](void* dst, const void* src, uint64_t bytes, CopyKind kind) {
            wait = wait || IsPageable(dst) || IsPageable(src);
            return CopyInStream(*s, dst, src, bytes, kind);
          });
      if (wait) s->WaitQueued();
      return fault;
    });
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  return Answer(CallId::aclrtMemcpy2d, [&]() -> Fault {
    const CopyRows copy = {dst, dpitch, src, spitch, width, height};
    if (Fault f = CheckMatrix(copy)) return f;
    Device::LetStreamsCatchUp();
    return CopyMatrix(copy, static_cast<CopyKind>(RawValue(kind)));
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return Answer(CallId::aclrtMemcpy2dAsync, [&]() -> Fault {
    const CopyRows copy = {dst, dpitch, src, spitch, width, height};
    if (Fault f = CheckMatrix(copy)) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return CopyMatrixInStream(*s, copy, static_cast<CopyKind>(RawValue(kind)));
    });
  });
}

aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
  return Answer(CallId::aclrtCmoAsync, [&]() -> Fault {
    if (!src) return NullArgument("src");
    if (size == 0) return ZeroArgument("size");
    const int type = RawValue(cmoType);
    if (type < ACL_RT_CMO_TYPE_PREFETCH || type > ACL_RT_CMO_TYPE_FLUSH)
      return Fault(FaultKind::kBadEnum, {uint64_t(type)}, "cmoType");
    if (type != ACL_RT_CMO_TYPE_PREFETCH)
      return Fault(FaultKind::kNotSupported, "a cache operation other than prefetch");
    return WithStream(
        stream, [&](const std::shared_ptr<Stream>&) { return CheckDeviceRange(src, size, "src"); });
  });
}
