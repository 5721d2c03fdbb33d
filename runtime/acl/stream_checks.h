#pragma once

#include "device/context.h"
#include "device/stream.h"

namespace hcclrun {

// Whether the stream is the default stream of its context.
inline bool IsDefaultStream(const Stream& stream) {
  Result<std::shared_ptr<Context>> context =
      Context::From(reinterpret_cast<void*>(stream.context_id()));
  return context.ok() && (*context)->IsDefaultStream(&stream);
}

}  // namespace hcclrun
