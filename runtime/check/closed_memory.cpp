#include "check/closed_memory.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/job.h"
#include "base/log.h"
#include "device/device.h"
#include "device/memory_detail.h"
#include "device/memory_map.h"
#include "device/program_view.h"

namespace hcclrun {
namespace {

using Place = MemoryDetail::Place;

thread_local CallId t_last_call = CallId::kNone;
// How often handlers of the program have called ours in turn, since the kernel called it: they had
// found it when they were installed.
thread_local size_t t_depth = 0;

// Handlers that the program had when we took their place, the newest last. Only grows, in order.
constexpr size_t kMaxChain = 16;
struct Chain {
  struct sigaction before[kMaxChain];
  std::atomic<size_t> size{0};
};
Chain g_segv, g_sys;
int g_rank = -1;

// A line for a signal handler: no allocation.
class Line {
 public:
  template <class... Args>
  void Add(const char* format, Args... args) {
    if (used_ >= sizeof text_) return;
    int n = 0;
    if constexpr (sizeof...(args) == 0) {
      n = snprintf(text_ + used_, sizeof text_ - used_, "%s", format);
    } else {
      n = snprintf(text_ + used_, sizeof text_ - used_, format, args...);
    }
    if (n > 0) used_ = std::min(sizeof text_ - 2, used_ + static_cast<size_t>(n));
  }
  void Write() {
    text_[used_++] = '\n';
    (void)!write(STDERR_FILENO, text_, used_);
  }

 private:
  char text_[1536] = {};
  size_t used_ = 0;
};

void Begin(Line* line) {
  if (g_rank >= 0) {
    line->Add("hcclrun: rank %d: ", g_rank);
  } else {
    line->Add("hcclrun: ");
  }
}

void AddMemory(Line* line, const char* address, const MemoryDetail& detail) {
  const MemoryInfo& m = detail.memory;
  const unsigned long long offset = static_cast<unsigned long long>(address - m.base);
  auto name = [&] {
    if (m.kind == MemoryKind::kPeerView) {
      line->Add(
          "another rank's memory, or memory by its place in a symmetric window (%llu bytes at %p)",
          static_cast<unsigned long long>(m.size), static_cast<void*>(m.base));
      return;
    }
    line->Add("%s #%llu (%llu bytes at %p", m.made_by ? m.made_by : "memory",
              static_cast<unsigned long long>(m.number), static_cast<unsigned long long>(m.size),
              static_cast<void*>(m.base));
    if (m.device) line->Add(", device %d", m.device->id());
    line->Add(")");
  };
  switch (detail.place) {
    case Place::kInside:
      line->Add("is device memory: offset %llu of ", offset);
      name();
      break;
    case Place::kGone:
      line->Add("was device memory: offset %llu of ", offset);
      name();
      line->Add(", which %s has given back", detail.ended_by);
      break;
    case Place::kReserved:
      line->Add(
          "lies in a reservation of aclrtReserveMemAddress (%llu bytes at %p), where nothing is "
          "mapped",
          static_cast<unsigned long long>(m.size), static_cast<void*>(m.base));
      break;
    default: {
      // Behind the end of an allocation, mostly.
      MemoryDetail before;
      const char* nearest = address;
      for (int pages = 0; pages < 2 && before.place != Place::kInside; pages++) {
        nearest -= 4096;
        DescribeClosed(nearest, &before);
      }
      line->Add("lies in the address space of a device, where nothing is allocated");
      if (before.place == Place::kInside && before.memory.kind != MemoryKind::kPeerView) {
        const MemoryInfo& b = before.memory;
        line->Add("; %llu bytes behind the end of %s #%llu (%llu bytes at %p)",
                  static_cast<unsigned long long>(address - (b.base + b.size)),
                  b.made_by ? b.made_by : "memory", static_cast<unsigned long long>(b.number),
                  static_cast<unsigned long long>(b.size), static_cast<void*>(b.base));
      }
    }
  }
}

// Where in the program: the innermost frame outside of the C library and of this one.
void AddPlace(Line* line, void* context) {
  void* frames[24];
  const int count = backtrace(frames, 24);
  Dl_info own = {};
  dladdr(reinterpret_cast<void*>(&WatchClosedMemory), &own);
  void* pc = nullptr;
#if defined(__x86_64__)
  pc = reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  pc = reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#endif
  int first = 0;
  while (first < count && frames[first] != pc) first++;
  for (int i = first < count ? first : 0; i < count; i++) {
    Dl_info info = {};
    // A return address may be the first of the next function.
    char* at = static_cast<char*>(frames[i]) - (i == first ? 0 : 1);
    if (!dladdr(at, &info) || !info.dli_fname || info.dli_fbase == own.dli_fbase) continue;
    const char* slash = strrchr(info.dli_fname, '/');
    const char* name = slash ? slash + 1 : info.dli_fname;
    if (strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
        strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "linux-vdso", 10) == 0 ||
        strncmp(name, "ld-linux", 8) == 0)
      continue;
    if (info.dli_sname) line->Add(" in %s", info.dli_sname);
    line->Add(" (%s+%#lx)", name,
              static_cast<unsigned long>(at - static_cast<char*>(info.dli_fbase)));
    return;
  }
}

void AddLastCall(Line* line) {
  if (t_last_call == CallId::kNone) {
    line->Add("; this thread had not called the library");
  } else {
    line->Add("; the thread's last call was %s", CallName(t_last_call));
  }
}

void ExplainSegv(siginfo_t* info, void* context) {
  MemoryDetail detail;
  if (!DescribeClosed(info->si_addr, &detail)) return;
  // A program whose handler goes on at the same place is told once.
  static std::atomic<void*> told{nullptr};
  if (told.exchange(info->si_addr, std::memory_order_relaxed) == info->si_addr) return;
  const char* verb = "touches";
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;
  verb = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite ? "writes to"
                                                                                : "reads from";
#endif
  Line line;
  Begin(&line);
  line.Add("the host %s %p, which it cannot on hardware", verb, info->si_addr);
  AddPlace(&line, context);
  line.Add(". The address ");
  AddMemory(&line, static_cast<char*>(info->si_addr), detail);
  AddLastCall(&line);
  line.Add(". Copy with aclrtMemcpy (--strict)");
  line.Write();
}

// Hands the signal on, as the kernel would have delivered it to that handler.
[[gnu::noinline]] void HandOn(Chain& chain, int signal, siginfo_t* info, void* context) {
  const size_t size = chain.size.load(std::memory_order_acquire);
  const size_t depth = t_depth;
  struct sigaction before;
  memset(&before, 0, sizeof before);
  if (depth < size) before = chain.before[size - 1 - depth];
  const bool has_handler = (before.sa_flags & SA_SIGINFO) ||
                           (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
  if (!has_handler) {
    // The faulting instruction runs again, and this time the signal ends the process.
    struct sigaction end;
    memset(&end, 0, sizeof end);
    end.sa_handler = SIG_DFL;
    sigaction(signal, &end, nullptr);
    if (info->si_code <= 0 || signal == SIGSYS) raise(signal);
    return;
  }
  sigset_t mask, old;
  mask = before.sa_mask;
  if (!(before.sa_flags & SA_NODEFER)) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, &old);
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

// Whether the kernel has called the handler whose frame this is: it has put `context` right above.
// A handler of the program that calls ours has HandOn() in between, whose frame alone is larger. (A
// counter of calls and returns would not do: handlers may leave with siglongjmp.)
bool CalledByKernel(const void* frame, const void* context) {
  constexpr ptrdiff_t kNear = 400;
  const ptrdiff_t distance = static_cast<const char*>(context) - static_cast<const char*>(frame);
  return distance >= 0 && distance < kNear;
}

void OnSegv(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool first = CalledByKernel(__builtin_frame_address(0), context);
  t_depth = first ? 0 : t_depth + 1;
  if (first && info->si_code > 0) ExplainSegv(info, context);
  errno = error;
  HandOn(g_segv, signal, info, context);
  errno = error;
}

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

struct Watched {
  long number;
  int argument;
  const char* name;
};
constexpr Watched kWatched[] = {
    {SYS_read, 1, "read"},           {SYS_write, 1, "write"}, {SYS_pread64, 1, "pread"},
    {SYS_pwrite64, 1, "pwrite"},     {SYS_sendto, 1, "send"}, {SYS_recvfrom, 1, "recv"},
    {SYS_getrandom, 0, "getrandom"},
};

[[gnu::noinline]] void AnswerSystemCall(const Watched* watched, void* context) {
  const int error = errno;
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const greg_t arguments[6] = {machine.gregs[REG_RDI], machine.gregs[REG_RSI],
                               machine.gregs[REG_RDX], machine.gregs[REG_R10],
                               machine.gregs[REG_R8],  machine.gregs[REG_R9]};
  auto& result = machine.gregs[REG_RAX];
#elif defined(__aarch64__)
  unsigned long long arguments[6];
  for (int i = 0; i < 6; i++) arguments[i] = machine.regs[i];
  auto& result = machine.regs[0];
#endif
  char* const buffer = reinterpret_cast<char*>(arguments[watched->argument]);
  const bool open = OpenProgramView::IsOpen();
  MemoryDetail detail;
  const bool closed = DescribeClosed(buffer, &detail);
  if (open && closed) {
    // A kernel of the program may: at the library's own address, which the filter lets through.
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = static_cast<long>(arguments[i]);
    a[watched->argument] = reinterpret_cast<long>(EngineView(buffer));
    const long got = syscall(watched->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    result = got < 0 ? -errno : got;
    errno = error;
    return;
  }
  result = -EFAULT;
  if (closed) {
    Line line;
    Begin(&line);
    line.Add("the system call %s fails with EFAULT (bad address): the host passes it %p",
             watched->name, static_cast<void*>(buffer));
    AddPlace(&line, context);
    line.Add(". The address ");
    AddMemory(&line, buffer, detail);
    AddLastCall(&line);
    line.Add(". Copy to host memory with aclrtMemcpy first (--strict)");
    line.Write();
  }
  errno = error;
}

constexpr int kFromFilter = 1;  // SYS_SECCOMP, which not every libc names

void OnSys(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  for (const Watched& w : kWatched) {
    if (info->si_code == kFromFilter && w.number == info->si_syscall) {
      AnswerSystemCall(&w, context);
      return;
    }
  }
  t_depth = CalledByKernel(__builtin_frame_address(0), context) ? 0 : t_depth + 1;
  HandOn(g_sys, signal, info, context);
  errno = error;
}

// Traps the calls above if their buffer lies where the program's view is.
void InstallFilter() {
  constexpr uint32_t kLow = kProgramViewBegin >> 32, kHigh = kProgramViewEnd >> 32;
  constexpr uint8_t kCalls = sizeof kWatched / sizeof kWatched[0];
  sock_filter program[5 + 6 * kCalls];
  unsigned short n = 0;
  auto add = [&](uint16_t code, uint32_t k, uint8_t yes = 0, uint8_t no = 0) {
    program[n++] = {code, yes, no, k};
  };
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const Watched& w : kWatched) {
    // The upper halves are compared: both are little-endian machines.
    const uint32_t upper =
        static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * w.argument + 4);
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(w.number), 0, 5);
    add(BPF_LD | BPF_W | BPF_ABS, upper);
    add(BPF_JMP | BPF_JGE | BPF_K, kHigh, 2, 0);
    add(BPF_JMP | BPF_JGE | BPF_K, kLow, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  sock_fprog filter = {n, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  // Of all threads at once; where that is not to be had, system calls just fail.
  (void)!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

void TakeFront(int signal, void (*handler)(int, siginfo_t*, void*), Chain& chain) {
  struct sigaction now;
  if (sigaction(signal, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handler) return;
  const size_t size = chain.size.load(std::memory_order_relaxed);
  if (size == kMaxChain) {
    static std::once_flag told;
    std::call_once(told, [signal] {
      Tell(LogLevel::kWarning,
           absl::StrCat(
               "the program has installed a handler of ", signal == SIGSEGV ? "SIGSEGV" : "SIGSYS",
               " for the ", kMaxChain + 1,
               "th time after HCCLRUN_STRICT took its place in front; this one stays in front, "
               "and accesses of the host to device memory are explained only if it hands the "
               "signal on"));
    });
    return;
  }
  chain.before[size] = now;
  chain.size.store(size + 1, std::memory_order_release);
  struct sigaction ours;
  memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  sigaction(signal, &ours, nullptr);
}

}  // namespace

void WatchClosedMemory(CallId call) {
  t_last_call = call;
  static std::mutex* mutex = new std::mutex();
  std::lock_guard<std::mutex> lock(*mutex);
  static bool first = true;
  TakeFront(SIGSEGV, OnSegv, g_segv);
  TakeFront(SIGSYS, OnSys, g_sys);
  if (!std::exchange(first, false)) return;
  g_rank = Job::Get().rank();
  void* frame;
  backtrace(&frame, 1);  // loads what it needs now, not in the handler
  InstallFilter();
}

}  // namespace hcclrun
