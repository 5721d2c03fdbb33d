#pragma once
// `hcclrun info`: the settings in force and where each comes from.

namespace hcclrun {

int RunInfo();

}  // namespace hcclrun
