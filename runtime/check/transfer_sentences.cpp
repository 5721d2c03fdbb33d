#include "check/transfer_sentences.h"

#include "absl/strings/str_cat.h"
#include "base/call.h"
#include "check/details.h"
#include "check/numbering.h"
#include "check/peer_doing.h"
#include "collective/types.h"
#include "comm/details.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

const TransferDetail* Of(const Fault& f) {
  return dynamic_cast<const TransferDetail*>(f.detail.get());
}

// "transfer #3 from rank 0 to rank 1 of communicator world"
std::string Transfer(const TransferDetail& d) {
  return absl::StrCat("transfer #", d.transfer + 1, " from rank ", d.sender.position.rank,
                      " to rank ", d.receiver.position.rank, " of communicator ", d.communicator);
}

// "HcclSend (4 elements of fp32)"
std::string Call(const TransferDetail::Side& side) {
  return absl::StrCat(CallName(static_cast<CallId>(side.call.call)), " (", side.call.count,
                      side.call.count == 1 ? " element of " : " elements of ",
                      Name(static_cast<DataType>(side.call.dtype)), ")");
}

std::string Numbering(const TransferDetail& d) {
  return hcclrun::Numbering(d.communicator, {d.sender.position, d.receiver.position});
}

const char* Plural(uint64_t n) { return n == 1 ? "" : "s"; }

}  // namespace

std::string TransferMismatchSentence(const Fault& f) {
  const TransferDetail* d = Of(f);
  if (!d) return "a send and its receive do not match";
  for (const TransferDetail::Side* side : {&d->sender, &d->receiver}) {
    if (!side->call.is_skipped) continue;
    return absl::StrCat(
        Transfer(*d), " was skipped by rank ", side->position.rank,
        ", whose stream stops after a failure and had one before; it failed on both "
        "ends and nothing was moved. See the message of that rank",
        Numbering(*d));
  }
  return absl::StrCat(
      Transfer(*d), " differs between its ends: rank ", d->sender.position.rank, " sends with ",
      Call(d->sender), ", rank ", d->receiver.position.rank, " receives with ", Call(d->receiver),
      "; nothing was moved. Sends and receives of a pair meet in the order of their "
      "calls: give both ends the same count and data type",
      Numbering(*d));
}

std::string TransferToldElsewhere(const Fault& f) {
  const TransferDetail* d = Of(f);
  if (!d || !d->claim_telling || d->sender.call.is_skipped || d->receiver.call.is_skipped)
    return "";
  const uint32_t teller = d->claim_telling();
  if (teller == kNoRank) return "";
  const bool sends = d->own_rank == d->sender.position.rank;
  const TransferDetail::Side &mine = sends ? d->sender : d->receiver,
                             &other = sends ? d->receiver : d->sender;
  return absl::StrCat(Transfer(*d), " differs between its ends; this rank ",
                      sends ? "sends" : "receives", " with ", Call(mine), ". The message of rank ",
                      teller, InJob(other.position), " has the whole of it");
}

std::string TransferTimeoutSentence(const Fault& f, bool still) {
  const TransferDetail* d = Of(f);
  if (!d) return "a transfer waited too long for its peer";
  const std::string waited = absl::StrCat(Transfer(*d), still ? " has waited " : " waited ",
                                          f.n[1] / 1000, ".", f.n[1] % 1000 / 100, " s");
  if (d->sender.posted && d->receiver.posted)
    return absl::StrCat(waited, " although both ranks are there: ",
                        ProcessStopped(d->sender.position.pid) ? "the sender is stopped by a signal"
                        : ProcessStopped(d->receiver.position.pid)
                            ? "the receiver is stopped by a signal"
                            : "one is stopped or very slow",
                        Numbering(*d));
  const bool sends = d->own_rank == d->sender.position.rank && d->sender.posted;
  const TransferDetail::Side& peer = sends ? d->receiver : d->sender;
  std::string s = absl::StrCat(waited, " for rank ", peer.position.rank, " ", Where(peer.position),
                               ", which has called ", peer.called, sends ? " receive" : " send",
                               Plural(peer.called), sends ? " from" : " to", " rank ", d->own_rank);
  absl::StrAppend(&s, peer.called > d->transfer
                          ? "; its stream has not come to this one: look for crossed sends and "
                            "receives or for an event it waits for"
                      : still ? "; it goes on waiting until HCCL_EXEC_TIMEOUT"
                              : "; make it call the matching one, or raise HCCL_EXEC_TIMEOUT");
  const std::string doing = PeerDoing(peer.position.pid);
  if (peer.position.state == RankState::kAlive && !doing.empty())
    absl::StrAppend(&s, ". Rank ", peer.position.rank, " is ", doing);
  return s + Numbering(*d);
}

std::string TransferGoneSentence(const Fault& f) {
  const TransferDetail* d = Of(f);
  if (!d) return "the peer of a transfer has left";
  const bool sends = d->own_rank == d->sender.position.rank;
  const TransferDetail::Side& peer = sends ? d->receiver : d->sender;
  return absl::StrCat("rank ", f.n[0], " (pid ", f.n[1], ") ", Where(peer.position),
                      " cannot come to ", Transfer(*d), " any more; it has called ", peer.called,
                      sends ? " receive" : " send", Plural(peer.called), sends ? " from" : " to",
                      " rank ", d->own_rank, Numbering(*d));
}

}  // namespace hcclrun
