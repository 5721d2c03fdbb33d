#include "launcher/options.h"

#include <getopt.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/injection.h"
#include "base/settings.h"
#include "base/soc.h"
#include "shm/job_page.h"

namespace hcclrun {
namespace {

enum LongOnly {
  kNoLabel = 256,
  kLogDir,
  kTimeout,
  kSharedRootInfo,
  kMemory,
  kHbm,
  kDeviceCount,
  kServers,
  kSuperPods,
  kSoc,
  kMpi,
  kGdb,
  kKill,
  kDelay,
  kReport,
  kTrace,
  kExplain,
  kA3Report,
  kBind,
  kStrict,
  kVersion
};

const option kLongOptions[] = {
    {"np", required_argument, nullptr, 'n'},
    {"no-label", no_argument, nullptr, kNoLabel},
    {"log-dir", required_argument, nullptr, kLogDir},
    {"timeout", required_argument, nullptr, kTimeout},
    {"shared-root-info", no_argument, nullptr, kSharedRootInfo},
    {"memory", required_argument, nullptr, kMemory},
    {"hbm", required_argument, nullptr, kHbm},
    {"device-count", required_argument, nullptr, kDeviceCount},
    {"servers", required_argument, nullptr, kServers},
    {"superpods", required_argument, nullptr, kSuperPods},
    {"soc", required_argument, nullptr, kSoc},
    {"env", required_argument, nullptr, 'x'},
    {"mpi", required_argument, nullptr, kMpi},
    {"gdb", required_argument, nullptr, kGdb},
    {"kill", required_argument, nullptr, kKill},
    {"delay", required_argument, nullptr, kDelay},
    {"report", required_argument, nullptr, kReport},
    {"trace", required_argument, nullptr, kTrace},
    {"explain", no_argument, nullptr, kExplain},
    {"bind", no_argument, nullptr, kBind},
    {"a3-report", no_argument, nullptr, kA3Report},
    {"strict", no_argument, nullptr, kStrict},
    {"verbose", no_argument, nullptr, 'v'},
    {"version", no_argument, nullptr, kVersion},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
};

std::string BadValue(const char* option, const char* given, const char* wanted) {
  return absl::StrCat(option, " ", given, ": it must be ", wanted);
}

std::string Count(const char* option, const char* text, int* value) {
  if (absl::SimpleAtoi(text, value) && *value >= 1 && *value <= static_cast<int>(kMaxJobRanks))
    return "";
  return BadValue(option, text, "a whole number from 1 to 1024");
}

std::string Size(const char* option, const char* text, std::string* value) {
  uint64_t bytes;
  if (!ParseBytes(text, &bytes)) return BadValue(option, text, "a size such as 8G or 512M");
  *value = text;
  return "";
}

std::string JobTimeout(const char* text, Options* options) {
  double seconds;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds > 0) || seconds > 1e8) {
    return BadValue("--timeout", text, "a number of seconds above 0, decimals allowed");
  }
  options->timeout_ms = std::max<int64_t>(1, std::llround(seconds * 1000));
  options->timeout_text = text;
  return "";
}

std::string GdbRank(const char* text, int* rank) {
  if (absl::SimpleAtoi(text, rank) && *rank >= 0) return "";
  return BadValue("--gdb", text, "the number of a rank");
}

// `texts`: for JoinInjections().
std::string Mishap(const char* option, Injection::What what, const char* text,
                   std::vector<Injection>* mishaps, std::vector<std::string>* texts) {
  Injection injection;
  const std::string error = ParseInjection(text, what, &injection);
  if (!error.empty()) return absl::StrCat(option, " ", text, ": ", error);
  mishaps->push_back(injection);
  texts->push_back(absl::StrCat(what == Injection::What::kKill ? "kill:" : "delay:", text));
  return "";
}

int HighestRank(const std::vector<Injection>& mishaps) {
  int highest = -1;
  for (const Injection& mishap : mishaps) highest = std::max(highest, mishap.rank);
  return highest;
}

std::string Mpi(const std::string& text, MpiChoice* choice) {
  if (text == "auto") return *choice = MpiChoice::kAuto, "";
  if (text == "off") return *choice = MpiChoice::kOff, "";
  if (text == "openmpi") return *choice = MpiChoice::kOpenMpi, "";
  if (text == "mpich") return *choice = MpiChoice::kMpich, "";
  return BadValue("--mpi", text.c_str(), "auto, off, openmpi or mpich");
}

std::string Variable(const std::string& text, std::vector<std::string>* variables) {
  size_t equals = text.find('=');
  if (equals == 0 || text.empty()) return BadValue("-x", text.c_str(), "NAME=VALUE");
  // As with mpirun, a name alone asks to pass the variable on; all of them are.
  if (equals != std::string::npos) variables->push_back(text);
  return "";
}

// Whether the machine that the job plays and the number of ranks fit together.
std::string Machine(const std::string& servers, const std::string& superpods, Options* options) {
  std::string error;
  options->topology = Topology::Parse(servers, superpods, &error);
  if (!error.empty() || !options->topology.given()) return error;
  const uint32_t ranks = options->topology.ranks();
  if (ranks > kMaxJobRanks)
    return absl::StrCat("--servers ", servers, " has ", ranks, " ranks; at most ", kMaxJobRanks,
                        " work");
  if (options->ranks != 0 && options->ranks != static_cast<int>(ranks)) {
    return absl::StrCat("-n ", options->ranks, ", but --servers ", servers, " has ", ranks,
                        " ranks; leave -n out");
  }
  options->ranks = static_cast<int>(ranks);
  if (options->device_count != 0 &&
      options->device_count < static_cast<int>(options->topology.largest_server())) {
    return absl::StrCat("--device-count ", options->device_count, ", but --servers ", servers,
                        " has a server of ", options->topology.largest_server(),
                        " ranks, each of which needs a device");
  }
  return "";
}

std::string Soc(const char* text, std::string* soc) {
  if (IsSocName(text)) return *soc = text, "";
  return BadValue("--soc", text, kSocNames);
}

std::string Unknown(char** argv) {
  std::string given = optopt && optopt < 256
                          ? absl::StrCat("-", std::string(1, static_cast<char>(optopt)))
                          : std::string(argv[optind - 1]);
  return absl::StrCat(
      "unknown or ambiguous option ", given,
      "; options of the program stand behind its name, hcclrun --help lists those of hcclrun");
}

}  // namespace

ParsedOptions ParseOptions(int argc, char** argv) {
  ParsedOptions parsed;
  Options& o = parsed.options;
  std::string servers, superpods;
  std::vector<std::string> mishaps;
  optind = 0;  // glibc: start over, also for a second command line in one process
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "+:n:x:vh", kLongOptions, nullptr)) != -1;) {
    switch (c) {
      case 'n':
        // -np N, as mpirun's users write it
        if (std::string(optarg) == "p" && optind < argc && std::string(argv[optind - 1]) == "-np") {
          optarg = argv[optind++];
        }
        parsed.error = Count("-n", optarg, &o.ranks);
        break;
      case 'x':
        parsed.error = Variable(optarg, &o.variables);
        break;
      case 'v':
        o.verbose = true;
        break;
      case 'h':
        o.action = Options::Action::kHelp;
        return parsed;
      case kVersion:
        o.action = Options::Action::kVersion;
        return parsed;
      case kNoLabel:
        o.labels = false;
        break;
      case kLogDir:
        o.log_directory = optarg;
        break;
      case kTimeout:
        parsed.error = JobTimeout(optarg, &o);
        break;
      case kSharedRootInfo:
        o.shared_root_info = true;
        break;
      case kMemory:
        parsed.error = Size("--memory", optarg, &o.memory);
        break;
      case kHbm:
        parsed.error = Size("--hbm", optarg, &o.hbm);
        break;
      case kDeviceCount:
        parsed.error = Count("--device-count", optarg, &o.device_count);
        break;
      case kServers:
        servers = optarg;
        if (servers.empty())
          parsed.error = "--servers: it must be the ranks of each server, as in 4,4";
        break;
      case kSuperPods:
        superpods = optarg;
        if (superpods.empty())
          parsed.error = "--superpods: it must be the servers of each SuperPoD, as in 1,1";
        break;
      case kSoc:
        parsed.error = Soc(optarg, &o.soc);
        break;
      case kMpi:
        parsed.error = Mpi(optarg, &o.mpi);
        break;
      case kReport:
        o.report = optarg;
        if (o.report.empty()) parsed.error = "--report needs the name of a file";
        break;
      case kTrace:
        o.trace = optarg;
        if (o.trace.empty()) parsed.error = "--trace needs the name of a file";
        break;
      case kExplain:
        o.explain = true;
        break;
      case kBind:
        o.bind = true;
        break;
      case kA3Report:
        o.a3_report = true;
        break;
      case kStrict:
        o.strict = true;
        break;
      case kGdb:
        parsed.error = GdbRank(optarg, &o.gdb_rank);
        break;
      case kKill:
        parsed.error = Mishap("--kill", Injection::What::kKill, optarg, &o.mishaps, &mishaps);
        break;
      case kDelay:
        parsed.error = Mishap("--delay", Injection::What::kDelay, optarg, &o.mishaps, &mishaps);
        break;
      case ':':
        parsed.error = absl::StrCat(argv[optind - 1], " needs a value; see hcclrun --help");
        break;
      default:
        parsed.error = Unknown(argv);
        break;
    }
    if (!parsed.error.empty()) return parsed;
  }
  o.command.assign(argv + optind, argv + argc);
  parsed.error = Machine(servers, superpods, &o);
  if (!parsed.error.empty()) return parsed;
  if (o.command.empty()) {
    parsed.error = "no program given; usage: hcclrun -n N [options] program [arguments]";
  } else if (o.ranks == 0) {
    parsed.error = absl::StrCat("say how many ranks to start: hcclrun -n N ", o.command[0], " ...");
  } else if (o.gdb_rank >= o.ranks) {
    parsed.error = absl::StrCat("--gdb ", o.gdb_rank, ": the job has the ranks 0 to ", o.ranks - 1);
  } else if (!o.report.empty() && o.report == o.trace) {
    parsed.error = absl::StrCat("--report and --trace both name ", o.report, "; give each a file");
  } else if (HighestRank(o.mishaps) >= o.ranks) {
    parsed.error = absl::StrCat("--kill or --delay of rank ", HighestRank(o.mishaps),
                                ": the job has the ranks 0 to ", o.ranks - 1);
  }
  // Before the user's, which win.
  if (!mishaps.empty())
    o.variables.insert(o.variables.begin(), absl::StrCat(kEnvInject, "=", JoinInjections(mishaps)));
  return parsed;
}

const char* HelpText() {
  return "Usage: hcclrun -n N [options] program [arguments]\n"
         "       hcclrun doctor | info        what this machine allows | settings in force\n"
         "Runs N ranks of a HCCL program on this machine, without NPUs.\n"
         "\n"
         "  -n, --np N          number of ranks, 1 to 1024, on any number of processors\n"
         "  --timeout S         end the job after S seconds, with exit code 124\n"
         "  --log-dir DIR       output to DIR/rank.R.out, .err; --no-label: no '[rank] '\n"
         "  -x, --env NAME=VAL  set a variable for the ranks; {rank} and {size} replaced\n"
         "  --shared-root-info  HcclGetRootInfo returns the same on every rank\n"
         "  --memory, --hbm B   bound device memory of the job; address space per device\n"
         "  --strict            device memory closed to the host; --bind: a core each;\n"
         "                      --device-count K: devices a rank sees, default N\n"
         "  --servers 4,4       play servers of 4 and 4 ranks (instead of -n N), and\n"
         "  --superpods 1,1     SuperPoDs of one server each; --soc NAME: another chip\n"
         "  --mpi WHICH         auto (default), off, openmpi, mpich: whose mpirun it gets\n"
         "  --report, --trace F JSON of what ranks do, Perfetto; --explain; --a3-report\n"
         "  --gdb R             rank R under gdb on this terminal; nobody times out\n"
         "  --kill R:CALL[#N]   end rank R in its N-th call; --delay R:CALL:50ms: wait\n"
         "  -v, --verbose       say what is started; also --version and -h, --help\n"
         "{rank} and {size} in arguments are replaced. Ranks get RANK, WORLD_SIZE,\n"
         "LOCAL_RANK, RANK_ID, RANK_SIZE, DEVICE_ID; rank 0 gets the standard input.\n"
         "Exit code: of the first rank that failed, 128 + signal if it was killed;\n"
         "124 timeout, 126/127 program not executable/found, 2 bad usage.\n";
}

}  // namespace hcclrun
