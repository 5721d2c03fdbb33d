#include "launcher/descendants.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hcclrun {
namespace {

// State and parent of a process; false when it is gone.
bool Stat(pid_t pid, char* state, pid_t* parent) {
  FILE* f = fopen(absl::StrCat("/proc/", pid, "/stat").c_str(), "re");
  if (!f) return false;
  char line[512];
  bool ok = false;
  if (fgets(line, sizeof line, f)) {
    // The name may hold anything, also blanks and parentheses.
    const char* rest = strrchr(line, ')');
    ok = rest && sscanf(rest + 1, " %c %d", state, parent) == 2;
  }
  fclose(f);
  return ok;
}

}  // namespace

std::vector<pid_t> LivingChildren() {
  std::vector<pid_t> children;
  DIR* proc = opendir("/proc");
  if (!proc) return children;
  while (dirent* entry = readdir(proc)) {
    pid_t pid, parent;
    char state;
    if (!absl::SimpleAtoi(entry->d_name, &pid) || !Stat(pid, &state, &parent)) continue;
    if (parent == getpid() && state != 'Z' && state != 'X') children.push_back(pid);
  }
  closedir(proc);
  return children;
}

}  // namespace hcclrun
