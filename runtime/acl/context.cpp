// Contexts (semantics G.3).

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/stream.h"

using namespace hcclrun;

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return Answer(CallId::aclrtCreateContext, [&]() -> Fault {
    if (!context) return NullArgument("context");
    Result<std::shared_ptr<Context>> created = Context::CreateOn(deviceId);
    if (!created.ok()) return created.fault();
    *context = (*created)->handle();
    return Fault::None();
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return Answer(CallId::aclrtDestroyContext, [&]() -> Fault {
    if (!context) return NullArgument("context");
    return Context::Destroy(context);
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return Answer(CallId::aclrtSetCurrentContext, [&]() -> Fault {
    if (!context) return NullArgument("context");
    Result<std::shared_ptr<Context>> found = Context::From(context);
    if (!found.ok()) return found.fault();
    Context::SetCurrent(*found);
    return Fault::None();
  });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return Answer(CallId::aclrtCtxGetCurrentDefaultStream, [&]() -> Fault {
    if (!stream) return NullArgument("stream");
    Result<std::shared_ptr<Context>> context = Context::Current();
    if (!context.ok()) return context.fault();
    *stream = (*context)->DefaultStream()->handle();
    return Fault::None();
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return Answer(CallId::aclrtGetCurrentContext, [&]() -> Fault {
    if (!context) return NullArgument("context");
    Result<std::shared_ptr<Context>> current = Context::Current();
    if (!current.ok()) return current.fault();
    *context = (*current)->handle();
    return Fault::None();
  });
}
