#pragma once
// Names of chips. What is emulated is an Atlas A3, which alone has symmetric windows and zero-copy
// memory as here (semantics A.3 step 8, A.10 item 4, D.10); the job may play another chip
// (HCCLRUN_SOC, hcclrun --soc), so that programs that ask can be tested on one without.

#include <string>

namespace hcclrun {

inline constexpr char kDefaultSoc[] = "Ascend910_9391";
inline constexpr char kSocNames[] =
    "the name of a chip, such as Ascend910_9391 (Atlas A3), Ascend910B3 (Atlas A2), Ascend910A, "
    "Ascend310P3 or one that begins with Ascend950";

bool IsSocName(const std::string& name);
// What the names of compatible chips begin with: "Ascend910_93", "Ascend910B".
std::string SocFamily(const std::string& name);
bool IsAtlasA3(const std::string& name);
bool IsAtlasA2(const std::string& name);

}  // namespace hcclrun
