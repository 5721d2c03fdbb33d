#include "comm/sub_communicator.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hcclrun {
namespace {

constexpr size_t kLongestName = 127;  // what HcclGetCommName has room for

}  // namespace

std::string SubCommunicatorName(const Communicator& parent, uint64_t id) {
  const std::string tail = absl::StrCat("_sub_", id);
  return parent.name().substr(0, kLongestName - tail.size()) + tail;
}

Result<std::shared_ptr<Communicator>> CreateSubCommunicator(
    const std::shared_ptr<Communicator>& parent, const std::vector<uint32_t>& ranks, uint64_t id,
    uint32_t rank, CommConfig config) {
  Recorder::Local(parent->record(), static_cast<uint32_t>(CallId::HcclCreateSubCommConfig));
  if (config.name.empty()) config.name = SubCommunicatorName(*parent, id);
  config.places = parent->config().places.Of(ranks);
  const std::string tail = absl::StrCat("sub ", id, " of ", absl::StrJoin(ranks, ","), " ",
                                        config.name);
  const RootInfo info = DeriveRootInfo(
      absl::StrCat(parent->key(), " ", tail, " ", parent->CountDerived(tail)));
  return Communicator::CreateUnmet(parent->device(), info, static_cast<uint32_t>(ranks.size()),
                                   rank, config, {parent, ranks});
}

}  // namespace hcclrun
