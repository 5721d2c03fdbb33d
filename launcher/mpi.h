#pragma once
// MPI programs. Started directly, each rank of one would be an MPI job of its own with one rank,
// which looks fine and means nothing. So hcclrun starts such a program through the mpirun of the
// MPI it was linked with; mpirun starts rank shims (rank_shim.h), which give labels, verdict and
// exit code back to hcclrun.

#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/options.h"

namespace hcclrun {

enum class MpiFlavour { kNone, kOpenMpi, kMpich };

// By the libraries that the program, or a library it needs, asks for.
MpiFlavour MpiOfProgram(const std::string& path);
// By the libraries that a running process has mapped.
MpiFlavour MpiOfProcess(int pid);
const char* MpiName(MpiFlavour flavour);

struct MpiRun {
  std::string path;     // empty when there is none
  std::string version;  // a line of --version
};
// The mpirun in PATH that belongs to `flavour`; candidates are asked for their version.
MpiRun FindMpiRun(MpiFlavour flavour);
// What to say when there is none.
std::string MissingMpiRun(const std::string& program, MpiFlavour flavour);

// argv of mpirun for `ranks` copies of `command`: as root, on any number of
// processors, unbound unless `bind`, quiet.
std::vector<std::string> MpiRunCommand(const MpiRun& mpirun, MpiFlavour flavour, int ranks, bool bind,
                                       const std::vector<std::string>& command);
// Settings that keep a laptop's MPI quiet and fair; what the user has set stays.
void SetMpiVariables(MpiFlavour flavour, Environment* environment);

}  // namespace hcclrun
