// A main() for GoogleTest programs that `hcclrun -n N` starts: every rank runs the same tests in
// the same order, and together they give one report. Installed as source, so that it is compiled
// against the GoogleTest of the project that uses it (target hcclrun::gtest_main). Needs C++14 and
// Linux.
//
// At the end of each test the ranks meet over a socket: rank 0 hears from all of them, prints
// GoogleTest's usual report with a test failed if it failed on any rank, and lets them go on. The
// other ranks print failures only. A rank on which the test has failed waits HCCLRUN_TEST_GRACE
// seconds (default 10) for the others; if they do not come - they wait in a collective for the rank
// that gave up - it exits, which ends the job, and hcclrun says who waited for whom. Each rank
// exits with 1 if a test failed on itself.
//
// Reports: --gtest_output=xml:result.xml writes result.rank.R.xml on rank R. That of rank 0 has all
// failures, those of the other ranks their own.
//
// Without hcclrun it is GoogleTest's own main().
#include <gtest/gtest.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::string Variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

double Seconds(const char* name, double otherwise) {
  const double value = std::atof(Variable(name).c_str());
  return value > 0 ? value : otherwise;
}

std::string RankList(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i > 0) text += ",";
    text += std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last;
  }
  return text;
}

[[noreturn]] void Leave() {
  std::fflush(nullptr);
  std::exit(1);  // not _Exit: the library tells the peers that this rank has failed
}

// What a rank says at the end of a test, and after the last one with an empty name.
struct Said {
  int32_t failed;
  char test[252];
};
// What rank 0 answers when everybody has come.
struct GoOn {
  int32_t unused;
};

// The meeting place of the ranks: an abstract socket of rank 0, whose name follows from the job's.
// A rank that dies closes its connection; a rank that cannot go on exits, and the launcher ends the
// job.
class Meeting {
 public:
  Meeting(int rank, int size) : rank_(rank), size_(size), peers_(static_cast<size_t>(size), -1) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string name = "hcclrun-gtest-" + Variable("HCCLRUN_JOB");
    std::memcpy(address.sun_path + 1, name.data(),
                std::min(name.size(), sizeof address.sun_path - 1));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const auto* sockaddress = reinterpret_cast<const sockaddr*>(&address);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(Seconds("HCCLRUN_CONNECT_TIMEOUT", 120)));
    Hello hello = {};
    hello.rank = rank;
    std::strncpy(hello.secret, Variable("HCCLRUN_SECRET").c_str(), sizeof hello.secret - 1);
    if (rank > 0) {
      // Rank 0 may not be that far yet.
      while (connect(fd, sockaddress, length) != 0) {
        if (Clock::now() > end) Lost("rank 0 has not begun its tests");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      Send(fd, hello);
      peers_[0] = fd;
      return;
    }
    if (bind(fd, sockaddress, length) != 0 || listen(fd, size) != 0) Lost("no socket");
    for (int missing = size - 1; missing > 0;) {
      pollfd polled = {fd, POLLIN, 0};
      if (Clock::now() > end) Lost("another rank has not begun its tests");
      if (poll(&polled, 1, 100) <= 0) continue;
      const int peer = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
      Hello got = {};
      if (!Receive(peer, &got) || std::strcmp(got.secret, hello.secret) != 0 || got.rank < 1 ||
          got.rank >= size || Peer(got.rank) >= 0) {
        close(peer);
        continue;
      }
      Peer(got.rank) = peer;
      --missing;
    }
    close(fd);
  }

  // Rank 0: the ranks that failed, this one included. Other ranks: nothing. Returns when all ranks
  // have come; does not return when this one failed and others stay away.
  std::vector<int> Meet(const std::string& test, bool failed) {
    const double grace = Seconds("HCCLRUN_TEST_GRACE", 10);
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(grace));
    auto look_at_clock = [&] {
      if (!failed || Clock::now() < end) return;
      std::fprintf(stderr,
                   "%s failed on rank %d, and other ranks did not come to the end of it within %g "
                   "seconds; this rank ends the job\n",
                   test.c_str(), rank_, grace);
      Leave();
    };
    Said mine = {};
    mine.failed = failed;
    std::strncpy(mine.test, test.c_str(), sizeof mine.test - 1);
    if (rank_ > 0) {
      Send(Peer(0), mine);
      for (pollfd polled = {Peer(0), POLLIN, 0}; poll(&polled, 1, 100) <= 0;) look_at_clock();
      GoOn answer;
      if (!Receive(Peer(0), &answer)) Lost("rank 0 has ended");
      return {};
    }
    std::vector<int> failures;
    if (failed) failures.push_back(0);
    std::vector<bool> came(static_cast<size_t>(size_), false);
    for (int missing = size_ - 1; missing > 0;) {
      std::vector<pollfd> polled;
      std::vector<int> who;
      for (int r = 1; r < size_; ++r) {
        if (came[static_cast<size_t>(r)]) continue;
        polled.push_back({Peer(r), POLLIN, 0});
        who.push_back(r);
      }
      if (poll(polled.data(), polled.size(), 100) <= 0) {
        look_at_clock();
        continue;
      }
      for (size_t i = 0; i < polled.size(); ++i) {
        if (!polled[i].revents) continue;
        Said said = {};
        if (!Receive(polled[i].fd, &said)) Lost("rank " + std::to_string(who[i]) + " has ended");
        if (std::strcmp(said.test, mine.test) != 0) Differ(who[i], said.test, mine.test);
        came[static_cast<size_t>(who[i])] = true;
        if (said.failed) failures.push_back(who[i]);
        --missing;
      }
    }
    for (int r = 1; r < size_; ++r) Send(Peer(r), GoOn());
    std::sort(failures.begin(), failures.end());
    return failures;
  }

 private:
  struct Hello {
    int32_t rank;
    char secret[64];
  };

  int& Peer(int rank) { return peers_[static_cast<size_t>(rank)]; }

  [[noreturn]] void Lost(const std::string& why) {
    std::fprintf(stderr, "rank %d cannot go on with the tests: %s\n", rank_, why.c_str());
    Leave();
  }
  [[noreturn]] void Differ(int rank, const std::string& theirs, const std::string& mine) {
    auto at = [](const std::string& test) { return test.empty() ? "the end" : test; };
    std::fprintf(stderr,
                 "rank %d is at %s of its tests, rank 0 at %s: every rank must run the same tests "
                 "in the same order\n",
                 rank, at(theirs).c_str(), at(mine).c_str());
    Leave();
  }
  template <class T>
  void Send(int fd, const T& value) {
    if (send(fd, &value, sizeof value, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof value))
      Lost("another rank has ended");
  }
  template <class T>
  bool Receive(int fd, T* value) {
    ssize_t n;
    do {
      n = recv(fd, value, sizeof *value, 0);
    } while (n < 0 && errno == EINTR);
    return n == static_cast<ssize_t>(sizeof *value);
  }

  int rank_, size_;
  std::vector<int> peers_;  // rank 0: by rank; others: rank 0's alone
};

class RankListener : public ::testing::EmptyTestEventListener {
 public:
  RankListener(int rank, int size) : rank_(rank), size_(size) {}
  bool own_failure() const { return own_failure_; }

 private:
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    if (size_ > 1) meeting_.reset(new Meeting(rank_, size_));
  }
  void OnTestIterationStart(const ::testing::UnitTest&, int) override {
    ::testing::Test::RecordProperty("rank", rank_);
    ::testing::Test::RecordProperty("ranks", size_);
  }
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (rank_ == 0 || !result.failed()) return;
    std::fprintf(stderr, "%s, rank %d, %s:%d: %s\n", test_.c_str(), rank_,
                 result.file_name() ? result.file_name() : "?", result.line_number(),
                 result.message());
  }
  // Last in the list of listeners, so first to hear of an end: what is added here, GoogleTest's
  // printer counts.
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const bool failed = test.result()->Failed();
    own_failure_ |= failed;
    ++tests_;
    std::vector<int> ranks;
    if (meeting_) {
      ranks = meeting_->Meet(test_, failed);
    } else if (failed) {
      ranks.push_back(rank_);
    }
    if (!ranks.empty()) summary_.push_back(test_ + " (" + RankList(ranks) + ")");
    if (!ranks.empty() && !(ranks.size() == 1 && ranks[0] == 0))
      ADD_FAILURE_AT(test.file(), test.line()) << "failed on " << RankList(ranks);
    test_ = "between tests";
  }
  void OnTestSuiteEnd(const ::testing::TestSuite& suite) override {
    own_failure_ |= suite.ad_hoc_test_result().Failed();
  }
  void OnTestProgramEnd(const ::testing::UnitTest& tests) override {
    own_failure_ |= tests.ad_hoc_test_result().Failed();
    std::vector<int> ranks;
    if (meeting_) ranks = meeting_->Meet("", own_failure_);
    if (rank_ > 0) return;
    std::printf("[  RANKS   ] %d test%s on %d rank%s: ", tests_, tests_ == 1 ? "" : "s", size_,
                size_ == 1 ? "" : "s");
    if (summary_.empty() && (own_failure_ || !ranks.empty())) {
      std::printf("failed outside of tests\n");
    } else if (summary_.empty()) {
      std::printf("passed\n");
    } else {
      std::printf("%zu failed\n", summary_.size());
      for (const std::string& line : summary_) std::printf("[  RANKS   ]   %s\n", line.c_str());
    }
    std::fflush(stdout);
  }

  int rank_, size_;
  std::unique_ptr<Meeting> meeting_;
  std::string test_ = "before the tests";
  std::vector<std::string> summary_;
  int tests_ = 0;
  bool own_failure_ = false;
};

// "xml:result.xml" -> "xml:result.rank.3.xml"; "xml:folder/" -> "xml:folder/program.rank.3.xml".
std::string PerRank(const std::string& output, const std::string& program, int rank) {
  if (output.empty()) return output;
  const size_t colon = output.find(':');
  const std::string format = output.substr(0, colon);
  std::string path = colon == std::string::npos ? "test_detail" : output.substr(colon + 1);
  if (path.empty()) path = "test_detail";
  if (path.back() == '/') path += program.substr(program.rfind('/') + 1);
  const std::string suffix = "." + format;
  if (path.size() > suffix.size() &&
      path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0)
    path.resize(path.size() - suffix.size());
  return format + ":" + path + ".rank." + std::to_string(rank) + suffix;
}

#ifdef GTEST_FLAG_SET  // GoogleTest 1.12 and later
std::string Output() { return GTEST_FLAG_GET(output); }
void SetOutput(const std::string& output) { GTEST_FLAG_SET(output, output); }
bool UnseededShuffle() { return GTEST_FLAG_GET(shuffle) && GTEST_FLAG_GET(random_seed) == 0; }
void SetSeed(int seed) { GTEST_FLAG_SET(random_seed, seed); }
#else
std::string Output() { return ::testing::GTEST_FLAG(output); }
void SetOutput(const std::string& output) { ::testing::GTEST_FLAG(output) = output; }
bool UnseededShuffle() {
  return ::testing::GTEST_FLAG(shuffle) && ::testing::GTEST_FLAG(random_seed) == 0;
}
void SetSeed(int seed) { ::testing::GTEST_FLAG(random_seed) = seed; }
#endif

}  // namespace

int main(int argc, char** argv) {
  const std::string rank_text = Variable("HCCLRUN_RANK");
  bool ranks = !Variable("HCCLRUN_JOB").empty() && !rank_text.empty();
  // The child of a death test runs a piece of one test.
  for (int i = 1; i < argc; ++i)
    ranks = ranks && std::strstr(argv[i], "gtest_internal_run_death_test") == nullptr;
  if (!ranks) {
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }

  const int rank = std::atoi(rank_text.c_str());
  const int size = std::max(1, std::atoi(Variable("HCCLRUN_SIZE").c_str()));
  const std::string program = argv[0];
  // GoogleTest opens the report while it reads its flags, so the names change before.
  SetOutput(PerRank(Output(), program, rank));
  std::vector<std::string> arguments(argv, argv + argc);
  std::vector<char*> pointers;
  const std::string flag = "--gtest_output=";
  for (std::string& argument : arguments) {
    if (argument.compare(0, flag.size(), flag) == 0)
      argument = flag + PerRank(argument.substr(flag.size()), program, rank);
    pointers.push_back(&argument[0]);
  }
  pointers.push_back(nullptr);
  int count = argc;
  ::testing::InitGoogleTest(&count, pointers.data());
  if (UnseededShuffle()) {
    const std::string job = Variable("HCCLRUN_JOB");
    SetSeed(static_cast<int>(std::strtoul(job.substr(0, 4).c_str(), nullptr, 16)) + 1);
  }

  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank > 0) delete listeners.Release(listeners.default_result_printer());
  auto* listener = new RankListener(rank, size);
  listeners.Append(listener);
  const int result = RUN_ALL_TESTS();
  if (size == 1) return result;
  // RUN_ALL_TESTS of rank 0 speaks for all ranks; the exit code of each is its own, so that
  // hcclrun's last line names a rank on which something failed.
  return listener->own_failure() ? 1 : 0;
}
