#include "launcher/call_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/call.h"
#include "collective/types.h"

namespace hcclrun {
namespace {

// ", rank 5 of the job" where a rank of the call's communicator has another number there.
std::string InJob(const JobHistory& history, int rank, const RecordedCall& call, uint32_t member) {
  const RecordedCommunicator* c = history.rank(rank).communicator(call.comm);
  const JobHistory::Member known = c ? history.MemberOf(c->key, member) : JobHistory::Member();
  if (known.rank < 0 || static_cast<uint32_t>(known.rank) == member ||
      history.HasThreadsAsRanks(c->key))
    return "";
  return absl::StrCat("rank ", known.rank, " of the job");
}

std::string NameOf(const JobHistory& history, int rank, const RecordedCall& call,
                   bool with_number) {
  std::string text = CallName(static_cast<CallId>(call.call));
  const std::string number = with_number ? absl::StrCat(" #", call.sequence + 1) : "";
  switch (call.kind) {
    case OperationRecord::kCollective:
      text += number;
      break;
    case OperationRecord::kSend:
      absl::StrAppend(&text, ": send", number, " to rank ", call.peer);
      break;
    case OperationRecord::kReceive:
      absl::StrAppend(&text, ": receive", number, " from rank ", call.peer);
      break;
    case OperationRecord::kLocal:
      break;
  }
  absl::StrAppend(&text, " of ", CommunicatorText(history.rank(rank), call.comm));
  if (call.kind == OperationRecord::kLocal && with_number)
    absl::StrAppend(&text, " after ", call.sequence,
                    call.sequence == 1 ? " operation" : " operations");
  return text;
}

std::string InParentheses(const std::vector<std::string>& facts) {
  return facts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(facts, ", "), ")");
}

}  // namespace

std::string Text(const JobHistory& history, int rank, const RecordedCall& call) {
  std::vector<std::string> facts;
  if (call.transfer()) {
    const std::string peer = InJob(history, rank, call, call.peer);
    if (!peer.empty()) facts.push_back(peer);
  }
  return NameOf(history, rank, call, true) + InParentheses(facts);
}

std::string KindText(const JobHistory& history, int rank, const RecordedCall& call) {
  return NameOf(history, rank, call, false);
}

std::string TextWithFacts(const JobHistory& history, int rank, const RecordedCall& call) {
  if (call.kind == OperationRecord::kLocal || call.count == 0) return Text(history, rank, call);
  std::vector<std::string> facts = {
      absl::StrCat(call.count, " ", Name(static_cast<DataType>(call.dtype)))};
  if (call.reduces()) facts.push_back(Name(static_cast<ReduceOp>(call.reduce_op)));
  if (call.collective() && call.peer != kNoPeer) {
    const std::string in_job = InJob(history, rank, call, call.peer);
    facts.push_back(absl::StrCat("root ", call.peer,
                                 in_job.empty() ? "" : absl::StrCat(", which is ", in_job)));
  }
  if (call.transfer()) {
    const std::string peer = InJob(history, rank, call, call.peer);
    if (!peer.empty()) facts.push_back(absl::StrCat("peer: ", peer));
  }
  return NameOf(history, rank, call, true) + InParentheses(facts);
}

std::string MemberText(const JobHistory& history, const RecordedCommunicator& c, uint32_t member) {
  const JobHistory::Member known = history.MemberOf(c.key, member);
  if (known.rank < 0 || history.HasThreadsAsRanks(c.key))
    return absl::StrCat("rank ", member, " of the communicator");
  if (static_cast<uint32_t>(known.rank) == member) return absl::StrCat("rank ", member);
  return absl::StrCat("rank ", known.rank, " (rank ", member, " of the communicator)");
}

std::string CommunicatorText(const RankHistory& rank, uint32_t comm) {
  const RecordedCommunicator* c = rank.communicator(comm);
  return c ? absl::StrCat("communicator ", c->name) : "a communicator";
}

std::string Seconds(int64_t ns) {
  const int64_t tenths = std::max<int64_t>(ns, 0) / 100'000'000;
  return absl::StrCat(tenths / 10, ".", tenths % 10, " s");
}

}  // namespace hcclrun
