#include "base/soc.h"

namespace hcclrun {
namespace {

constexpr char kA3[] = "Ascend910_93", kA2[] = "Ascend910B", k950[] = "Ascend950";

bool BeginsWith(const std::string& text, const char* beginning) {
  return text.rfind(beginning, 0) == 0;
}

}  // namespace

bool IsSocName(const std::string& name) {
  // Those of the 950 series are many.
  if (BeginsWith(name, k950)) return true;
  for (const char* known :
       {"Ascend910PremiumA", "Ascend910ProA",  "Ascend910A",     "Ascend910ProB",  "Ascend910B",
        "Ascend910B1",       "Ascend910B2",    "Ascend910B3",    "Ascend910B4",    "Ascend910B2C",
        "Ascend910B4-1",     "Ascend910_9391", "Ascend910_9392", "Ascend910_9381", "Ascend910_9382",
        "Ascend910_9372",    "Ascend910_9362", "Ascend910_9363", "Ascend310P1",    "Ascend310P2",
        "Ascend310P3",       "Ascend310P4",    "Ascend310P5",    "Ascend310P7",    "Ascend310B1",
        "Ascend310B2",       "Ascend310B3",    "Ascend310B4"}) {
    if (name == known) return true;
  }
  return false;
}

std::string SocFamily(const std::string& name) {
  for (const char* family : {kA3, kA2, "Ascend310P", "Ascend310B", k950}) {
    // "Ascend910B" alone is an older chip that no other one is compatible with.
    if (BeginsWith(name, family) && name != kA2) return family;
  }
  return name;
}

bool IsAtlasA3(const std::string& name) { return SocFamily(name) == kA3; }
bool IsAtlasA2(const std::string& name) { return name != kA2 && SocFamily(name) == kA2; }

}  // namespace hcclrun
