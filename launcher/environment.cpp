#include "launcher/environment.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/injection.h"
#include "base/job.h"
#include "shm/socket.h"

namespace hcclrun {

Environment CurrentEnvironment() {
  Environment result;
  for (char** p = environ; *p; p++) {
    std::string entry = *p;
    size_t equals = entry.find('=', 1);
    if (equals != std::string::npos)
      result.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return result;
}

std::vector<std::string> ToStrings(const Environment& environment) {
  std::vector<std::string> result;
  for (const auto& [name, value] : environment) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

JobIdentity JobIdentity::Random() {
  return {RandomHex(8), RandomHex(16), absl::StrCat("hcclrun-", RandomHex(16))};
}

void LeaveOuterJob() {
  if (!getenv(kEnvJob)) return;
  if (getenv(kEnvServers)) unsetenv(kRankTableFile);
  for (const char* name : {kEnvJob, kEnvSecret, kEnvLifeline, kEnvRank, kEnvSize, kEnvDeviceCount,
                           kEnvSharedRootInfo, kEnvServers, kEnvSuperPods, kEnvInject}) {
    unsetenv(name);
  }
}

void SetJobVariables(const JobIdentity& identity, int size, int device_count,
                     const Topology& topology, Environment* environment) {
  Environment& e = *environment;
  e[kEnvJob] = identity.id;
  e[kEnvSecret] = identity.secret;
  e[kEnvLifeline] = identity.lifeline;
  for (const char* name : {kEnvSize, "WORLD_SIZE", "RANK_SIZE"}) e[name] = std::to_string(size);
  for (const char* name : {kEnvServers, kEnvSuperPods}) e.erase(name);
  if (topology.given()) {
    e[kEnvServers] = absl::StrJoin(topology.servers(), ",");
    e[kEnvSuperPods] = absl::StrJoin(topology.superpods(), ",");
  }
  e[kEnvDeviceCount] = std::to_string(device_count);
  // First in the path: the library must be of the launcher's build, and a CANN installation
  // that may be in the path cannot run here. DT_RPATH still wins, and -x
  // LD_LIBRARY_PATH=... replaces this.
  std::string library = LibraryDirectory();
  if (library.empty()) return;
  std::string& path = e["LD_LIBRARY_PATH"];
  path = path.empty() ? library : absl::StrCat(library, ":", path);
}

void SetRankVariables(int rank, int size, int device_count, const Topology& topology,
                      Environment* environment) {
  Environment& e = *environment;
  for (const char* name : {kEnvRank, "RANK", "RANK_ID"}) e[name] = std::to_string(rank);
  const Place place = topology.Of(static_cast<uint32_t>(rank));
  e["LOCAL_RANK"] = std::to_string(place.local_rank);
  e["LOCAL_WORLD_SIZE"] =
      std::to_string(topology.given() ? topology.servers()[place.server] : uint32_t(size));
  e["DEVICE_ID"] = std::to_string(place.local_rank % uint32_t(device_count));
}

void SetUserVariables(const std::vector<std::string>& assignments, int rank, int size,
                      Environment* environment) {
  for (const std::string& assignment : assignments) {
    size_t equals = assignment.find('=');
    (*environment)[assignment.substr(0, equals)] =
        Substitute(assignment.substr(equals + 1), rank, size);
  }
}

std::string Substitute(const std::string& text, int rank, int size) {
  if (text.find('{') == std::string::npos) return text;
  return absl::StrReplaceAll(text,
                             {{"{rank}", std::to_string(rank)}, {"{size}", std::to_string(size)}});
}

std::vector<std::string> Substitute(const std::vector<std::string>& texts, int rank, int size) {
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(Substitute(text, rank, size));
  return result;
}

std::string OwnPath() {
  char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "/proc/self/exe";
}

std::string LibraryDirectory() {
  std::string own = OwnPath();
  for (int level = 0; level < 2; level++)
    own.resize(own.rfind('/') == std::string::npos ? 0 : own.rfind('/'));
  std::string directory = own + "/lib64";
  return access((directory + "/libhccl.so").c_str(), R_OK) == 0 ? directory : "";
}

}  // namespace hcclrun
