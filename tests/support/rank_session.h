#pragma once
// What a rank needs before it can call a collective, and its memory; everything is given back when
// it goes out of scope. Set-up that fails is a test failure that ends the program: nothing could be
// tested without it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/hccl_sym_win.h"
#include "hcclrun/inspect.h"
#include "support/rank_group.h"

namespace hcclrun::testing {

// Ends the program, after a sentence, unless code is 0.
#define REQUIRE_OK(call) \
  ::hcclrun::testing::RequireOk(static_cast<int>(call), #call, __FILE__, __LINE__)
void RequireOk(int code, const char* call, const char* file, int line);

// The newest messages of this thread, "" if there are none; they are taken.
std::string TakeMessages();

using Configure = std::function<void(HcclCommConfig&)>;

// A configuration for tests: 1 GiB of window space, which any device has.
HcclCommConfig TestConfig(const Configure& configure = {});

// The rank's number; with hcclrun --servers its number on its server.
int32_t DeviceOf(const RankGroup& ranks);

// The current device of the thread, a stream on it, and a communicator of all ranks.
class Session {
 public:
  explicit Session(RankGroup& ranks, const Configure& configure = {});
  ~Session();
  Session(const Session&) = delete;

  RankGroup& ranks() const { return ranks_; }
  uint32_t rank() const { return ranks_.rank(); }
  uint32_t size() const { return ranks_.size(); }
  int32_t device() const { return device_; }
  HcclComm comm() const { return comm_; }
  aclrtStream stream() const { return stream_; }

  // A further communicator of all ranks; the caller destroys it.
  HcclComm NewCommunicator(const Configure& configure = {});
  void DestroyCommunicator();  // before the session ends
  // aclrtSynchronizeStream of the session's stream.
  int Synchronize() { return aclrtSynchronizeStream(stream_); }
  hcclrunPath LastPath() const;

 private:
  RankGroup& ranks_;
  int32_t device_;
  HcclComm comm_ = nullptr;
  aclrtStream stream_ = nullptr;
};

// A device set for the thread and a stream, without a communicator.
class DeviceSession {
 public:
  explicit DeviceSession(int32_t device);
  ~DeviceSession();
  DeviceSession(const DeviceSession&) = delete;
  aclrtStream stream() const { return stream_; }

 private:
  int32_t device_;
  aclrtStream stream_ = nullptr;
};

// aclrtMalloc.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

inline constexpr size_t kGranularity = size_t{2} << 20;

// Physical memory of the session's device, mapped into a reservation of its own; rounded up
// to the granularity.
class MappedMemory {
 public:
  MappedMemory(int32_t device, size_t bytes);
  ~MappedMemory();  // unmaps, frees and releases what is still there
  MappedMemory(const MappedMemory&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return bytes_; }
  void UnmapAndFree();

 private:
  void* data_ = nullptr;
  aclrtDrvMemHandle handle_ = nullptr;
  size_t bytes_;
};

// Mapped memory that all ranks register as one window.
class WindowMemory : public MappedMemory {
 public:
  WindowMemory(const Session& session, size_t bytes);
  ~WindowMemory();
  HcclCommSymWindow window() const { return window_; }

 private:
  HcclCommSymWindow window_ = nullptr;
};

// HcclCreateSubCommConfig by a member.
HcclResult CreateSubComm(HcclComm parent, std::vector<uint32_t> members, uint64_t id,
                         uint32_t sub_rank, HcclComm* sub, const Configure& configure = {});

// The communicator works: the sum of one number per rank is right on this rank. All ranks call.
void ExpectSum(HcclComm comm, aclrtStream stream, uint32_t ranks);

// Copies between host and device, whole vectors; end the program if they fail.
void Upload(void* device, const void* host, size_t bytes);
std::vector<uint8_t> Download(const void* device, size_t bytes);
template <class T>
void UploadValues(void* device, const std::vector<T>& values) {
  Upload(device, values.data(), values.size() * sizeof(T));
}
template <class T>
std::vector<T> DownloadValues(const void* device, size_t count) {
  std::vector<T> values(count);
  const std::vector<uint8_t> bytes = Download(device, count * sizeof(T));
  if (count) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace hcclrun::testing
