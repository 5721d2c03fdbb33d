// Element sizes, half-precision numbers and descriptions of buffers. Nothing here needs a device.

#include <cmath>
#include <cstring>
#include <new>

#include "acl/acl_rt.h"
#include "acl/boundary.h"

using namespace hcclrun;

struct aclDataBuffer {
  void* data;
  size_t size;
};

size_t aclDataTypeSize(aclDataType dataType) {
  switch (RawValue(dataType)) {
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
    case ACL_INT4:
    case ACL_UINT1:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
  }
  return 0;
}

// Exponent 31 is an ordinary exponent here: the device's conversion has no Inf and no NaN.
float aclFloat16ToFloat(aclFloat16 value) {
  const int exponent = value >> 10 & 0x1f, fraction = value & 0x3ff;
  const float magnitude = exponent ? ldexpf(static_cast<float>(fraction | 0x400), exponent - 25)
                                   : ldexpf(static_cast<float>(fraction), -24);
  return value & 0x8000 ? -magnitude : magnitude;
}

aclFloat16 aclFloatToFloat16(float value) {
  constexpr uint32_t kLargest = 0x7bff;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000;
  const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127 + 15;
  if (exponent >= 31) return static_cast<aclFloat16>(sign | kLargest);
  // The significand with its hidden bit, to be cut by 13 bits, and by more where the
  // result is subnormal.
  uint32_t significand = bits & 0x7fffff;
  if (bits >> 23 & 0xff) significand |= 0x800000;
  const int cut = exponent > 0 ? 13 : 14 - exponent;
  if (cut > 25) return static_cast<aclFloat16>(sign);
  const uint32_t rest = significand & ((1u << cut) - 1), half = 1u << (cut - 1);
  uint32_t result = significand >> cut;
  if (rest > half || (rest == half && (result & 1))) result++;
  // The hidden bit counts as one exponent; a carry out of the significand raises it, as it should.
  if (exponent > 0) result += static_cast<uint32_t>(exponent - 1) << 10;
  return static_cast<aclFloat16>(sign | (result > kLargest ? kLargest : result));
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return new (std::nothrow) aclDataBuffer{data, size};
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return Answer(CallId::aclDestroyDataBuffer, [&]() -> Fault {
    if (!dataBuffer) return NullArgument("dataBuffer");
    delete dataBuffer;
    return Fault::None();
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return Answer(CallId::aclUpdateDataBuffer, [&]() -> Fault {
    if (!dataBuffer) return NullArgument("dataBuffer");
    *dataBuffer = {data, size};
    return Fault::None();
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return dataBuffer ? dataBuffer->data : nullptr;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return dataBuffer ? dataBuffer->size : 0;
}
