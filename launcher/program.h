#pragma once
// Which file a program name means, as execvp would find it.

#include <string>

namespace hcclrun {

struct FoundProgram {
  std::string path;   // empty when there is none
  int exit_code = 0;  // as a shell would exit: 127 = not found, 126 = found but cannot be executed
  std::string sentence;  // what to tell the user when there is none
};

// Names without a slash are looked up in PATH.
FoundProgram FindProgram(const std::string& name);

// Exit code and sentence for a program that was found and that execve() refused with `error`.
FoundProgram ExecRefused(const std::string& path, int error);

}  // namespace hcclrun
