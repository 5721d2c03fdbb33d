#pragma once
// The environment variables of HCCL and of the runtime that programs set (semantics E): their legal
// values and defaults. What they mean is elsewhere (comm/hccl_env); most mean nothing on this
// machine, but an illegal value is refused as on hardware.

#include <string>
#include <vector>

namespace hcclrun {

struct HcclVariable {
  const char* name;
  const char* otherwise;  // default, as text; "" when there is none
  const char* legal;      // behind "it must be"
  // May look at other variables.
  bool (*is_legal)(const std::string& value);
  // An illegal value is an error of the first HCCL call; otherwise the default is used.
  bool refused;
  const char* meaning;  // for people; what it does here
};

const std::vector<HcclVariable>& HcclVariables();

// A sentence about the first variable that is set to an illegal value that is refused; "" if all
// are fine.
std::string IllegalHcclVariable();

// Rules that configurations share with variables.
bool LegalAlgorithm(const std::string& value);    // HCCL_ALGO
bool LegalRetryEnable(const std::string& value);  // HCCL_OP_RETRY_ENABLE
bool LegalRetryParams(const std::string& value);  // HCCL_OP_RETRY_PARAMS

}  // namespace hcclrun
