#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "launcher/doctor.h"
#include "launcher/environment.h"
#include "launcher/info.h"
#include "launcher/options.h"
#include "launcher/rank_shim.h"
#include "launcher/supervisor.h"

namespace {

// Descriptors 0 to 2 must not become something else's numbers when the caller closed them.
void OpenStandardDescriptors() {
  for (int fd = 0; fd < 3; fd++) {
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDWR);
  }
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardDescriptors();
  if (argc >= 2 && strcmp(argv[1], "--mpi-rank-shim") == 0) return hcclrun::RunRankShim(argc, argv);
  hcclrun::LeaveOuterJob();
  if (argc == 2 && strcmp(argv[1], "doctor") == 0) return hcclrun::RunDoctor();
  if (argc == 2 && strcmp(argv[1], "info") == 0) return hcclrun::RunInfo();

  hcclrun::ParsedOptions parsed = hcclrun::ParseOptions(argc, argv);
  if (!parsed.error.empty()) {
    fprintf(stderr, "hcclrun: %s.\n", parsed.error.c_str());
    return 2;
  }
  switch (parsed.options.action) {
    case hcclrun::Options::Action::kHelp:
      fputs(hcclrun::HelpText(), stdout);
      return 0;
    case hcclrun::Options::Action::kVersion:
      puts("hcclrun " HCCLRUN_VERSION);
      return 0;
    case hcclrun::Options::Action::kRun:
      break;
  }
  return hcclrun::Supervisor(std::move(parsed.options)).Run();
}
