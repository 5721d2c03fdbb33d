#include "comm/sub_communicator.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hcclrun {
namespace {

constexpr size_t kLongestName = 127;  // what HcclGetCommName has room for

// Reports can name those that do not come.
void RecordMembers(const Communicator& comm, const Communicator& parent,
                   const std::vector<uint32_t>& ranks) {
  if (!Recorder::Mine() || !parent.connected()) return;
  for (uint32_t r : ranks) {
    const int job_rank = parent.job_rank(r);
    if (job_rank >= 0) Recorder::Expect(comm.record(), static_cast<uint32_t>(job_rank));
  }
}

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
  Result<std::shared_ptr<Communicator>> comm = Communicator::CreateUnmet(
      parent->device(), info, static_cast<uint32_t>(ranks.size()), rank, config, {parent, ranks});
  if (comm.ok()) RecordMembers(**comm, *parent, ranks);
  return comm;
}

}  // namespace hcclrun
