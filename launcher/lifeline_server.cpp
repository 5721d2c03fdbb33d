#include "launcher/lifeline_server.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace hcclrun {
namespace {

// Packets are small and their receivers wait for them, so a socket that does not take one at once
// has a dead or stopped owner; the loop must not wait for it.
constexpr int64_t kSendPatienceMs = 100;
constexpr int kBacklog = 1024;

union AnyHello {
  uint64_t magic;
  LifelineHello rank;
  LifelineAsk ask;
  ShimHello shim;
  ShimReport report;
};

// The note of a rank that has done nothing yet.
void Clear(RankActivity* activity) {
  for (auto* field : {&activity->call, &activity->inside, &activity->finished, &activity->waiting,
                      &activity->another.state, &activity->differs.state}) {
    field->store(0, std::memory_order_relaxed);
  }
  for (auto* field : {&activity->sequence, &activity->calls})
    field->store(0, std::memory_order_relaxed);
  activity->waiting_for.store(-1, std::memory_order_relaxed);
}

}  // namespace

LifelineServer::LifelineServer(EventLoop* loop, Listener* listener)
    : loop_(loop), listener_(listener) {}

LifelineServer::~LifelineServer() {
  for (auto& [fd, connection] : connections_) loop_->Forget(fd);
  if (socket_.valid()) loop_->Forget(socket_.get());
}

Fault LifelineServer::Start(const JobIdentity& identity, JobPage* page, int page_fd, uint32_t ranks,
                            const RecorderLayout& recorder) {
  recorder_ = recorder;
  recorded_.assign(ranks, false);
  identity_ = identity;
  page_ = page;
  page_fd_ = page_fd;
  Result<UniqueFd> socket = ListenAbstract(identity.lifeline, kBacklog);
  if (!socket.ok()) return socket.fault();
  socket_ = std::move(*socket);
  loop_->Watch(socket_.get(), EPOLLIN, [this](uint32_t) { OnIncoming(); });
  return Fault::None();
}

bool LifelineServer::SecretMatches(const char (&given)[64]) const {
  char wanted[64] = {};
  memcpy(wanted, identity_.secret.data(), std::min(identity_.secret.size(), sizeof wanted));
  unsigned difference = 0;
  for (size_t i = 0; i < sizeof wanted; i++)
    difference |= static_cast<unsigned char>(wanted[i] ^ given[i]);
  return difference == 0;
}

void LifelineServer::OnIncoming() {
  Result<UniqueFd> accepted = AcceptSameUser(socket_.get(), Deadline::After(0));
  if (!accepted.ok() || !accepted->valid()) return;
  int fd = accepted->get();
  connections_[fd].socket = std::move(*accepted);
  loop_->Watch(fd, EPOLLIN, [this, fd](uint32_t) { OnPacket(fd); });
}

void LifelineServer::OnPacket(int fd) {
  Connection* connection = &connections_[fd];
  AnyHello packet;
  memset(&packet, 0, sizeof packet);
  std::vector<UniqueFd> unwanted;  // descriptors that a peer sends are closed
  Result<size_t> got = ReceivePacket(fd, &packet, sizeof packet, &unwanted, Deadline::After(0));
  if (!got.ok() || *got == 0) {
    if (!got.ok() && got.fault().n[0] == ETIMEDOUT) return;
    return Drop(fd);
  }
  switch (connection->kind) {
    case Connection::kUnknown:
      if (*got == sizeof(LifelineHello) && packet.magic == kJobPageMagic) {
        return GreetRank(connection, packet.rank);
      }
      if (*got == sizeof(ShimHello) && packet.magic == kShimMagic)
        return GreetShim(connection, packet.shim);
      return Drop(fd);
    case Connection::kRank:
      if (*got == sizeof(LifelineAsk) && packet.magic == kJobPageMagic)
        listener_->OnReportAsked(connection->rank, packet.ask);
      return;
    case Connection::kShim:
      if (*got == sizeof(ShimReport)) listener_->OnShimReport(connection->rank, packet.report);
      return;
  }
}

void LifelineServer::GreetRank(Connection* connection, const LifelineHello& hello) {
  LifelineWelcome welcome = {kJobPageMagic, kLifelineVersion, 0, 0};
  if (!SecretMatches(hello.secret)) {
    welcome.status = 1;
  } else if (hello.rank < 0 || uint32_t(hello.rank) >= recorded_.size()) {
    welcome.status = 2;
  }
  bool accepted = welcome.status == 0 && hello.version == kLifelineVersion;
  int fd = connection->socket.get();
  if (accepted) {
    // The next process of a rank (a script that runs several programs) starts with a clean note.
    if (connections_of(hello.rank) == 0) {
      Clear(&page_->activity[hello.rank]);
      // One process of the rank writes there.
      welcome.records = 1;
      if (recorded_[hello.rank]) {
        memset(reinterpret_cast<char*>(page_) + recorder_.offset + recorder_.stride * hello.rank, 0,
               recorder_.stride);
      }
      recorded_[hello.rank] = true;
    }
    Result<PeerCredentials> peer = PeerOf(fd);
    connection->kind = Connection::kRank;
    connection->rank = hello.rank;
    connection->pid = peer.ok() && peer->pid > 0 ? peer->pid : hello.pid;
    page_->activity[hello.rank].finished.store(0, std::memory_order_relaxed);
    page_->activity[hello.rank].pid.store(connection->pid, std::memory_order_relaxed);
    listener_->OnAttached(hello.rank, connection->pid);
  }
  Fault fault = SendPacket(fd, &welcome, sizeof welcome,
                           accepted ? std::vector<int>{page_fd_} : std::vector<int>{},
                           Deadline::After(kSendPatienceMs));
  if (fault || !accepted) Drop(fd);
}

void LifelineServer::GreetShim(Connection* connection, const ShimHello& hello) {
  ShimWelcome welcome = {kShimMagic, 0};
  std::array<int, 3> streams = {-1, -1, -1};
  int fd = connection->socket.get();
  if (!SecretMatches(hello.secret)) {
    welcome.status = 1;
  } else if (hello.rank < 0 || uint32_t(hello.rank) >= recorded_.size() ||
             (hello.size != 0 && uint32_t(hello.size) != recorded_.size()) ||
             !listener_->OnShim(hello.rank, fd, &streams)) {
    welcome.status = 2;
  }
  if (welcome.status == 0) {
    connection->kind = Connection::kShim;
    connection->rank = hello.rank;
    connection->pid = hello.pid;
  }
  Fault fault = SendPacket(
      fd, &welcome, sizeof welcome,
      welcome.status == 0 ? std::vector<int>(streams.begin(), streams.end()) : std::vector<int>{},
      Deadline::After(kSendPatienceMs));
  if (welcome.status == 0) listener_->OnShimStreamsSent(hello.rank);
  if (fault || welcome.status != 0) Drop(fd);
}

void LifelineServer::Drop(int fd) {
  auto it = connections_.find(fd);
  if (it == connections_.end()) return;
  loop_->Forget(fd);
  Connection gone = std::move(it->second);
  connections_.erase(it);
  gone.socket.Reset();
  if (gone.kind == Connection::kRank) {
    bool finished = page_->activity[gone.rank].finished.load(std::memory_order_acquire) != 0;
    listener_->OnDetached(gone.rank, gone.pid, finished);
  } else if (gone.kind == Connection::kShim) {
    listener_->OnShimLost(gone.rank);
  }
}

void LifelineServer::SendOrder(int connection, const ShimOrder& order) {
  auto it = connections_.find(connection);
  if (it == connections_.end()) return;
  (void)SendPacket(connection, &order, sizeof order, {}, Deadline::After(kSendPatienceMs));
}

int LifelineServer::connections_of(int rank) const {
  int count = 0;
  for (const auto& [fd, connection] : connections_) {
    count += connection.kind == Connection::kRank && connection.rank == rank;
  }
  return count;
}

}  // namespace hcclrun
