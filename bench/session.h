#pragma once
// One rank of a benchmark under hcclrun: device, communicator, stream, and the timing of what is
// run on it.

#include <cstdint>
#include <functional>

#include "hccl/hccl.h"

namespace hcclrun::bench {

// Ends the process with 1 if a call of AscendCL or HCCL failed; the library has said why.
#define BENCH_CHECK(call) ::hcclrun::bench::Require(static_cast<int>(call), #call)
void Require(int code, const char* call);

class Session {
 public:
  // Joins the job's communicator; collective. window_bytes: how much one rank will register as
  // windows. npus: device of rank r is r modulo npus; 0 means as many as there are.
  Session(uint64_t window_bytes, uint32_t npus);
  // The same as rank `rank`, on the device of that number, in a thread of a process that has called
  // aclInit(). share: gives rank 0's root info to all.
  Session(uint64_t window_bytes, uint32_t rank, uint32_t size,
          const std::function<void(HcclRootInfo*)>& share);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  uint32_t rank() const { return rank_; }
  uint32_t size() const { return size_; }
  int32_t device() const { return device_; }
  HcclComm comm() const { return comm_; }
  aclrtStream stream() const { return stream_; }

  // Runs body `times` times between two events that all ranks pass together; microseconds between
  // them on this rank. each: synchronise the stream after every run, so that the host's share is in
  // the time.
  double TimeMicroseconds(int times, bool each, const std::function<void()>& body);

  // The largest of all ranks' values, element by element; collective.
  struct Verdict {
    int64_t wrong_elements;
    int64_t nanoseconds;
  };
  Verdict Worst(const Verdict& mine);

 private:
  void Join(uint64_t window_bytes, const std::function<void(HcclRootInfo*)>& share);

  uint32_t rank_;
  uint32_t size_;
  bool owns_process_ = false;
  int32_t device_ = 0;
  HcclComm comm_ = nullptr;
  aclrtStream stream_ = nullptr;
  aclrtEvent begin_ = nullptr;
  aclrtEvent end_ = nullptr;
  void* verdict_ = nullptr;  // device memory for Worst()
};

}  // namespace hcclrun::bench
