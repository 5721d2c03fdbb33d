#pragma once

#include <dirent.h>

#include <set>
#include <string>

namespace hcclrun::testing {

// Everything in /dev/shm but what MPI programs that run now leave there for a moment.
inline std::set<std::string> NamesInShm() {
  std::set<std::string> names;
  DIR* directory = opendir("/dev/shm");
  if (!directory) return names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    bool foreign = false;
    for (const char* part : {"vader", "ompi", "mpich", "sm_segment"})
      foreign |= name.find(part) != name.npos;
    if (!foreign) names.insert(name);
  }
  closedir(directory);
  return names;
}

}  // namespace hcclrun::testing
