#pragma once
// The command line: hcclrun -n N [options] program [arguments], or with --servers instead of -n.

#include <cstdint>
#include <string>
#include <vector>

#include "base/injection.h"
#include "base/topology.h"

namespace hcclrun {

enum class MpiChoice { kAuto, kOff, kOpenMpi, kMpich };

struct Options {
  enum class Action { kRun, kHelp, kVersion };
  Action action = Action::kRun;
  int ranks = 0;
  bool labels = true;
  std::string log_directory;
  int64_t timeout_ms = 0;    // 0 = none
  std::string timeout_text;  // as given
  bool shared_root_info = false;
  std::string memory, hbm;             // as given and checked; empty = not given
  int device_count = 0;                // 0 = not given
  Topology topology;                   // --servers, --superpods
  std::string soc;                     // as given and checked; empty = not given
  bool strict = false;
  std::vector<std::string> variables;  // NAME=VALUE
  MpiChoice mpi = MpiChoice::kAuto;
  int gdb_rank = -1;  // the rank that runs under gdb; -1 = none
  std::vector<Injection> mishaps;  // --kill and --delay; also among the variables
  bool bind = false;  // each rank to a processor of its own
  bool verbose = false;
  std::string report, trace;  // files; empty = none
  bool explain = false, a3_report = false;
  std::vector<std::string> command;  // program and its arguments
};

struct ParsedOptions {
  Options options;
  std::string error;  // one sentence; empty when the line is good
};

// Options end at the first argument that is none: everything behind the program belongs
// to the program.
ParsedOptions ParseOptions(int argc, char** argv);

// Fits a terminal of 80 x 24.
const char* HelpText();

}  // namespace hcclrun
