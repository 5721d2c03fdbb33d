#include "launcher/mpi.h"

#include <cstdio>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "launcher/elf_needs.h"
#include "launcher/program.h"

namespace hcclrun {
namespace {

// libmpi.so.12 was also Open MPI 1.10, which no supported system has any more.
MpiFlavour FlavourOf(absl::string_view library) {
  if (absl::StartsWith(library, "libmpich.so.") || absl::StartsWith(library, "libmpi.so.12"))
    return MpiFlavour::kMpich;
  if (absl::StartsWith(library, "libmpi.so.20") || absl::StartsWith(library, "libmpi.so.40"))
    return MpiFlavour::kOpenMpi;
  return MpiFlavour::kNone;
}

std::string VersionOf(const std::string& path) {
  if (path.find('\'') != std::string::npos) return "";
  FILE* f = popen(absl::StrCat("'", path, "' --version 2>/dev/null </dev/null").c_str(), "re");
  if (!f) return "";
  std::string text;
  char buffer[512];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;) text.append(buffer, n);
  pclose(f);
  return text;
}

std::string Squeezed(std::string text) {
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

bool Fits(MpiFlavour flavour, const std::string& version) {
  if (flavour == MpiFlavour::kOpenMpi)
    return absl::StrContains(version, "Open MPI") || absl::StrContains(version, "OpenRTE");
  return absl::StrContains(version, "HYDRA") || absl::StrContains(version, "Intel(R) MPI");
}

}  // namespace

MpiFlavour MpiOfProgram(const std::string& path) {
  for (const std::string& name : LibrariesNeeded(path, 2)) {
    MpiFlavour flavour = FlavourOf(name);
    if (flavour != MpiFlavour::kNone) return flavour;
  }
  return MpiFlavour::kNone;
}

MpiFlavour MpiOfProcess(int pid) {
  FILE* f = fopen(absl::StrCat("/proc/", pid, "/maps").c_str(), "re");
  if (!f) return MpiFlavour::kNone;
  char line[4352];
  MpiFlavour flavour = MpiFlavour::kNone;
  while (flavour == MpiFlavour::kNone && fgets(line, sizeof line, f)) {
    if (const char* slash = strrchr(line, '/')) flavour = FlavourOf(slash + 1);
  }
  fclose(f);
  return flavour;
}

const char* MpiName(MpiFlavour flavour) {
  return flavour == MpiFlavour::kOpenMpi ? "Open MPI" : "MPICH";
}

MpiRun FindMpiRun(MpiFlavour flavour) {
  const std::vector<std::string> names =
      flavour == MpiFlavour::kOpenMpi
          ? std::vector<std::string>{"mpirun.openmpi", "mpirun", "mpiexec", "orterun", "prterun"}
          : std::vector<std::string>{"mpirun.mpich", "mpiexec.hydra", "mpirun", "mpiexec"};
  for (const std::string& name : names) {
    FoundProgram found = FindProgram(name);
    if (found.path.empty()) continue;
    std::string version = VersionOf(found.path);
    if (Fits(flavour, version)) {
      std::vector<std::string> lines = absl::StrSplit(version, '\n');
      size_t line =
          flavour == MpiFlavour::kMpich && lines.size() > 1 ? 1 : 0;  // HYDRA's first is a heading
      return {found.path, Squeezed(lines[line])};
    }
  }
  return {};
}

std::string MissingMpiRun(const std::string& program, MpiFlavour flavour) {
  const char* package = flavour == MpiFlavour::kOpenMpi ? "openmpi-bin" : "mpich";
  return absl::StrCat(
      "'", program, "' uses ", MpiName(flavour), ", and no mpirun of ", MpiName(flavour),
      " is in PATH; without it every rank would be an MPI job of its own. Install the package ",
      package, ", or start the program with --mpi off if that is what you want");
}

std::vector<std::string> MpiRunCommand(const MpiRun& mpirun, MpiFlavour flavour, int ranks, bool bind,
                                       const std::vector<std::string>& command) {
  std::vector<std::string> argv = {mpirun.path};
  const char* const to = bind ? "core" : "none";
  if (flavour == MpiFlavour::kOpenMpi) {
    for (const char* a : {"--allow-run-as-root", "--oversubscribe", "--bind-to", to, "--quiet"})
      argv.push_back(a);
  } else {
    for (const char* a : {"-launcher", "fork", "-bind-to", to}) argv.push_back(a);
  }
  argv.push_back("-n");
  argv.push_back(std::to_string(ranks));
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

void SetMpiVariables(MpiFlavour flavour, Environment* environment) {
  if (flavour != MpiFlavour::kOpenMpi) return;
  const std::pair<const char*, const char*> kSettings[] = {
      {"OMPI_MCA_plm", "isolated"},  // start processes here, without looking for ssh
      // Shared memory only: no probing of network cards and their warnings.
      {"OMPI_MCA_pml", "ob1"},
      {"OMPI_MCA_btl", "self,vader"},
      // Not permitted in most containers, and then loud.
      {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
      {"OMPI_MCA_btl_base_warn_component_unused", "0"},
      {"OMPI_MCA_mpi_yield_when_idle", "1"},  // ranks usually outnumber processors
  };
  for (const auto& [name, value] : kSettings) environment->emplace(name, value);
}

}  // namespace hcclrun
