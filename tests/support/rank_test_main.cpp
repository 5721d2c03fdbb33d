#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"
#include "hcclrun/bootstrap.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

RankGroup* g_processes = nullptr;
uint32_t g_threads = 0;

[[noreturn]] void EndRank() {
  std::fflush(nullptr);
  std::_Exit(1);
}

// For ranks other than 0: failures alone.
class FailurePrinter : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "%s, rank %d, %s:%d: %s\n", test_.c_str(), hcclrunRank(),
                 result.file_name() ? result.file_name() : "?", result.line_number(),
                 result.message());
  }
  std::string test_;  // may not be asked for inside OnTestPartResult
};

// exit() rather than _Exit(): the library tells the peers that this rank has failed.
class FirstFailureEnds : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    std::fprintf(stderr, "%s.%s failed on rank %d; the rank ends\n", test.test_suite_name(),
                 test.name(), hcclrunRank());
    std::fflush(nullptr);
    std::exit(1);
  }
};

uint64_t Number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

void RunAsRanks(void (*body)(RankGroup&)) {
  if (g_threads == 0) return body(*g_processes);
  RunThreadRanks(g_threads, [body](RankGroup& group) {
    body(group);
    // The other threads would wait for one that gave up.
    if (::testing::Test::HasFatalFailure()) EndRank();
  });
}

int Trials(int usual) { return usual * static_cast<int>(Number("HCCLRUN_TEST_TRIALS", 1)); }
uint64_t Seed() { return Number("HCCLRUN_TEST_SEED", 20260101); }

}  // namespace hcclrun::testing

int main(int argc, char** argv) {
  using namespace hcclrun::testing;
  ::testing::InitGoogleMock(&argc, argv);
  g_threads = static_cast<uint32_t>(Number("HCCLRUN_TEST_THREADS", 0));
  std::unique_ptr<RankGroup> processes;
  if (g_threads == 0) {
    processes = JoinProcessRanks();
    g_processes = processes.get();
  }
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (hcclrunRank() > 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter());
  }
  listeners.Append(new FirstFailureEnds());
  if (aclInit(nullptr) != ACL_SUCCESS) {
    std::fprintf(stderr, "aclInit failed\n");
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  // Ranks end together, so that no exit can look like a failure to a rank that still works.
  if (processes) processes->Meet();
  if (aclFinalize() != ACL_SUCCESS) {
    std::fprintf(stderr, "aclFinalize failed\n");
    return 1;
  }
  return result;
}
