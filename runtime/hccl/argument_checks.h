#pragma once
// Checks that operations share. Enumerations come as the numbers that the caller passed.

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "collective/types.h"
#include "comm/communicator.h"

namespace hcclrun {

inline constexpr uint64_t kMaxCount = 0x7FFFFFFFF;  // semantics C.1

inline Fault CheckCount(uint64_t count, const char* parameter) {
  return count > kMaxCount ? Fault(FaultKind::kBadValue, {count, 0, kMaxCount}, parameter)
                           : Fault::None();
}

inline Fault CheckType(int32_t value) {
  if (value < 0 || value > 255 || ElementSize(static_cast<DataType>(value)) == 0) {
    return Fault(FaultKind::kBadEnum, {uint64_t(int64_t{value})}, "dataType");
  }
  return Fault::None();
}

inline bool MayMove(int32_t type) {
  return type >= 0 && type <= 255 && ElementSize(static_cast<DataType>(type)) != 0 &&
         MovementSupported(static_cast<DataType>(type));
}
inline Fault CheckMovement(int32_t type) {
  if (MayMove(type)) [[likely]]
    return Fault::None();
  if (Fault f = CheckType(type)) return f;
  return Fault(FaultKind::kNotSupported,
               absl::StrCat("data type ", Name(static_cast<DataType>(type))));
}

inline Fault CheckReduction(uint64_t count, const char* parameter, int32_t type, int32_t op) {
  if (Fault f = CheckCount(count, parameter)) return f;
  if (Fault f = CheckType(type)) return f;
  if (op < 0 || op > 3) return Fault(FaultKind::kBadEnum, {uint64_t(int64_t{op}), 0, 3}, "op");
  const DataType t = static_cast<DataType>(type);
  const ReduceOp o = static_cast<ReduceOp>(op);
  if (!ReductionSupported(t, o)) {
    return Fault(FaultKind::kNotSupported,
                 absl::StrCat("the reduction ", Name(o), " of ", Name(t)));
  }
  return Fault::None();
}

inline Fault CheckRoot(const Communicator& comm, uint32_t root) {
  return root >= comm.size() ? Fault(FaultKind::kBadValue, {root, 0, comm.size() - 1}, "root")
                             : Fault::None();
}

}  // namespace hcclrun
