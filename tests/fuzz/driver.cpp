// Runs a fuzz target without libFuzzer: everything in the corpus, then inputs made from it by a
// random generator of fixed seed. It knows nothing of coverage, but needs nothing either, and does
// the same every time.
//
//   fuzz_x [-runs=N] [-seed=S] FILE|DIRECTORY...
//
// The input that kills it is left in ./fuzz_crash.bin.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kLongest = 4096;

const Bytes* g_current;

void KeepInput(int signal) {
  const int fd = open("fuzz_crash.bin", O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (fd >= 0 && g_current) (void)!write(fd, g_current->data(), g_current->size());
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void Try(const Bytes& input) {
  g_current = &input;
  // A copy of exactly this size, so that a sanitizer sees what reads beyond it.
  const Bytes exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

Bytes Mutate(const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  auto below = [&](size_t n) { return n ? random() % n : 0; };
  Bytes input = corpus[below(corpus.size())];
  for (size_t n = 1 + below(8); n > 0; n--) {
    const size_t at = below(input.size());
    switch (below(7)) {
      case 0:
        if (!input.empty()) input[at] ^= uint8_t(1u << below(8));
        break;
      case 1:
        if (!input.empty()) input[at] = uint8_t(random());
        break;
      case 2:
        input.insert(input.begin() + ptrdiff_t(at), 1 + below(16), uint8_t(random()));
        break;
      case 3: {
        const size_t end = std::min(input.size(), at + 1 + below(16));
        input.erase(input.begin() + ptrdiff_t(at), input.begin() + ptrdiff_t(end));
        break;
      }
      case 4: {  // a number that programs stumble over
        const uint64_t numbers[] = {0,          1,
                                    0x7fffffff, 0x80000000,
                                    0xffffffff, uint64_t{1} << 32,
                                    INT64_MAX,  uint64_t{1} << 63,
                                    UINT64_MAX, random()};
        const uint64_t number = numbers[below(std::size(numbers))];
        const size_t bytes = size_t{1} << below(4);
        for (size_t i = 0; i < bytes && at + i < input.size(); i++)
          input[at + i] = uint8_t(number >> (8 * i));
        break;
      }
      case 5: {  // the rest of another input
        const Bytes& other = corpus[below(corpus.size())];
        input.resize(at);
        input.insert(input.end(), other.begin() + ptrdiff_t(below(other.size())), other.end());
        break;
      }
      default:  // a piece of itself again
        if (!input.empty()) {
          const size_t end = std::min(input.size(), at + 1 + below(64));
          const Bytes piece(input.begin() + ptrdiff_t(at), input.begin() + ptrdiff_t(end));
          input.insert(input.begin() + ptrdiff_t(below(input.size())), piece.begin(), piece.end());
        }
    }
  }
  if (input.size() > kLongest) input.resize(kLongest);
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t runs = 0, seed = 1;
  std::vector<std::string> files;
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "-runs=", 6) == 0) {
      runs = strtoull(argv[i] + 6, nullptr, 10);
    } else if (strncmp(argv[i], "-seed=", 6) == 0) {
      seed = strtoull(argv[i] + 6, nullptr, 10);
    } else if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
        files.push_back(entry.path());
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  for (int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(s, KeepInput);
  std::vector<Bytes> corpus;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      fprintf(stderr, "%s cannot be read\n", file.c_str());
      return 2;
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    Try(corpus.back());
  }
  if (corpus.empty()) corpus.emplace_back(64, uint8_t{0});
  std::mt19937_64 random(seed);
  for (uint64_t i = 0; i < runs; i++) Try(Mutate(corpus, random));
  printf("%zu inputs of the corpus, %llu others\n", files.size(),
         static_cast<unsigned long long>(runs));
  fflush(nullptr);
  _exit(0);  // threads of the library may still run
}
