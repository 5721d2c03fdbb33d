#include "support/rank_session.h"

#include <cstdio>
#include <cstdlib>

namespace hcclrun::testing {

void RequireOk(int code, const char* call, const char* file, int line) {
  if (code == 0) return;
  std::fprintf(stderr, "%s:%d: %s returned %d\n%s", file, line, call, code, TakeMessages().c_str());
  std::fflush(nullptr);
  std::exit(1);
}

std::string TakeMessages() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

HcclCommConfig TestConfig(const Configure& configure) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclSymWinMaxMemSizePerRank = 1;
  if (configure) configure(config);
  return config;
}

HcclResult CreateSubComm(HcclComm parent, std::vector<uint32_t> members, uint64_t id,
                         uint32_t sub_rank, HcclComm* sub, const Configure& configure) {
  HcclCommConfig config = TestConfig(configure);
  return HcclCreateSubCommConfig(&parent, static_cast<uint32_t>(members.size()), members.data(), id,
                                 sub_rank, &config, sub);
}

int32_t DeviceOf(const RankGroup& ranks) {
  const char* local = std::getenv("HCCLRUN_SERVERS") ? std::getenv("LOCAL_RANK") : nullptr;
  return local ? std::atoi(local) : static_cast<int32_t>(ranks.rank());
}

Session::Session(RankGroup& ranks, const Configure& configure)
    : ranks_(ranks), device_(DeviceOf(ranks)) {
  REQUIRE_OK(aclrtSetDevice(device_));
  comm_ = NewCommunicator(configure);
  REQUIRE_OK(aclrtCreateStream(&stream_));
}

Session::~Session() {
  REQUIRE_OK(aclrtDestroyStream(stream_));
  DestroyCommunicator();
  REQUIRE_OK(aclrtResetDevice(device_));
}

HcclComm Session::NewCommunicator(const Configure& configure) {
  HcclRootInfo info;
  if (rank() == 0) REQUIRE_OK(HcclGetRootInfo(&info));
  ranks_.ShareRootInfo(&info);
  const HcclCommConfig config = TestConfig(configure);
  HcclComm comm = nullptr;
  REQUIRE_OK(HcclCommInitRootInfoConfig(size(), &info, rank(), &config, &comm));
  return comm;
}

void Session::DestroyCommunicator() {
  REQUIRE_OK(HcclCommDestroy(comm_));
  comm_ = nullptr;
}

hcclrunPath Session::LastPath() const {
  hcclrunPath path;
  REQUIRE_OK(hcclrunLastPath(comm_, &path));
  return path;
}

DeviceSession::DeviceSession(int32_t device) : device_(device) {
  REQUIRE_OK(aclrtSetDevice(device_));
  REQUIRE_OK(aclrtCreateStream(&stream_));
}

DeviceSession::~DeviceSession() {
  REQUIRE_OK(aclrtDestroyStream(stream_));
  REQUIRE_OK(aclrtResetDevice(device_));
}

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  REQUIRE_OK(aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
}

DeviceMemory::~DeviceMemory() { REQUIRE_OK(aclrtFree(data_)); }

MappedMemory::MappedMemory(int32_t device, size_t bytes)
    : bytes_((bytes + kGranularity - 1) / kGranularity * kGranularity) {
  aclrtPhysicalMemProp prop = {};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(device);
  REQUIRE_OK(aclrtReserveMemAddress(&data_, bytes_, 0, nullptr, 1));
  REQUIRE_OK(aclrtMallocPhysical(&handle_, bytes_, &prop, 0));
  REQUIRE_OK(aclrtMapMem(data_, bytes_, 0, handle_, 0));
}

MappedMemory::~MappedMemory() {
  UnmapAndFree();
  REQUIRE_OK(aclrtReleaseMemAddress(data_));
}

void MappedMemory::UnmapAndFree() {
  if (!handle_) return;
  REQUIRE_OK(aclrtUnmapMem(data_));
  REQUIRE_OK(aclrtFreePhysical(handle_));
  handle_ = nullptr;
}

WindowMemory::WindowMemory(const Session& session, size_t bytes)
    : MappedMemory(session.device(), bytes) {
  REQUIRE_OK(HcclCommSymWinRegister(session.comm(), data(), size(), &window_, 1));
}

WindowMemory::~WindowMemory() { REQUIRE_OK(HcclCommSymWinDeregister(window_)); }

void Upload(void* device, const void* host, size_t bytes) {
  if (bytes) REQUIRE_OK(aclrtMemcpy(device, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
}

std::vector<uint8_t> Download(const void* device, size_t bytes) {
  std::vector<uint8_t> host(bytes);
  if (bytes) REQUIRE_OK(aclrtMemcpy(host.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  return host;
}

}  // namespace hcclrun::testing
