#pragma once
// Which shared libraries a program asks for, read from its ELF file without running it.

#include <string>
#include <vector>

namespace hcclrun {

struct ElfNeeds {
  bool is_elf = false;
  std::vector<std::string> needed;  // DT_NEEDED
  std::vector<std::string> search;  // DT_RPATH and DT_RUNPATH, split, $ORIGIN replaced
};

// Of the machine's own class and byte order; anything else, or a damaged file, is_elf = false.
ElfNeeds ReadElfNeeds(const std::string& path);

// Names of what `path` needs, and what those libraries need in turn, as far as they are found in
// the usual places and `depth` levels deep (1 = only its own).
std::vector<std::string> LibrariesNeeded(const std::string& path, int depth);

}  // namespace hcclrun
