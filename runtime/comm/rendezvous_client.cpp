#include "comm/rendezvous_client.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>

#include "absl/strings/str_cat.h"
#include "base/step.h"
#include "comm/abort.h"
#include "comm/control_mapping.h"
#include "comm/rendezvous_server.h"
#include "shm/lifeline.h"
#include "shm/private_copy.h"
#include "shm/process_watch.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

// What the server may need beyond the ranks' patience before it answers.
constexpr int64_t kSlackMs = 15'000;

Fault FaultOf(uint32_t kind, const uint64_t (&operands)[6], std::string text) {
  Fault fault(kind > 0 && kind <= uint32_t(FaultKind::kInternal) ? static_cast<FaultKind>(kind)
                                                                 : FaultKind::kInternal,
              std::move(text));
  std::copy(std::begin(operands), std::end(operands), fault.n.begin());
  return fault;
}

// Every rank holds the heaps of all others for a moment.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// "rank 0 (pid 12)", or "process 12" outside hcclrun.
std::string ServerName(const RootInfo& info) {
  const JobPage* page = Lifeline::Page();
  for (uint32_t r = 0; page && r < std::min(page->ranks, kMaxJobRanks); r++) {
    if (page->activity[r].pid.load(std::memory_order_relaxed) == info.pid) {
      return absl::StrCat("rank ", r, " (pid ", info.pid, ")");
    }
  }
  return absl::StrCat("process ", info.pid);
}

class Client {
 public:
  Client(const RootInfo& info, const Hello& hello) : info_(info), hello_(hello) {}

  // Speaks over a connection of the caller's, without a time limit.
  // `all_came` is called before the answer to it; afterwards the server takes no questions.
  Result<Membership> Talk(UniqueFd socket, int heap_fd, std::function<void(Fault)> arrivals,
                          std::function<void()> all_came) {
    socket_ = std::move(socket);
    arrivals_ = std::move(arrivals);
    all_came_ = std::move(all_came);
    if (Fault f = SendPacket(socket_.get(), &hello_, sizeof hello_, {heap_fd},
                             Deadline::After(kSlackMs))) {
      lost_ = true;
      return f;
    }
    return Converse(Deadline::Never());
  }
  // The connection ended without an answer: the server's process did, or it was done already.
  bool lost() const { return lost_; }

  Result<Membership> Join(int heap_fd) {
    const int64_t begin = NowNs();
    const Deadline deadline = Deadline::After(hello_.connect_timeout_ms + kSlackMs);
    // A root info of one process is listened to from before it exists until it is used up:
    // if nobody listens, nobody ever will. A shared one may be made by a rank that is still
    // on its way.
    Result<UniqueFd> socket = ConnectAbstract(
        info_.socket, info_.flags & kRootInfoShared ? Deadline::After(hello_.connect_timeout_ms)
                                                    : Deadline::After(0));
    if (!socket.ok())
      return socket.fault().kind == FaultKind::kRootUnreachable ? Unreachable(begin)
                                                                : socket.fault();
    socket_ = std::move(*socket);
    HCCLRUN_STEP("init.connected");
    if (Fault f = SendPacket(socket_.get(), &hello_, sizeof hello_, {heap_fd}, deadline)) {
      // Refused by an unread close: the server is done with this root info.
      return Unreachable(begin);
    }
    return Converse(deadline);
  }

 private:
  Result<Membership> Converse(Deadline deadline) {
    HCCLRUN_STEP("init.hello_sent");
    Result<Membership> result = Receive(deadline);
    if (all_came_ && !refused_) all_came_();
    if (!result.ok() && !refused_) SendReady(result.fault());
    if (!result.ok()) return result.fault();
    HCCLRUN_STEP("init.mapped");
    SendReady(Fault::None());
    HCCLRUN_STEP("init.ready_sent");
    ServerPacket go;
    std::vector<UniqueFd> none;
    if (Fault f = Next(ServerPacket::kGo, deadline, &go, &none)) {
      if (lost_) TellDeath(result->view);
      // The others may have theirs: they must not wait for this rank.
      result->view.ranks[hello_.rank].state.store(uint32_t(RankState::kDestroyed),
                                                  std::memory_order_seq_cst);
      result->view.NotifyAll();
      return f;
    }
    return result;
  }

  // The server is a thread of a member. If that has died, operations of those that were answered
  // fail because of it, and not because this rank was not, which is what they may see first.
  static void TellDeath(const ControlView& view) {
    // A process that ends closes its sockets before; on a busy machine, long before.
    const Deadline soon = Deadline::After(400);
    do {
      for (uint32_t r = 0; r < view.size; r++) {
        if (view.ranks[r].state.load(std::memory_order_seq_cst) != uint32_t(RankState::kAlive) ||
            !ProcessEnded(PrivateCopy(view.ranks[r].pid)))
          continue;
        SetAbort(view, AbortCause::kRankDied, r);
        return;
      }
      const timespec nap = {0, 1'000'000};
      nanosleep(&nap, nullptr);
    } while (!soon.passed() && AbortOf(view).cause == AbortCause::kNone);
  }

  void SendReady(const Fault& fault) {
    Ready ready;
    memset(&ready, 0, sizeof ready);
    ready.magic = kRootInfoMagic;
    ready.ok = !fault;
    ready.fault_kind = static_cast<uint32_t>(fault.kind);
    SendPacket(socket_.get(), &ready, sizeof ready, {}, Deadline::After(kSlackMs));
  }

  Fault Next(ServerPacket::What what, Deadline deadline, ServerPacket* p,
             std::vector<UniqueFd>* fds) {
    do {
      if (Fault f = NextPacket(deadline, p, fds)) return f;
    } while (p->what == ServerPacket::kArrivals);
    if (p->what != what) return Fault(FaultKind::kInternal, "rendezvous packets out of order");
    return Fault::None();
  }

  Fault NextPacket(Deadline deadline, ServerPacket* p, std::vector<UniqueFd>* fds) {
    memset(p, 0, sizeof *p);
    Result<size_t> got = ReceivePacket(socket_.get(), p, sizeof *p, fds, deadline);
    if (!got.ok()) {
      if (got.fault().n[0] != ETIMEDOUT) return got.fault();
      return Fault(FaultKind::kRootUnreachable, {uint64_t(hello_.connect_timeout_ms + kSlackMs), 1},
                   ServerName(info_));
    }
    if (*got == 0) {
      refused_ = lost_ = true;
      return Fault(FaultKind::kRendezvousRefused,
                   absl::StrCat(ServerName(info_), ", which serves the root info, ended"));
    }
    if (*got != sizeof *p || p->magic != kRootInfoMagic) {
      return Fault(FaultKind::kInternal, "malformed rendezvous packet");
    }
    p->text[sizeof p->text - 1] = 0;
    if (p->what == ServerPacket::kRefused) {
      refused_ = true;
      return FaultOf(p->fault_kind, p->operands, p->text);
    }
    if (p->what == ServerPacket::kArrivals && arrivals_)
      arrivals_(FaultOf(p->fault_kind, p->operands, p->text));
    return Fault::None();
  }

  Fault Unreachable(int64_t since_ns) const {
    const uint64_t waited_ms = uint64_t(NowNs() - since_ns) / 1'000'000;
    if (info_.flags & kRootInfoShared) return Fault(FaultKind::kRootUnreachable, {waited_ms});
    return Fault(FaultKind::kRootUnreachable, {waited_ms, ProcessEnded(info_.pid) ? 2u : 1u},
                 ServerName(info_));
  }

  Result<Membership> Receive(Deadline deadline) {
    const uint32_t ranks = hello_.ranks;
    Membership m;
    ServerPacket welcome;
    std::vector<UniqueFd> control;
    if (Fault f = Next(ServerPacket::kWelcome, deadline, &welcome, &control)) return f;
    if (control.size() != 1 || welcome.ranks != ranks ||
        welcome.control_bytes != ControlView::BytesFor(ranks)) {
      return Fault(FaultKind::kInternal, "malformed rendezvous packet");
    }
    Result<MemoryObject> object = MemoryObject::Adopt(control[0].Release(), welcome.control_bytes);
    if (!object.ok()) return object.fault();
    auto region = MapControl(*object);
    if (!region.ok()) return region.fault();
    m.control = std::move(*region);
    m.object = std::move(*object);
    m.view = ControlView::At(m.control->get_address(), ranks);
    if (m.view.header->magic != kControlMagic || m.view.header->ranks != ranks) {
      return Fault(FaultKind::kInternal, "malformed control block");
    }
    while (m.heaps.size() < ranks) {
      ServerPacket p;
      std::vector<UniqueFd> fds;
      if (Fault f = Next(ServerPacket::kHeaps, deadline, &p, &fds)) return f;
      if (p.first_rank != m.heaps.size() || fds.empty() || fds.size() > ranks - m.heaps.size()) {
        return Fault(FaultKind::kInternal, "malformed rendezvous packet");
      }
      for (UniqueFd& fd : fds) {
        const RankRecord& record = m.view.ranks[m.heaps.size()];
        Result<std::shared_ptr<MappedHeap>> heap =
            PeerHeaps::Map(PrivateCopy(record.heap_uid), PrivateCopy(record.heap_bytes), std::move(fd));
        if (!heap.ok()) return heap.fault();
        m.heaps.push_back(std::move(*heap));
      }
    }
    return m;
  }

  RootInfo info_;
  Hello hello_;
  UniqueFd socket_;
  std::function<void(Fault)> arrivals_;
  std::function<void()> all_came_;
  bool refused_ = false;  // the server has ended the rendezvous: it waits for no answer
  bool lost_ = false;
};

void FillIn(const RootInfo& info, Hello* hello) {
  RaiseDescriptorLimit();
  hello->magic = kRootInfoMagic;
  hello->layout = kLayoutVersion;
  memcpy(hello->secret, info.secret, sizeof hello->secret);
}

}  // namespace

Result<Membership> JoinRendezvous(const RootInfo& info, Hello hello, int heap_fd) {
  FillIn(info, &hello);
  return Client(info, hello).Join(heap_fd);
}

DerivedJoin::DerivedJoin(const RootInfo& info, Hello hello, int heap_fd)
    : info_(info), hello_(hello), heap_fd_(heap_fd) {
  FillIn(info_, &hello_);
}

Result<Membership> DerivedJoin::Join() {
  int64_t pause_ns = 200'000;
  while (!cancelled_.load(std::memory_order_relaxed)) {
    Result<UniqueFd> listener = ListenAbstract(info_.socket, static_cast<int>(kMaxRanks));
    if (listener.ok()) {
      if (Fault f = ServeRendezvous(std::move(*listener), info_)) return f;
    } else if (listener.fault().n[0] != EADDRINUSE) {
      return listener.fault();
    }
    Result<UniqueFd> socket = ConnectAbstract(info_.socket, Deadline::After(0));
    if (socket.ok()) {
      Client client(info_, hello_);
      UniqueFd connected = std::move(*socket);
      Open(connected.get());
      Result<Membership> result = client.Talk(
          std::move(connected), heap_fd_,
          [this](Fault arrivals) {
            std::lock_guard<std::mutex> lock(mutex_);
            arrivals_ = std::move(arrivals);
            answers_++;
            answered_.notify_all();
          },
          [this] {
            std::lock_guard<std::mutex> lock(mutex_);
            all_came_ = true;
          });
      Close();
      if (result.ok() || !client.lost()) return result;
    } else if (socket.fault().kind != FaultKind::kRootUnreachable) {
      return socket.fault();
    }
    // The one who served is gone, or is just going.
    timespec nap = {0, static_cast<long>(pause_ns)};
    nanosleep(&nap, nullptr);
    pause_ns = std::min<int64_t>(pause_ns * 2, 20'000'000);
  }
  return Fault(FaultKind::kRendezvousRefused, "this rank destroyed it");
}

void DerivedJoin::Open(int socket) {
  std::lock_guard<std::mutex> lock(mutex_);
  socket_ = socket;
  all_came_ = false;
  if (cancelled_.load(std::memory_order_relaxed)) shutdown(socket, SHUT_RDWR);
}

void DerivedJoin::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  socket_ = -1;
}

void DerivedJoin::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_.store(true, std::memory_order_relaxed);  // Open() looks at it under the mutex
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

Fault DerivedJoin::WhoIsMissing(int64_t waited_ms) {
  constexpr std::chrono::seconds kPatience{2};
  std::unique_lock<std::mutex> lock(mutex_);
  if (all_came_)
    return Fault(FaultKind::kRanksMissing, {uint64_t(waited_ms), hello_.ranks, hello_.ranks},
                 "it must map the others' memory");
  const uint64_t before = answers_;
  const Ask ask = {kRootInfoMagic};
  if (socket_ >= 0 && !SendPacket(socket_, &ask, sizeof ask, {}, Deadline::After(0)) &&
      answered_.wait_for(lock, kPatience, [&] { return answers_ != before; })) {
    Fault f = arrivals_;
    f.n[0] = uint64_t(waited_ms);
    return f;
  }
  return Fault(FaultKind::kRanksMissing, {uint64_t(waited_ms), 1, hello_.ranks},
               absl::StrCat("arrived: rank ", hello_.rank, ", the others are not known"));
}

}  // namespace hcclrun
