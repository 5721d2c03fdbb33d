#include "shm/socket.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace hcclrun {
namespace {

constexpr int64_t kSliceNs = 200'000'000;

socklen_t AbstractAddress(const std::string& name, sockaddr_un* address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  size_t n = std::min(name.size(), sizeof address->sun_path - 1);
  memcpy(address->sun_path + 1, name.data(), n);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

Fault SystemFault(const char* what) { return Fault(FaultKind::kSystem, {uint64_t(errno)}, what); }

// Waits for `events`; false when the deadline passed.
bool PollFor(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd p = {fd, events, 0};
    int64_t left = deadline.Remaining(kSliceNs);
    int rc = poll(&p, 1, static_cast<int>((left + 999'999) / 1'000'000));
    if (rc > 0) return true;
    if (deadline.passed()) return false;
  }
}

}  // namespace

std::string RandomHex(size_t bytes) {
  std::string raw(bytes, 0), hex;
  for (size_t done = 0; done < bytes;) {
    ssize_t n = getrandom(raw.data() + done, bytes - done, 0);
    if (n > 0) done += static_cast<size_t>(n);
  }
  for (unsigned char c : raw) {
    hex += "0123456789abcdef"[c >> 4];
    hex += "0123456789abcdef"[c & 15];
  }
  return hex;
}

Result<PeerCredentials> PeerOf(int socket) {
  ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return SystemFault("ask for a peer's credentials");
  }
  return PeerCredentials{credentials.pid, credentials.uid};
}

Result<UniqueFd> ListenAbstract(const std::string& name, int backlog) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SystemFault("create a socket");
  sockaddr_un address;
  socklen_t length = AbstractAddress(name, &address);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
    return SystemFault("bind a socket");
  if (listen(fd.get(), backlog) != 0) return SystemFault("listen on a socket");
  return fd;
}

Result<UniqueFd> ConnectAbstract(const std::string& name, Deadline deadline, bool (*give_up)()) {
  sockaddr_un address;
  socklen_t length = AbstractAddress(name, &address);
  int64_t begin = NowNs();
  int64_t pause_ns = 1'000'000;
  for (;;) {
    UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return SystemFault("create a socket");
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0) {
      Result<PeerCredentials> peer = PeerOf(fd.get());
      if (!peer.ok()) return peer.fault();
      if (peer->uid != geteuid()) {
        return Fault(FaultKind::kRootInfoInvalid, "its rendezvous socket belongs to another user");
      }
      return fd;
    }
    // ECONNREFUSED: nobody listens (yet). EAGAIN: the backlog is full.
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
      return SystemFault("connect to a socket");
    if (deadline.passed() || (give_up && give_up())) {
      return Fault(FaultKind::kRootUnreachable, {uint64_t(NowNs() - begin) / 1'000'000});
    }
    timespec nap = {0, static_cast<long>(deadline.Remaining(pause_ns))};
    nanosleep(&nap, nullptr);
    pause_ns = std::min<int64_t>(pause_ns * 2, 50'000'000);
  }
}

Result<UniqueFd> AcceptSameUser(int listener, Deadline deadline) {
  while (PollFor(listener, POLLIN, deadline)) {
    UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) continue;
      return SystemFault("accept a connection");
    }
    Result<PeerCredentials> peer = PeerOf(fd.get());
    if (peer.ok() && peer->uid == geteuid()) return fd;
  }
  return UniqueFd();
}

Fault SendPacket(int socket, const void* data, size_t size, const std::vector<int>& fds,
                 Deadline deadline) {
  iovec iov = {const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFdsPerPacket)];
  msghdr message = {};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  for (;;) {
    if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Fault::None();
    if (errno == EINTR) continue;
    // ETOOMANYREFS: too many descriptors of this user are in flight; they drain as peers read.
    if (errno != EAGAIN && errno != ETOOMANYREFS) return SystemFault("send to a peer");
    if (errno == ETOOMANYREFS) {
      timespec nap = {0, 1'000'000};
      nanosleep(&nap, nullptr);
      if (!deadline.passed()) continue;
    } else if (PollFor(socket, POLLOUT, deadline)) {
      continue;
    }
    errno = ETIMEDOUT;
    return SystemFault("send to a peer");
  }
}

Result<size_t> ReceivePacket(int socket, void* data, size_t capacity, std::vector<UniqueFd>* fds,
                             Deadline deadline) {
  for (;;) {
    iovec iov = {data, capacity};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFdsPerPacket)];
    msghdr message = {};
    message.msg_iov = &iov;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == ECONNRESET) return size_t{0};
      if (errno != EAGAIN) return SystemFault("receive from a peer");
      if (PollFor(socket, POLLIN, deadline)) continue;
      errno = ETIMEDOUT;
      return SystemFault("receive from a peer");
    }
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
      if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
      size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof fd);
        UniqueFd owned(fd);
        if (fds) fds->push_back(std::move(owned));
      }
    }
    if (message.msg_flags & MSG_CTRUNC) {
      return Fault(FaultKind::kSystem, {uint64_t(EMFILE)},
                   "take a peer's descriptors (limit of open files)");
    }
    return static_cast<size_t>(n);
  }
}

}  // namespace hcclrun
