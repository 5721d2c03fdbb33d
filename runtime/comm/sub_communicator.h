#pragma once
// Communicators of some ranks of another one (semantics D.6). Making one is local: members find
// each other by a root info that all of them derive from what only members of the parent know, the
// list of ranks, the id, the name, and how many of that kind the rank has made. A rank that passed
// something else is therefore never met, and is missed by the first operation.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fault.h"
#include "comm/communicator.h"

namespace hcclrun {

// `ranks`: the members, as ranks of the parent, in the order of their sub ranks; `rank` is
// the own sub rank. The parent need not have met its own members. An empty name in
// `config` becomes "<parent>_sub_<id>".
Result<std::shared_ptr<Communicator>> CreateSubCommunicator(
    const std::shared_ptr<Communicator>& parent, const std::vector<uint32_t>& ranks, uint64_t id,
    uint32_t rank, CommConfig config);

std::string SubCommunicatorName(const Communicator& parent, uint64_t id);

}  // namespace hcclrun
