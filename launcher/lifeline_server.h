#pragma once
// The launcher's end of the lifeline (shm/lifeline.h) and of the shims' connections
// (shim_protocol.h): one abstract socket, served from the event loop. Peers of other users are
// dropped by SO_PEERCRED, peers without the secret are refused. A connection's end is the news that
// a process ended; it is delivered before the process can be reaped with a status, which is why the
// job takes the order of failures from here where it can.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/fault.h"
#include "launcher/environment.h"
#include "launcher/event_loop.h"
#include "launcher/shim_protocol.h"
#include "shm/job_page.h"
#include "shm/lifeline.h"
#include "shm/socket.h"

namespace hcclrun {

class LifelineServer {
 public:
  // What the job wants to know. `connection` identifies a shim in the calls below.
  class Listener {
   public:
    virtual ~Listener() = default;
    // A process of `rank` loaded the library; it has not been answered yet.
    virtual void OnAttached(int rank, int32_t pid) = 0;
    // Its connection ended; `finished` = it left through exit().
    virtual void OnDetached(int rank, int32_t pid, bool finished) = 0;
    // A rank wants a report, and waits for JobPage::reports_taken.
    virtual void OnReportAsked(int rank, const LifelineAsk& ask) = 0;
    // A shim wants the streams of its rank. False = refuse.
    virtual bool OnShim(int rank, int connection, std::array<int, 3>* streams) = 0;
    // The streams were handed over (or the shim died before that).
    virtual void OnShimStreamsSent(int rank) = 0;
    virtual void OnShimReport(int rank, const ShimReport& report) = 0;
    virtual void OnShimLost(int rank) = 0;
  };

  LifelineServer(EventLoop* loop, Listener* listener);
  ~LifelineServer();
  // `page`, with the flight recorder behind it, stays the caller's and outlives this object. What
  // is used as an index or a place, also of the page's constants, is the launcher's own copy.
  Fault Start(const JobIdentity& identity, JobPage* page, int page_fd, uint32_t ranks,
              const RecorderLayout& recorder);
  void SendOrder(int connection, const ShimOrder& order);
  int connections_of(int rank) const;  // processes of the rank that have the library loaded

 private:
  struct Connection {
    UniqueFd socket;
    enum Kind { kUnknown, kRank, kShim } kind = kUnknown;
    int rank = -1;
    int32_t pid = 0;
  };
  void OnIncoming();
  void OnPacket(int fd);
  void GreetRank(Connection* connection, const LifelineHello& hello);
  void GreetShim(Connection* connection, const ShimHello& hello);
  void Drop(int fd);
  bool SecretMatches(const char (&given)[64]) const;

  EventLoop* loop_;
  Listener* listener_;
  JobIdentity identity_;
  JobPage* page_ = nullptr;
  RecorderLayout recorder_ = {};
  std::vector<bool> recorded_;  // by rank: whether its area of the recorder has been used
  int page_fd_ = -1;
  UniqueFd socket_;
  std::map<int, Connection> connections_;
};

}  // namespace hcclrun
