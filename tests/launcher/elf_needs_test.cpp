#include "launcher/elf_needs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "launcher/mpi.h"

namespace hcclrun {
namespace {

bool HasPrefix(const std::vector<std::string>& names, const std::string& prefix) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& n) { return n.rfind(prefix, 0) == 0; });
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) {
    int fd = mkstemp(path_);
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(fd);
  }
  ~TemporaryFile() { unlink(path_); }
  const char* path() const { return path_; }

 private:
  char path_[64] = "/tmp/hcclrun-elf-XXXXXX";
};

TEST(ElfNeeds, OfThisProgram) {
  ElfNeeds needs = ReadElfNeeds("/proc/self/exe");
  EXPECT_TRUE(needs.is_elf);
  EXPECT_TRUE(HasPrefix(needs.needed, "libc.so."));
  EXPECT_TRUE(HasPrefix(needs.needed, "libstdc++.so."));
}

TEST(ElfNeeds, FindsWhatLibrariesNeed) {
  std::vector<std::string> own = LibrariesNeeded("/proc/self/exe", 1),
                           all = LibrariesNeeded("/proc/self/exe", 2);
  EXPECT_GE(all.size(), own.size());
  EXPECT_TRUE(HasPrefix(all, "ld-linux")) << "the C library asks for its loader";
}

TEST(ElfNeeds, OtherFilesHaveNone) {
  EXPECT_FALSE(ReadElfNeeds("/nonexistent").is_elf);
  EXPECT_FALSE(ReadElfNeeds("/dev/null").is_elf);
  EXPECT_FALSE(ReadElfNeeds("/tmp").is_elf);
  TemporaryFile script("#!/bin/sh\nexit 0\n");
  EXPECT_FALSE(ReadElfNeeds(script.path()).is_elf);
  EXPECT_EQ(MpiOfProgram(script.path()), MpiFlavour::kNone);
}

TEST(ElfNeeds, DamagedFilesAreSurvived) {
  std::ifstream file("/bin/true", std::ios::binary);
  std::string good((std::istreambuf_iterator<char>(file)), {});
  std::mt19937 random(1);
  for (int round = 0; round < 300; round++) {
    std::string bad = good.substr(0, round % 3 == 0 ? random() % good.size() : good.size());
    for (int i = 0; i < 40 && !bad.empty(); i++) {
      bad[4 + random() % std::min<size_t>(bad.size(), round % 2 ? 1024 : bad.size()) %
                  std::max<size_t>(1, bad.size() - 4)] = static_cast<char>(random());
    }
    TemporaryFile f(bad);
    ReadElfNeeds(f.path());  // must neither crash nor take memory without bound
  }
}

TEST(MpiCommand, RunsAsRootUnboundOnAnyNumberOfProcessors) {
  std::vector<std::string> open = MpiRunCommand({"/m", ""}, MpiFlavour::kOpenMpi, 9, false, {"prog", "a"});
  for (const char* wanted :
       {"--allow-run-as-root", "--oversubscribe", "--bind-to", "-n", "9", "prog", "a"}) {
    EXPECT_NE(std::find(open.begin(), open.end(), wanted), open.end()) << wanted;
  }
  EXPECT_EQ(std::find(open.begin(), open.end(), "core"), open.end());
  open = MpiRunCommand({"/m", ""}, MpiFlavour::kOpenMpi, 2, true, {"prog"});
  EXPECT_NE(std::find(open.begin(), open.end(), "core"), open.end());
  Environment e = {{"OMPI_MCA_pml", "ucx"}};
  SetMpiVariables(MpiFlavour::kOpenMpi, &e);
  EXPECT_EQ(e["OMPI_MCA_pml"], "ucx") << "what the user has set stays";
  EXPECT_EQ(e["OMPI_MCA_mpi_yield_when_idle"], "1");
}

}  // namespace
}  // namespace hcclrun
