#pragma once
// `hcclrun doctor`: what this machine allows, each item tried rather than guessed, with what to do
// about it.

namespace hcclrun {

// Prints the findings; 1 when something makes hcclrun unusable, otherwise 0.
int RunDoctor();

}  // namespace hcclrun
