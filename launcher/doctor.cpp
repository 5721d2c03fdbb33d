#include "launcher/doctor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/settings.h"
#include "launcher/environment.h"
#include "launcher/fd.h"
#include "launcher/mpi.h"
#include "shm/budget.h"
#include "shm/job_page.h"
#include "shm/memory_object.h"
#include "shm/processors.h"
#include "shm/socket.h"

namespace hcclrun {
namespace {

enum class Grade { kOk, kNote, kProblem };

class Report {
 public:
  void Add(Grade grade, const char* subject, const std::string& text) {
    const char* mark = grade == Grade::kOk     ? "OK     "
                       : grade == Grade::kNote ? "note   "
                                               : "PROBLEM";
    printf("%s  %-18s %s\n", mark, subject, text.c_str());
    problems_ += grade == Grade::kProblem;
  }
  int problems() const { return problems_; }

 private:
  int problems_ = 0;
};

std::string Gib(uint64_t bytes) {
  if (bytes < (uint64_t{1} << 30)) return absl::StrCat(bytes >> 20, " MiB");
  return absl::StrFormat("%.1f GiB", double(bytes) / double(uint64_t{1} << 30));
}

void Processors(Report* report) {
  const uint32_t allowed = UsableProcessors();
  const double quota = QuotaProcessors();
  std::string text = absl::StrCat(allowed, " usable of ", sysconf(_SC_NPROCESSORS_CONF));
  if (quota > 0 && quota < allowed) {
    report->Add(Grade::kNote, "processors",
                absl::StrFormat("%s, but the container's quota is worth %.1f; timings will "
                                "show it",
                                text, quota));
  } else {
    report->Add(Grade::kOk, "processors", text + "; more ranks than that take turns");
  }
}

void Memory(Report* report) {
  uint64_t available = MachineMemoryAvailable();
  uint64_t bound = Settings::Get().memory_bytes;
  uint64_t budget = bound ? std::min(bound, available) : available;
  std::string text = absl::StrCat(
      Gib(budget), " for device memory of all ranks together",
      bound ? " (HCCLRUN_MEMORY)" : ", as the machine, its cgroups and /dev/shm allow now");
  if (budget < (uint64_t{64} << 20)) {
    report->Add(Grade::kProblem, "memory budget",
                text + "; free some memory or raise the container's limit");
  } else if (budget < (uint64_t{1} << 30)) {
    report->Add(Grade::kNote, "memory budget",
                text +
                    "; HCCL buffers take 400 MiB per rank when used in full: lower "
                    "HCCL_BUFFSIZE if allocations fail");
  } else {
    report->Add(Grade::kOk, "memory budget", text);
  }
}

void SharedMemory(Report* report) {
  struct statvfs fs;
  bool present = statvfs("/dev/shm", &fs) == 0;
  uint64_t size = present ? uint64_t{fs.f_blocks} * fs.f_frsize : 0;
  bool large = size >= kSmallShm;
  std::string where = !present ? "/dev/shm does not exist"
                               : absl::StrCat("/dev/shm has ", Gib(size), ", ",
                                              Gib(uint64_t{fs.f_bavail} * fs.f_frsize), " free");
  std::string backing = "unnamed files there";
  if (large) {
    Fd fd(open("/dev/shm", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid())
      backing = absl::StrCat("memfd, since O_TMPFILE fails there (", strerror(errno), ")");
  } else {
    backing = absl::StrCat("memfd, since that is less than ", Gib(kSmallShm));
  }
  int error = 0;
  Result<MemoryObject> object = MemoryObject::Create(2 << 20);
  if (!object.ok()) {
    error =
        object.fault().kind == FaultKind::kSystem ? static_cast<int>(object.fault().n[0]) : ENOSYS;
  } else if (fallocate(object->fd(), 0, 0, 2 << 20) != 0) {
    error = errno;
  } else {
    void* p = mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, object->fd(), 0);
    if (p == MAP_FAILED) {
      error = errno;
    } else {
      memset(p, 1, 4096), munmap(p, 2 << 20);
    }
  }
  const bool works = error == 0;
  report->Add(
      works ? Grade::kOk : Grade::kProblem, "shared memory",
      works ? absl::StrCat(where, "; device memory uses ", backing)
            : absl::StrCat(where, "; no shared memory can be created: ", strerror(error),
                           "; allow memfd_create and fallocate, or mount a tmpfs on /dev/shm"));
}

void AddressSpace(Report* report) {
  uint64_t hbm = Settings::Get().hbm_bytes;
  int most = 0;
  for (int ranks = 1; ranks <= static_cast<int>(kMaxJobRanks); ranks *= 2) {
    if (hbm > UINT64_MAX / 2 / ranks) break;
    void* p =
        mmap(nullptr, hbm * ranks, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) break;
    munmap(p, hbm * ranks);
    most = ranks;
  }
  rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  std::string text =
      absl::StrCat("room for ", most, " ranks of ", Gib(hbm), " each (HCCLRUN_HBM_SIZE or --hbm)");
  if (limit.rlim_cur != RLIM_INFINITY)
    absl::StrAppend(&text, "; ulimit -v is ", Gib(limit.rlim_cur));
  if (most >= 64) {
    report->Add(Grade::kOk, "address space", text);
  } else {
    report->Add(Grade::kNote, "address space",
                text + "; for more ranks use a smaller --hbm, such as 4G");
  }
}

void Limits(Report* report) {
  rlimit files, processes;
  getrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NPROC, &processes);
  uint64_t by_files = files.rlim_max == RLIM_INFINITY ? kMaxJobRanks
                      : files.rlim_max < 67           ? 0
                                                      : (files.rlim_max - 64) / 3;
  uint64_t ranks = std::min<uint64_t>(kMaxJobRanks, by_files);
  std::string text = absl::StrCat("ulimit -Hn allows ", ranks, " ranks");
  if (ranks < 64) {
    report->Add(Grade::kNote, "open files",
                text + "; raise it, or use --log-dir, which needs fewer");
  } else {
    report->Add(Grade::kOk, "open files", text);
  }
  if (processes.rlim_cur != RLIM_INFINITY && processes.rlim_cur < 1024) {
    report->Add(Grade::kNote, "processes",
                absl::StrCat("ulimit -u is ", processes.rlim_cur, ", threads of ranks count"));
  }
}

void ProcessControl(Report* report) {
  int fd = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  const int error = errno;
  if (fd >= 0) close(fd);
  if (fd >= 0) {
    report->Add(Grade::kOk, "pidfd", "deaths of peers are noticed at once");
  } else {
    report->Add(Grade::kNote, "pidfd",
                absl::StrCat("not available (", strerror(error), "); /proc is looked at instead"));
  }
  bool reaper = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
  bool proc = access("/proc/self/stat", R_OK) == 0;
  report->Add(reaper && proc ? Grade::kOk : Grade::kNote, "process control",
              !proc    ? "/proc is missing: what ranks leave behind may survive; mount it"
              : reaper ? "nothing that ranks leave behind survives"
                       : "no child subreaper: what ranks leave behind may survive");
}

void Sockets(Report* report) {
  std::string name = absl::StrCat("hcclrun-doctor-", RandomHex(8));
  auto failed = [&](const char* what, const Fault& fault) {
    const int error = fault.kind == FaultKind::kSystem ? static_cast<int>(fault.n[0]) : ETIMEDOUT;
    report->Add(Grade::kProblem, "abstract sockets",
                absl::StrCat(what, " fails: ", strerror(error),
                             "; ranks find each other through Unix sockets with "
                             "abstract names: allow them"));
  };
  Result<UniqueFd> listener = ListenAbstract(name, 1);
  if (!listener.ok()) return failed("listening", listener.fault());
  Result<UniqueFd> client = ConnectAbstract(name, Deadline::After(1'000));
  if (!client.ok()) return failed("connecting", client.fault());
  Result<UniqueFd> server = AcceptSameUser(listener->get(), Deadline::After(1'000));
  char byte = 1;
  std::vector<UniqueFd> fds;
  if (!server.ok()) return failed("accepting", server.fault());
  if (!server->valid()) return failed("accepting", Fault::None());
  if (Fault f = SendPacket(client->get(), &byte, 1, {STDERR_FILENO}, Deadline::After(1'000)))
    return failed("sending", f);
  Result<size_t> got = ReceivePacket(server->get(), &byte, 1, &fds, Deadline::After(1'000));
  if (!got.ok()) return failed("receiving", got.fault());
  if (fds.size() != 1) return failed("passing a descriptor", Fault::None());
  report->Add(Grade::kOk, "abstract sockets", "with credentials and passing of descriptors");
}

void Chip(Report* report) {
  const Settings& settings = Settings::Get();
  report->Add(settings.atlas_a3 ? Grade::kOk : Grade::kNote, "chip",
              absl::StrCat(settings.soc, settings.atlas_a3
                                             ? " (Atlas A3) is played"
                                             : " is played (HCCLRUN_SOC), which has no symmetric "
                                               "windows and no zero-copy memory"));
}

// Loads the library in a child, so that nothing of it stays here. Empty, or the loader's complaint.
std::string LoadTrouble(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return strerror(errno);
  Fd in(ends[0]), out(ends[1]);
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const char* why = dlerror();
      (void)!write(out.get(), why, strlen(why));
    }
    _exit(0);
  }
  out.Reset();
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(in.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  int status = 0;
  waitpid(pid, &status, 0);
  return text.empty() && status != 0 ? "the loading process died" : text;
}

void Library(Report* report) {
  std::string directory = LibraryDirectory();
  if (directory.empty()) {
    report->Add(Grade::kProblem, "library",
                absl::StrCat("no lib64/libhccl.so beside ", OwnPath(),
                             "; build or install hcclrun completely"));
    return;
  }
  for (const char* name : {"libascendcl.so", "libhccl.so"}) {
    std::string trouble = LoadTrouble(absl::StrCat(directory, "/", name));
    if (!trouble.empty()) {
      report->Add(Grade::kProblem, "library", absl::StrCat(name, " does not load: ", trouble));
      return;
    }
  }
  report->Add(Grade::kOk, "library",
              absl::StrCat(directory, ", put first into LD_LIBRARY_PATH of ranks"));
  const char* path = getenv("LD_LIBRARY_PATH");
  for (absl::string_view d : absl::StrSplit(path ? path : "", ':', absl::SkipEmpty())) {
    std::string other = absl::StrCat(d, "/libhccl.so");
    if (d != directory && access(other.c_str(), R_OK) == 0) {
      report->Add(Grade::kNote, "library",
                  absl::StrCat(other, " is in LD_LIBRARY_PATH, too; under hcclrun it is not used"));
    }
  }
}

void Mpi(Report* report) {
  bool any = false;
  for (MpiFlavour flavour : {MpiFlavour::kOpenMpi, MpiFlavour::kMpich}) {
    MpiRun run = FindMpiRun(flavour);
    if (run.path.empty()) continue;
    any = true;
    report->Add(Grade::kOk, MpiName(flavour), absl::StrCat(run.path, " (", run.version, ")"));
  }
  if (!any)
    report->Add(Grade::kNote, "MPI",
                "none found; only MPI programs need one (openmpi-bin or mpich)");
}

}  // namespace

int RunDoctor() {
  Report report;
  Processors(&report);
  Memory(&report);
  SharedMemory(&report);
  AddressSpace(&report);
  Limits(&report);
  ProcessControl(&report);
  Sockets(&report);
  Chip(&report);
  Library(&report);
  Mpi(&report);
  if (report.problems() == 0) {
    puts("hcclrun can be used here.");
  } else {
    printf("hcclrun cannot be used here: %d of the above must be solved first.\n",
           report.problems());
  }
  return report.problems() ? 1 : 0;
}

}  // namespace hcclrun
