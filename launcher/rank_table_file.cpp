#include "launcher/rank_table_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "launcher/fd.h"

namespace hcclrun {

// Addresses of the two private ranges that are told apart at a glance: 192.168.0.0/16 of servers,
// 10.0.0.0/8 of devices. At most 1024 of each.
std::string RankTableText(const Topology& topology, uint32_t device_count, bool superpods) {
  nlohmann::ordered_json table;
  table["status"] = "completed";
  table["version"] = superpods ? "1.2" : "1.0";
  table["server_count"] = std::to_string(topology.servers().size());
  auto server_id = [](uint32_t s) { return absl::StrCat("server", s); };
  uint32_t rank = 0;
  for (uint32_t s = 0; s < topology.servers().size(); s++) {
    nlohmann::ordered_json server;
    server["server_id"] = server_id(s);
    server["host_ip"] = absl::StrCat("192.168.", s / 250, ".", s % 250 + 1);
    for (uint32_t d = 0; d < topology.servers()[s]; d++, rank++) {
      nlohmann::ordered_json device;
      device["device_id"] = std::to_string(d);
      if (superpods)
        device["super_device_id"] = std::to_string(topology.Of(rank).pod_server * device_count + d);
      device["device_ip"] = absl::StrCat("10.0.", rank / 250, ".", rank % 250 + 1);
      device["rank_id"] = std::to_string(rank);
      server["device"].push_back(std::move(device));
    }
    table["server_list"].push_back(std::move(server));
  }
  uint32_t next = 0;
  for (uint32_t p = 0; superpods && p < topology.superpods().size(); p++) {
    nlohmann::ordered_json pod;
    pod["super_pod_id"] = absl::StrCat("superpod", p);
    for (uint32_t s = 0; s < topology.superpods()[p]; s++) {
      nlohmann::ordered_json server;
      server["server_id"] = server_id(next++);
      pod["server_list"].push_back(std::move(server));
    }
    table["super_pod_list"].push_back(std::move(pod));
  }
  return table.dump(2) + "\n";
}

std::string RankTablePath(const std::string& job_id) {
  const char* folder = getenv("TMPDIR");
  return absl::StrCat(folder && *folder == '/' ? folder : "/tmp", "/hcclrun-", job_id, ".json");
}

RankTableFile::~RankTableFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::string RankTableFile::Write(const std::string& path, const std::string& text) {
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  int error = errno;
  if (fd.valid()) {
    path_ = path;
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = write(fd.get(), text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        error = n < 0 ? errno : EIO;
        fd.Reset();
        break;
      }
      done += static_cast<size_t>(n);
    }
  }
  if (fd.valid()) return "";
  return absl::StrCat("the rank table ", path, " cannot be written: ", strerror(error),
                      "; set TMPDIR to a folder where it can");
}

}  // namespace hcclrun
