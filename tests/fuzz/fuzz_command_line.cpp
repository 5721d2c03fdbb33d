// hcclrun's command line: the arguments are separated by NUL bytes.

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/options.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> arguments = {"hcclrun", ""};
  for (size_t i = 0; i < size; i++) {
    if (data[i] == 0) {
      arguments.emplace_back();
    } else {
      arguments.back() += static_cast<char>(data[i]);
    }
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const hcclrun::ParsedOptions parsed =
      hcclrun::ParseOptions(static_cast<int>(arguments.size()), argv.data());
  if (parsed.error.empty() && parsed.options.action == hcclrun::Options::Action::kRun &&
      (parsed.options.ranks < 1 || parsed.options.command.empty()))
    __builtin_trap();
  return 0;
}
