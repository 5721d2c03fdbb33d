#pragma once
// What a rank finds in its environment and arguments.

#include <map>
#include <string>
#include <vector>

#include "base/topology.h"

namespace hcclrun {

using Environment = std::map<std::string, std::string>;

Environment CurrentEnvironment();
std::vector<std::string> ToStrings(const Environment& environment);

// Names the rank table of a job with --servers, as frameworks do.
inline constexpr char kRankTableFile[] = "RANK_TABLE_FILE";

struct JobIdentity {
  std::string id, secret;  // hex
  std::string lifeline;    // abstract socket name
  static JobIdentity Random();
};

// Takes what an outer hcclrun gave us out of our own environment, so that a job started inside a
// job is its own.
void LeaveOuterJob();

// The same for every rank: identity, size, device count, servers, library path.
void SetJobVariables(const JobIdentity& identity, int size, int device_count,
                     const Topology& topology, Environment* environment);
// RANK, RANK_ID, HCCLRUN_RANK; LOCAL_RANK and LOCAL_WORLD_SIZE on its server; DEVICE_ID =
// LOCAL_RANK modulo the device count.
void SetRankVariables(int rank, int size, int device_count, const Topology& topology,
                      Environment* environment);
// `assignments` are NAME=VALUE with {rank} and {size}; they win over everything.
void SetUserVariables(const std::vector<std::string>& assignments, int rank, int size,
                      Environment* environment);

// Replaces every {rank} and {size}.
std::string Substitute(const std::string& text, int rank, int size);
std::vector<std::string> Substitute(const std::vector<std::string>& texts, int rank, int size);

// The lib64 folder beside this binary's bin, in the build tree and in the install tree; empty when
// it holds no libhccl.so.
std::string LibraryDirectory();
// Path of this very binary.
std::string OwnPath();

}  // namespace hcclrun
