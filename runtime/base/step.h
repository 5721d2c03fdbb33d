#pragma once
// Named steps of the protocols between ranks, at which tests kill, stop or delay a rank. They exist
// only in the core that tests/faults builds for itself (HCCLRUN_STEPS); anywhere else a step is
// nothing at all.

#ifdef HCCLRUN_STEPS
namespace hcclrun {
void AtStep(const char* name);
}  // namespace hcclrun
#define HCCLRUN_STEP(name) ::hcclrun::AtStep(name)
#else
#define HCCLRUN_STEP(name) static_cast<void>(0)
#endif
