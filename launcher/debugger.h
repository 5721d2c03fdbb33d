#pragma once
// `hcclrun --gdb R`: rank R runs under gdb, on the terminal that hcclrun was started from, and no
// rank runs into a deadline while somebody looks at that one.

#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/program.h"

namespace hcclrun {

FoundProgram FindGdb();

// The command line that runs `command`, whose first word is a path, under gdb.
std::vector<std::string> UnderGdb(const std::vector<std::string>& command);

// Switches off the library's connect and execution timeouts, its notes about long waits, and the
// patience of hcclrun::gtest_main. -x, which is applied later, can switch them on again.
void SetNoDeadlines(Environment* environment);

// Makes `group` the foreground process group of a terminal; nothing happens when `fd` is none, or
// not the caller's own.
void GiveTerminal(int fd, int group);

}  // namespace hcclrun
