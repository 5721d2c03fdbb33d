#include "launcher/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hcclrun {
namespace {

enum class Kind { kMissing, kDirectory, kNotExecutable, kExecutable };

Kind Inspect(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return Kind::kMissing;
  if (S_ISDIR(st.st_mode)) return Kind::kDirectory;
  return access(path.c_str(), X_OK) == 0 ? Kind::kExecutable : Kind::kNotExecutable;
}

FoundProgram None(int code, std::string sentence) { return {"", code, std::move(sentence)}; }

}  // namespace

FoundProgram FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    switch (Inspect(name)) {
      case Kind::kMissing:
        return None(127, absl::StrCat("there is no program '", name,
                                      "'; check the path, relative paths start from ",
                                      "the current directory"));
      case Kind::kDirectory:
        return None(126, absl::StrCat("'", name, "' is a directory, not a program"));
      case Kind::kNotExecutable:
        return None(
            126, absl::StrCat("'", name,
                              "' is not executable; chmod +x makes it so; a script may also be ",
                              "given to its interpreter, as in: hcclrun -n 2 python3 script.py"));
      case Kind::kExecutable:
        return {name, 0, ""};
    }
  }
  const char* variable = getenv("PATH");
  std::string blocked;
  for (absl::string_view directory :
       absl::StrSplit(variable ? variable : "/usr/local/bin:/usr/bin:/bin", ':')) {
    std::string path = absl::StrCat(directory.empty() ? "." : directory, "/", name);
    Kind kind = Inspect(path);
    if (kind == Kind::kExecutable) return {path, 0, ""};
    if (kind == Kind::kNotExecutable) blocked = path;
  }
  if (!blocked.empty()) {
    return None(126, absl::StrCat("'", blocked, "' is not executable; chmod +x makes it so"));
  }
  bool here = Inspect("./" + name) == Kind::kExecutable;
  return None(127, absl::StrCat("no program '", name, "' in PATH",
                                here ? "; there is one in the current directory: ./" : "",
                                here ? name : ""));
}

FoundProgram ExecRefused(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      return None(127, absl::StrCat(
                           "'", path,
                           "' cannot be started: the interpreter or loader that it names does not ",
                           "exist on this machine"));
    case ENOEXEC:
      return None(126, absl::StrCat("'", path, "' is not a program for this machine"));
    case E2BIG:
      return None(126,
                  absl::StrCat("'", path,
                               "' cannot be started: its arguments and environment are too long"));
    default:
      return None(126, absl::StrCat("'", path, "' cannot be started: ", strerror(error)));
  }
}

}  // namespace hcclrun
