#include "comm/rendezvous_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/rank_list.h"
#include "base/step.h"
#include "comm/control_block.h"
#include "comm/control_filling.h"
#include "comm/rendezvous.h"
#include "shm/lifeline.h"
#include "shm/memory_object.h"
#include "shm/process_watch.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

constexpr int64_t kReplyPatienceMs = 10'000;
// A derived root info is served by a rank that connects at once.
constexpr int64_t kFirstClientMs = 10'000;

class Server;

// The rendezvous that this process serves, by their sockets. They belong to it, and not to their threads
// alone, which nobody can join: one waits for a first rank as long as the process lives, and exit() must
// neither wait for ranks that never come nor end a rendezvous half-way whose ranks are elsewhere; it simply
// stops with the process, and whatever it holds is still to be found then. (Looks for memory that is lost
// at exit do not see everything that a thread has in its registers.)
struct Served {
  struct One {
    std::string reason;  // why it is to end, "" if it is not
    std::shared_ptr<Server> server;
  };
  std::mutex mutex;
  std::map<std::string, One> all;  // guarded by mutex

  static Served& Get() {
    static Served* served = new Served();
    return *served;
  }
};

void NoLongerServed(const std::string& socket, const Server* server) {
  Served& served = Served::Get();
  std::lock_guard<std::mutex> lock(served.mutex);
  const auto it = served.all.find(socket);
  if (it != served.all.end() && it->second.server.get() == server) served.all.erase(it);
}

// Runs on its own thread; owns every connection. Only this thread touches its members.
class Server {
 public:
  Server(UniqueFd listener, const RootInfo& info) : listener_(std::move(listener)), info_(info) {}

  void Run() {
    Fault& fault = fault_;
    fault = Gather();
    HCCLRUN_STEP("serve.gathered");
    if (!fault) fault = Equip();
    HCCLRUN_STEP("serve.equipped");
    if (!fault) fault = AwaitReady();
    HCCLRUN_STEP("serve.all_ready");
    if (fault.kind == FaultKind::kSystem)
      absl::StrAppend(&fault.text, " in process ", getpid(), ", which serves the root info");
    if (fault) {  // there must be descriptors to refuse those with who are not accepted yet
      spare_.Reset();
      for (Client& c : clients_) c.heap.Reset();
    }
    ServerPacket last = Packet(ServerPacket::kGo);
    if (fault) last = Refusal(fault);
    // Whoever tries this root info again, having its answer, finds nobody.
    if (!fault || derived()) listener_.Reset();
    // This process last: it may end as soon as it has its answer, and the others' must be on their
    // way by then.
    for (bool own : {false, true}) {
      for (Client& c : clients_) {
        if ((c.hello.pid == getpid()) != own) continue;
        Dismiss(c, last);
        HCCLRUN_STEP("serve.one_answered");
      }
    }
    for (Client& c : rejected_) Dismiss(c, last);
    if (fault && !derived()) RefuseLatecomers(last);
    NoLongerServed(info_.socket, this);
  }

 private:
  struct Client {
    UniqueFd socket;
    Hello hello;
    UniqueFd heap;
  };

  ServerPacket Packet(ServerPacket::What what) const {
    ServerPacket p;
    memset(&p, 0, sizeof p);
    p.magic = kRootInfoMagic;
    p.what = what;
    p.ranks = ranks_;
    return p;
  }

  ServerPacket Refusal(const Fault& fault) const {
    ServerPacket p = Packet(ServerPacket::kRefused);
    p.fault_kind = static_cast<uint32_t>(fault.kind);
    std::copy(fault.n.begin(), fault.n.end(), p.operands);
    strncpy(p.text, fault.text.c_str(), sizeof p.text - 1);
    return p;
  }

  void Reply(const Client& c, const ServerPacket& p, const std::vector<int>& fds) {
    SendPacket(c.socket.get(), &p, sizeof p, fds, Deadline::After(kReplyPatienceMs));
  }

  // The last packet. A socket that is closed with questions in it would take away from the client
  // what it has not read yet.
  void Dismiss(const Client& c, const ServerPacket& p) {
    shutdown(c.socket.get(), SHUT_RD);
    Ask ask;
    for (;;) {
      Result<size_t> got =
          ReceivePacket(c.socket.get(), &ask, sizeof ask, nullptr, Deadline::After(0));
      if (!got.ok() || *got == 0) break;
    }
    Reply(c, p, {});
  }

  bool derived() const { return info_.flags & kRootInfoDerived; }

  // Accepts ranks until all are there. The clock starts with the first; the ranks of a derived root
  // info have clocks of their own and are waited for as long as any of them is there.
  Fault Gather() {
    Deadline deadline = derived() ? Deadline::After(kFirstClientMs) : Deadline::Never();
    int64_t begin = 0, patience_ms = 0;
    while (ranks_ == 0 || clients_.size() < ranks_) {
      if (Fault f = Poll(deadline, clients_)) return f;
      for (size_t i = 0; i < clients_.size(); i++) {
        // A rank that waits for our answer sends nothing but questions: its connection ended.
        if (!polled_[1 + silent_.size() + i].revents || Answered(clients_[i])) continue;
        const Hello h = clients_[i].hello;
        clients_.erase(clients_.begin() + static_cast<ptrdiff_t>(i));
        return Fault(FaultKind::kRendezvousRefused,
                     absl::StrCat("rank ", h.rank, " (pid ", h.pid,
                                  derived() ? ") destroyed it, or ended, before all had come"
                                            : ") ended while the communicator was being made"));
      }
      Result<UniqueFd> socket = TakeSpeaking();
      if (!socket.ok()) return socket.fault();  // no descriptor is left: everybody learns that
      if (socket->valid()) {
        if (Fault f = Admit(std::move(*socket))) return f;
        if (derived()) {
          if (!clients_.empty()) deadline = Deadline::Never();
        } else if (ranks_ && deadline.never()) {
          patience_ms = clients_[0].hello.connect_timeout_ms;
          begin = NowNs();
          deadline = Deadline::After(patience_ms);
        }
      }
      if (Fault f = Cancellation()) {
        came_++;  // who cancelled it; nobody has to wait for that one
        return f;
      }
      if (Fault f = JobTrouble()) return f;
      if (deadline.passed()) return Missing(uint64_t(NowNs() - begin) / 1'000'000);
    }
    return Fault::None();
  }

  // Waits a while for the listener, for who has connected and for who has joined, in this order.
  Fault Poll(Deadline deadline, const std::vector<Client>& joined) {
    polled_.assign(1, {listener_.get(), POLLIN, 0});
    for (const UniqueFd& socket : silent_) polled_.push_back({socket.get(), POLLIN, 0});
    for (const Client& c : joined) polled_.push_back({c.socket.get(), POLLIN, 0});
    const int ms = static_cast<int>(deadline.Remaining(200'000'000) / 1'000'000) + 1;
    if (poll(polled_.data(), polled_.size(), ms) < 0 && errno != EINTR)
      return Fault(FaultKind::kSystem, {uint64_t(errno)}, "wait for ranks");
    return Fault::None();
  }

  // After Poll(): a connection that has its first packet, or is none any more; invalid if there is
  // none. A rank may be stopped between connecting and saying who it is: nobody waits for it.
  Result<UniqueFd> TakeSpeaking() {
    for (size_t i = 0; i < silent_.size(); i++) {
      if (!polled_[1 + i].revents) continue;
      UniqueFd socket = std::move(silent_[i]);
      silent_.erase(silent_.begin() + static_cast<ptrdiff_t>(i));
      return socket;
    }
    if (polled_[0].revents) {
      Result<UniqueFd> socket = AcceptSameUser(listener_.get(), Deadline::After(0));
      if (!socket.ok()) return socket;
      if (socket->valid()) silent_.push_back(std::move(*socket));
    }
    return UniqueFd();
  }

  Fault Cancellation() const {
    Served& served = Served::Get();
    std::lock_guard<std::mutex> lock(served.mutex);
    const auto it = served.all.find(info_.socket);
    if (it == served.all.end() || it->second.reason.empty()) return Fault::None();
    return Fault(FaultKind::kRendezvousRefused, it->second.reason);
  }

  // Whether what this client sent is a question; it has its answer then.
  bool Answered(const Client& c) {
    Ask ask;
    Result<size_t> got =
        ReceivePacket(c.socket.get(), &ask, sizeof ask, nullptr, Deadline::After(0));
    if (!got.ok() || *got != sizeof ask || ask.magic != kRootInfoMagic) return false;
    ServerPacket arrivals = Refusal(Missing(0));
    arrivals.what = ServerPacket::kArrivals;
    Reply(c, arrivals, {});
    return true;
  }

  // Under hcclrun: a rank of the job that has ended will not come.
  Fault JobTrouble() const {
    const JobPage* page = Lifeline::Page();
    if (!page) return Fault::None();
    if (uint32_t failed = page->aborting.load(std::memory_order_acquire)) {
      return Fault(FaultKind::kRendezvousRefused,
                   failed <= page->ranks
                       ? absl::StrCat("rank ", failed - 1, " of this job has failed")
                       : "the job is being ended");
    }
    // A communicator of the whole job has the job's ranks, as a rule one in each process.
    // One that went because of another comes last.
    const auto blames = [page](uint32_t r) { return page->activity[r].another.told(); };
    uint32_t gone = ranks_;
    for (uint32_t r = 0; ranks_ == page->ranks && r < ranks_; r++) {
      if (!page->activity[r].finished.load(std::memory_order_relaxed) || HasCome(r)) continue;
      if (gone == ranks_ || (blames(gone) && !blames(r))) gone = r;
    }
    if (gone == ranks_) return Fault::None();
    return Fault(FaultKind::kRendezvousRefused,
                 absl::StrCat("rank ", gone, " of this job has exited without joining it"));
  }

  bool HasCome(uint32_t rank) const {
    return std::any_of(clients_.begin(), clients_.end(),
                       [rank](const Client& c) { return c.hello.rank == rank; });
  }

  Fault Missing(uint64_t waited_ms) const {
    std::vector<uint32_t> came, missing;
    for (uint32_t r = 0; r < ranks_; r++) {
      (HasCome(r) ? came : missing).push_back(r);
    }
    std::string who = absl::StrCat("arrived: ", Ranks(came));
    if (!missing.empty()) absl::StrAppend(&who, "; missing: ", Ranks(missing));
    for (const UniqueFd& socket : silent_) {
      Result<PeerCredentials> peer = PeerOf(socket.get());
      if (peer.ok() && peer->pid && ProcessStopped(peer->pid))
        absl::StrAppend(&who, "; process ", peer->pid, " has connected and is stopped by a signal");
    }
    for (const Client& c : clients_) {  // it maps the others' memory, and they wait for it
      if (missing.empty() && ProcessStopped(c.hello.pid))
        absl::StrAppend(&who, "; rank ", c.hello.rank, " is stopped by a signal");
    }
    return Fault(FaultKind::kRanksMissing, {waited_ms, came.size(), ranks_}, who);
  }

  // Takes a connection's first packet, which is there. A stranger (wrong secret, other version) is turned away
  // alone: false. A fault if this process has no descriptor left to take a heap with.
  Result<bool> TakeHello(UniqueFd socket, Client* c) {
    c->socket = std::move(socket);
    memset(&c->hello, 0, sizeof c->hello);
    std::vector<UniqueFd> fds;
    Result<size_t> got = ReceivePacket(c->socket.get(), &c->hello, sizeof c->hello, &fds,
                                       Deadline::After(0));
    const bool no_descriptor =
        !got.ok() && got.fault().n[0] == EMFILE && fds.size() < kMaxFdsPerPacket;
    if (!no_descriptor && (!got.ok() || *got == 0)) return false;
    Hello& h = c->hello;
    Fault fault;
    h.secret[sizeof h.secret - 1] = 0;
    h.logic_superpod[sizeof h.logic_superpod - 1] = 0;
    if ((got.ok() && *got != sizeof h) || h.magic != kRootInfoMagic || h.layout != kLayoutVersion) {
      fault = Fault(FaultKind::kBuildMismatch, {h.layout, kLayoutVersion});
    } else if (strcmp(h.secret, info_.secret) != 0) {
      fault = Fault(FaultKind::kRootInfoInvalid, "its secret is wrong");
    } else if (h.ranks == 0 || h.ranks > kMaxRanks || h.rank >= h.ranks ||
               (got.ok() && fds.size() != 1)) {
      fault = Fault(FaultKind::kInternal, "malformed rendezvous packet");
    }
    if (fault) {
      Reply(*c, Refusal(fault), {});
      return false;
    }
    came_++;
    expected_ = std::max(expected_, h.ranks);
    if (no_descriptor) return got.fault();
    c->heap = std::move(fds[0]);
    return true;
  }

  // A rank that contradicts the others fails all. Not so with a derived root info, where it may be
  // of another job that has the same rank table: it is turned away alone.
  Fault Admit(UniqueFd socket) {
    Client c;
    Result<bool> belongs = TakeHello(std::move(socket), &c);
    if (!belongs.ok()) {
      rejected_.push_back(std::move(c));  // it learns the reason like the others
      return belongs.fault();
    }
    if (!*belongs) return Fault::None();
    const Hello& h = c.hello;
    Fault fault;
    if (ranks_ == 0) {
      ranks_ = h.ranks;
    } else if (h.ranks != ranks_) {
      fault = Fault(FaultKind::kSizeMismatch, {h.ranks, ranks_, h.rank, clients_[0].hello.rank});
    }
    for (const Client& other : clients_) {
      if (fault) break;
      if (other.hello.rank == h.rank) {
        fault = Fault(FaultKind::kRankTaken, {h.rank, uint64_t(other.hello.pid), uint64_t(h.pid)});
      } else if (other.hello.device == h.device && other.hello.server == h.server) {
        fault = Fault(FaultKind::kDuplicateDevice,
                      {std::min(other.hello.rank, h.rank), std::max(other.hello.rank, h.rank),
                       uint64_t(h.device), h.device_count});
      }
    }
    if (fault && derived()) {
      Reply(c, Refusal(fault), {});
      return Fault::None();
    }
    (fault ? rejected_ : clients_).push_back(std::move(c));
    return fault;
  }

  // Ranks that are still on their way learn the same reason, instead of finding nobody.
  void RefuseLatecomers(const ServerPacket& refusal) {
    const Deadline deadline =
        Deadline::After(clients_.empty() ? kReplyPatienceMs : clients_[0].hello.connect_timeout_ms);
    while (came_ < std::max(expected_, 1u)) {
      if (Poll(deadline, {})) return;
      Result<UniqueFd> socket = TakeSpeaking();
      if (!socket.ok() || deadline.passed()) return;
      if (!socket->valid()) continue;
      Client c;
      Result<bool> belongs = TakeHello(std::move(*socket), &c);
      if (!belongs.ok() || *belongs) Reply(c, refusal, {});
    }
  }

  Fault Equip() {
    std::sort(clients_.begin(), clients_.end(),
              [](const Client& a, const Client& b) { return a.hello.rank < b.hello.rank; });
    const uint64_t bytes = ControlView::BytesFor(ranks_);
    Result<MemoryObject> control = MemoryObject::Create(bytes);
    if (!control.ok()) return control.fault();
    control_ = std::move(*control);
    // All but the channels of sends and receives (transfers.cpp).
    if (Fault f = control_.EnsurePages(0, ControlView::FixedBytesFor(ranks_))) return f;
    Result<boost::interprocess::mapped_region> region = control_.Map();
    if (!region.ok()) return region.fault();
    std::vector<Hello> hellos;
    for (const Client& c : clients_) hellos.push_back(c.hello);
    FillControl(region->get_address(), bytes, hellos);

    std::vector<int> heaps;
    for (Client& c : clients_) heaps.push_back(c.heap.get());
    ServerPacket welcome = Packet(ServerPacket::kWelcome);
    welcome.control_bytes = bytes;
    for (Client& c : clients_) {
      Reply(c, welcome, {control_.fd()});
      for (size_t first = 0; first < heaps.size(); first += kMaxFdsPerPacket) {
        ServerPacket p = Packet(ServerPacket::kHeaps);
        p.first_rank = static_cast<uint32_t>(first);
        size_t end = std::min(first + kMaxFdsPerPacket, heaps.size());
        Reply(c, p,
              std::vector<int>(heaps.begin() + static_cast<ptrdiff_t>(first),
                               heaps.begin() + static_cast<ptrdiff_t>(end)));
      }
    }
    return Fault::None();
  }

  Fault AwaitReady() {
    Fault first;
    const Deadline deadline = Deadline::After(clients_[0].hello.connect_timeout_ms);  // of them all
    for (Client& c : clients_) {
      Ready ready;
      Result<size_t> got = size_t{0};
      do {  // late questions need no answer any more
        memset(&ready, 0, sizeof ready);
        got = ReceivePacket(c.socket.get(), &ready, sizeof ready, nullptr, deadline);
      } while (got.ok() && *got == sizeof(Ask));
      if (first) continue;
      if (!got.ok() || *got != sizeof ready || ready.magic != kRootInfoMagic) {
        first = Fault(FaultKind::kRendezvousRefused,
                      absl::StrCat("rank ", c.hello.rank, " (pid ", c.hello.pid,
                                   ") ended while the communicator was being made"));
      } else if (!ready.ok) {
        first = Fault(FaultKind::kRendezvousRefused,
                      absl::StrCat("rank ", c.hello.rank,
                                   " could not map the others' memory (see its message)"));
      }
    }
    return first;
  }

  UniqueFd listener_;
  UniqueFd spare_{open("/dev/null", O_RDONLY | O_CLOEXEC)};  // for the time when there is no other
  RootInfo info_;
  uint32_t ranks_ = 0;
  std::vector<UniqueFd> silent_;  // have connected and said nothing yet
  std::vector<Client> clients_;
  std::vector<Client> rejected_;
  uint32_t came_ = 0, expected_ = 0;  // ranks that have connected, the largest nRanks they gave
  MemoryObject control_;
  std::vector<pollfd> polled_;  // by Poll()
  Fault fault_;                 // why there is no communicator
};

}  // namespace

Fault ServeRendezvous(UniqueFd listener, const RootInfo& info) {
  auto server = std::make_shared<Server>(std::move(listener), info);
  {
    Served& served = Served::Get();
    std::lock_guard<std::mutex> lock(served.mutex);
    served.all[info.socket] = {"", server};
  }
  std::thread thread;
  if (Fault f = StartQuietThread([server] { server->Run(); }, &thread)) {
    NoLongerServed(info.socket, server.get());
    return f;
  }
  thread.detach();
  return Fault::None();
}

void CancelRendezvous(const RootInfo& info, const std::string& why) {
  Served& served = Served::Get();
  std::lock_guard<std::mutex> lock(served.mutex);
  const auto it = served.all.find(info.socket);
  if (it != served.all.end() && it->second.reason.empty()) it->second.reason = why;
}

}  // namespace hcclrun
