#include "support/rank_group.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <barrier>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "hcclrun/bootstrap.h"

namespace hcclrun::testing {
namespace {

[[noreturn]] void Lost(const char* what) {
  std::fprintf(stderr, "rank %d: %s: another rank has ended (or %m)\n", hcclrunRank(), what);
  std::exit(1);
}

void SendAll(int fd, const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = send(fd, p, size, MSG_NOSIGNAL);
    if (n <= 0) Lost("send");
    p += n;
    size -= static_cast<size_t>(n);
  }
}

void ReceiveAll(int fd, void* data, size_t size) {
  char* p = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = recv(fd, p, size, 0);
    if (n <= 0) Lost("receive");
    p += n;
    size -= static_cast<size_t>(n);
  }
}

void SendString(int fd, const std::string& text) {
  const uint64_t size = text.size();
  SendAll(fd, &size, sizeof size);
  SendAll(fd, text.data(), text.size());
}

std::string ReceiveString(int fd) {
  uint64_t size = 0;
  ReceiveAll(fd, &size, sizeof size);
  std::string text(size, 0);
  ReceiveAll(fd, text.data(), size);
  return text;
}

// A star: rank 0 listens on an abstract socket, whose name the others learn over hcclrun's board,
// and passes on what it gathers.
class ProcessRanks : public RankGroup {
 public:
  ProcessRanks()
      : RankGroup(static_cast<uint32_t>(hcclrunRank()), static_cast<uint32_t>(hcclrunSize()),
                  false) {
    if (size() == 1) return;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    socklen_t length = sizeof(sa_family_t);
    HcclRootInfo board = {};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (rank() == 0) {
      // A length of the family alone asks the kernel for a free abstract name.
      if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) Lost("bind");
      if (listen(fd, static_cast<int>(size())) != 0) Lost("listen");
      length = sizeof address;
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
      std::memcpy(board.internal, &length, sizeof length);
      std::memcpy(board.internal + sizeof length, &address, sizeof address);
    }
    if (hcclrunShareRootInfo(&board) != HCCL_SUCCESS) Lost("hcclrunShareRootInfo");
    if (rank() == 0) {
      others_.resize(size(), -1);
      for (uint32_t i = 1; i < size(); ++i) {
        const int peer = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
        uint32_t from = 0;
        ReceiveAll(peer, &from, sizeof from);
        others_.at(from) = peer;
      }
      close(fd);
    } else {
      std::memcpy(&length, board.internal, sizeof length);
      std::memcpy(&address, board.internal + sizeof length, sizeof address);
      if (connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) Lost("connect");
      const uint32_t me = rank();
      SendAll(fd, &me, sizeof me);
      root_ = fd;
    }
  }

  std::vector<std::string> Exchange(const std::string& mine) override {
    std::vector<std::string> all(size());
    all[rank()] = mine;
    if (rank() == 0) {
      for (uint32_t r = 1; r < size(); ++r) all[r] = ReceiveString(others_[r]);
      for (uint32_t r = 1; r < size(); ++r) {
        for (const std::string& text : all) SendString(others_[r], text);
      }
    } else {
      SendString(root_, mine);
      for (std::string& text : all) text = ReceiveString(root_);
    }
    return all;
  }

  void ShareRootInfo(HcclRootInfo* info) override {
    if (hcclrunShareRootInfo(info) != HCCL_SUCCESS) Lost("hcclrunShareRootInfo");
  }

 private:
  int root_ = -1;
  std::vector<int> others_;
};

// What the threads of one run share. A slot is written by its rank before the first barrier and
// read by all before the second.
struct Board {
  explicit Board(uint32_t size) : slots(size), barrier(size) {}
  std::vector<std::string> slots;
  std::barrier<> barrier;
};

class ThreadRanks : public RankGroup {
 public:
  ThreadRanks(uint32_t rank, uint32_t size, Board* board)
      : RankGroup(rank, size, true), board_(board) {}

  std::vector<std::string> Exchange(const std::string& mine) override {
    board_->slots[rank()] = mine;
    board_->barrier.arrive_and_wait();
    std::vector<std::string> all = board_->slots;
    board_->barrier.arrive_and_wait();
    return all;
  }

  void ShareRootInfo(HcclRootInfo* info) override {
    const std::vector<std::string> all =
        Exchange(std::string(info->internal, sizeof info->internal));
    std::memcpy(info->internal, all[0].data(), sizeof info->internal);
  }

 private:
  Board* board_;
};

}  // namespace

std::unique_ptr<RankGroup> JoinProcessRanks() { return std::make_unique<ProcessRanks>(); }

void RunThreadRanks(uint32_t size, const std::function<void(RankGroup&)>& body) {
  Board board(size);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([rank, size, &board, &body] {
      ThreadRanks group(rank, size, &board);
      body(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hcclrun::testing
