#pragma once
// What another process may rewrite at any moment is copied before it is checked, and only the copy
// is used. A plain assignment does not say so: since nobody may write at the same time in the eyes
// of the language, a compiler may read the original again after the check.

#include <cstring>
#include <type_traits>

namespace hcclrun {

// The caller has seen what publishes the original (acquire); of one that is being rewritten the
// copy may be a mixture, which must pass the checks like anything else.
template <class T>
T PrivateCopy(const T& shared) {
  static_assert(std::is_trivially_copyable_v<T>);
  T copy;
  memcpy(&copy, &shared, sizeof copy);
  asm volatile("" : "+m"(copy));  // to the compiler: it may be anything now
  return copy;
}

}  // namespace hcclrun
