// Who drives a stream, in which order, and what happens to faults. Tasks here are puppets
// of the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "device/context.h"
#include "device/copy.h"
#include "device/device.h"
#include "device/event.h"
#include "device/host_functions.h"
#include "device/stream.h"

namespace hcclrun {
namespace {

// What tasks did, in order.
class Journal {
 public:
  void Note(std::string line) {
    std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> lines() {
    std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Opened once by the test; tasks wait for it.
class Gate {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool is_open() {
    std::lock_guard<std::mutex> lock(mutex_);
    return open_;
  }
  void WaitFor(int64_t ns) {
    std::unique_lock<std::mutex> lock(mutex_);
    entered_++;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return open_; });
  }
  void AwaitVisitor() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return entered_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int entered_ = 0;
};

struct Puppet {
  std::string name = {};
  Journal* journal = nullptr;
  Gate* gate = nullptr;  // waits for it when set
  bool cheap = false;
  bool needs_worker = false;
  bool prepare_more = true;
  Fault fault = {};
  int64_t completed_at = 0;
  std::thread::id* ran_in = nullptr;
  std::atomic<int>* destroyed = nullptr;
};

class PuppetTask : public Task {
 public:
  explicit PuppetTask(Puppet p) : p_(std::move(p)) {}
  ~PuppetTask() override {
    if (p_.destroyed) p_.destroyed->fetch_add(1);
  }
  Progress Advance(Fault* fault) override {
    if (p_.gate && !p_.gate->is_open()) return Progress::kWaiting;
    if (p_.journal) p_.journal->Note("run " + p_.name);
    if (p_.ran_in) *p_.ran_in = std::this_thread::get_id();
    *fault = p_.fault;
    return Progress::kDone;
  }
  void WaitForProgress(int64_t limit_ns) override { p_.gate->WaitFor(limit_ns); }
  bool Prepare(const void*) override {
    if (!prepared_ && p_.journal) p_.journal->Note("prepare " + p_.name);
    prepared_ = true;
    return p_.prepare_more;
  }
  bool CheapToStart() const override { return p_.cheap; }
  bool NeedsWorker() const override { return p_.needs_worker; }
  int64_t CompletedAtNs() const override { return p_.completed_at; }
  const char* Name() const override { return "puppet"; }

 private:
  Puppet p_;
  bool prepared_ = false;
};

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(Device::Set(0));
    stream_ = Stream::Create(*Context::Current());
  }
  void TearDown() override {
    stream_->Close(true);
    Device::ResetForce(0);
  }
  Fault Queue(Puppet p) { return stream_->Enqueue(std::make_unique<PuppetTask>(std::move(p))); }
  Fault Queue(Stream& stream, Puppet p) {
    return stream.Enqueue(std::make_unique<PuppetTask>(std::move(p)));
  }

  std::shared_ptr<Stream> stream_;
  Journal journal_;
};

TEST_F(StreamTest, G1_RunsTasksInOrder) {
  std::vector<std::string> expected;
  for (int i = 0; i < 100; i++) {
    Queue({.name = std::to_string(i), .journal = &journal_, .cheap = i % 3 == 0});
    expected.push_back("run " + std::to_string(i));
  }
  EXPECT_FALSE(stream_->Synchronize(-1));
  EXPECT_EQ(journal_.lines(), expected);
  EXPECT_TRUE(stream_->Idle());
}

TEST_F(StreamTest, CheapTaskRunsInTheQueueingThreadWhenIdle) {
  std::thread::id ran;
  Queue({.name = "a", .cheap = true, .ran_in = &ran});
  EXPECT_EQ(ran, std::this_thread::get_id());
  EXPECT_TRUE(stream_->Idle());
}

TEST_F(StreamTest, OtherTasksRunWithoutAnybodySynchronising) {
  Gate gate;
  gate.Open();
  std::atomic<int> destroyed{0};
  Queue({.name = "a", .gate = &gate, .destroyed = &destroyed});
  while (destroyed.load() == 0) std::this_thread::yield();
}

TEST_F(StreamTest, CheaplyStartedWaitingTaskIsFinishedByTheWorker) {
  Gate gate;
  std::atomic<int> destroyed{0};
  Queue({.name = "a", .gate = &gate, .cheap = true, .destroyed = &destroyed});
  gate.AwaitVisitor();  // only the worker can come
  gate.Open();
  while (destroyed.load() == 0) std::this_thread::yield();
}

TEST_F(StreamTest, UserCodeNeverRunsInASynchronisingThread) {
  for (int i = 0; i < 50; i++) {
    std::thread::id ran;
    Queue({.name = "a", .needs_worker = true, .ran_in = &ran});
    EXPECT_FALSE(stream_->Synchronize(-1));
    EXPECT_NE(ran, std::this_thread::get_id());
    EXPECT_NE(ran, std::thread::id());
  }
}

TEST_F(StreamTest, PreparesBehindAWaitingTaskInOrderUntilOneSaysStop) {
  Gate gate;
  Queue({.name = "a", .journal = &journal_, .gate = &gate});
  Queue({.name = "b", .journal = &journal_});
  Queue({.name = "c", .journal = &journal_, .prepare_more = false});
  Queue({.name = "d", .journal = &journal_});
  std::thread opener([&] {
    while (journal_.lines().size() < 2) std::this_thread::yield();
    gate.Open();
  });
  EXPECT_FALSE(stream_->Synchronize(-1));
  opener.join();
  EXPECT_THAT(journal_.lines(),
              ::testing::ElementsAre("prepare b", "prepare c", "run a", "run b", "run c", "run d"));
}

TEST_F(StreamTest, PreparesWhatIsQueuedWhileTheDriverSleeps) {
  Gate gate;
  Queue({.name = "a", .journal = &journal_, .gate = &gate});
  gate.AwaitVisitor();
  Queue({.name = "b", .journal = &journal_});
  while (journal_.lines().empty()) std::this_thread::yield();
  EXPECT_THAT(journal_.lines(), ::testing::ElementsAre("prepare b"))
      << "although the driver sleeps up to 200 ms";
  gate.Open();
  EXPECT_FALSE(stream_->Synchronize(-1));
}

TEST_F(StreamTest, G1_TimeoutIsReportedAndTasksGoOn) {
  Gate gate;
  Queue({.name = "a", .gate = &gate, .cheap = true});
  Queue({.name = "b"});
  Fault fault = stream_->Synchronize(20);
  EXPECT_EQ(fault.kind, FaultKind::kStreamTimeout);
  EXPECT_EQ(fault.n[0], 20u);
  EXPECT_EQ(fault.n[1], 2u);
  EXPECT_EQ(stream_->Synchronize(0).kind, FaultKind::kStreamTimeout);
  gate.Open();
  EXPECT_FALSE(stream_->Synchronize(-1)) << "a later synchronise succeeds";
}

TEST_F(StreamTest, RoleGivenBackAtTheTimeoutIsTakenByTheWorker) {
  Gate gate;
  std::atomic<int> destroyed{0};
  Queue({.name = "a", .gate = &gate, .cheap = true, .destroyed = &destroyed});
  EXPECT_EQ(stream_->Synchronize(1).kind, FaultKind::kStreamTimeout);
  gate.Open();
  while (destroyed.load() == 0) std::this_thread::yield();  // nobody synchronises any more
}

TEST_F(StreamTest, G1_FirstFaultIsReturnedUntilNewWorkAfterItsReport) {
  Queue({.name = "a", .fault = Fault(FaultKind::kInternal, "first")});
  Queue({.name = "b", .fault = Fault(FaultKind::kInternal, "second")});
  EXPECT_EQ(stream_->Synchronize(-1).text, "first");
  EXPECT_EQ(stream_->Synchronize(-1).text, "first") << "a check macro calls again";
  Queue({.name = "c"});
  EXPECT_FALSE(stream_->Synchronize(-1));
}

TEST_F(StreamTest, G1_FaultSurvivesWorkThatIsQueuedBeforeItsReport) {
  std::atomic<int> destroyed{0};
  Queue({.name = "a", .fault = Fault(FaultKind::kInternal, "first"), .destroyed = &destroyed});
  while (destroyed.load() == 0) std::this_thread::yield();
  Queue({.name = "b"});
  EXPECT_EQ(stream_->Synchronize(-1).text, "first");
}

TEST_F(StreamTest, G1_ContinuesAfterFailureByDefault) {
  Gate gate;
  Queue({.name = "a", .gate = &gate, .fault = Fault(FaultKind::kInternal, "first")});
  Queue({.name = "b", .journal = &journal_, .prepare_more = false});
  gate.Open();
  EXPECT_TRUE(stream_->Synchronize(-1));
  EXPECT_THAT(journal_.lines(), ::testing::Contains("run b"));
}

TEST_F(StreamTest, G1_StopOnFailureDropsLaterTasksButCompletesEvents) {
  stream_->SetStopOnFailure(true);
  Gate gate;
  // Not prepared: an announced collective would run, its peers count on it.
  Queue({.name = "a", .needs_worker = true, .fault = Fault(FaultKind::kInternal, "first")});
  Queue({.name = "b", .gate = &gate, .prepare_more = false});
  void* handle = Event::Create(Event::Kind::kPlain, 0);
  std::shared_ptr<Event> event = *Event::From(handle);
  event->Record(stream_);
  EXPECT_EQ(stream_->Synchronize(-1).text, "first") << "b never ran: its gate is shut";
  EXPECT_TRUE(event->Complete());
  gate.Open();
  std::atomic<int> destroyed{0};
  Queue({.name = "c", .journal = &journal_, .gate = &gate, .destroyed = &destroyed});
  EXPECT_FALSE(stream_->Synchronize(-1));
  EXPECT_THAT(journal_.lines(), ::testing::Contains("run c")) << "queued after the report";
  Event::Destroy(handle);
}

TEST_F(StreamTest, ExceptionInATaskBecomesAFault) {
  class Thrower : public Task {
    Progress Advance(Fault*) override { throw std::runtime_error("boom"); }
    void WaitForProgress(int64_t) override {}
    const char* Name() const override { return "thrower"; }
  };
  stream_->Enqueue(std::make_unique<Thrower>());
  EXPECT_EQ(stream_->Synchronize(-1).text, "boom");
}

TEST_F(StreamTest, G1_ForceCloseDropsTasksWithoutWaiting) {
  Gate gate;
  std::atomic<int> destroyed{0};
  auto stream = Stream::Create(*Context::Current());
  Queue(*stream, {.name = "a", .gate = &gate, .cheap = true, .destroyed = &destroyed});
  Queue(*stream, {.name = "b", .destroyed = &destroyed});
  stream->Close(false);
  EXPECT_EQ(Queue(*stream, {.name = "c"}).kind, FaultKind::kStreamAborted);
  while (destroyed.load() < 2) std::this_thread::yield();
  EXPECT_TRUE(stream->Idle());
  EXPECT_FALSE(Stream::From(stream->handle()).ok());
}

TEST_F(StreamTest, G1_ForceCloseWhileAThreadSynchronises) {
  for (int round = 0; round < 20; round++) {
    Gate gate;
    auto stream = Stream::Create(*Context::Current());
    Queue(*stream, {.name = "a", .gate = &gate});
    std::thread waiter([&] { stream->Synchronize(-1); });
    gate.AwaitVisitor();
    std::thread closer([&] { stream->Close(false); });
    gate.Open();
    waiter.join();
    closer.join();
  }
}

// Whoever waits for tasks that are dropped is told, and when the call returns they are gone.
TEST_F(StreamTest, G1_ForceCloseTellsThoseWhoSynchronise) {
  Gate gate;
  std::atomic<int> destroyed{0};
  auto stream = Stream::Create(*Context::Current());
  Queue(*stream, {.name = "a", .gate = &gate, .destroyed = &destroyed});
  Fault outcome;
  std::thread waiter([&] { outcome = stream->Synchronize(-1); });
  gate.AwaitVisitor();
  stream->Close(false);
  EXPECT_EQ(destroyed.load(), 1);
  waiter.join();
  EXPECT_TRUE(outcome.kind == FaultKind::kStreamAborted || !outcome);  // it may have come later
}

// What is queued behind user code that has ended runs, as what is queued behind user code does.
TEST_F(StreamTest, G1_ForceCloseRunsWhatIsBehindUserCodeThatHasEnded) {
  class Slow : public Task {
   public:
    explicit Slow(Gate* gate) : gate_(gate) {}
    Progress Advance(Fault*) override {
      gate_->WaitFor(int64_t{60} * 1'000'000'000);
      return Progress::kDone;
    }
    void WaitForProgress(int64_t) override {}
    const char* Name() const override { return "slow"; }

   private:
    Gate* const gate_;
  };
  Gate gate;
  std::atomic<int> destroyed{0};
  auto stream = Stream::Create(*Context::Current());
  Queue(*stream, {.name = "kernel", .needs_worker = true, .destroyed = &destroyed});
  stream->Enqueue(std::make_unique<Slow>(&gate));
  Queue(*stream, {.name = "b", .journal = &journal_});
  gate.AwaitVisitor();
  EXPECT_EQ(destroyed.load(), 1);
  std::thread opener([&] { gate.Open(); });
  stream->Close(false);
  opener.join();
  EXPECT_THAT(journal_.lines(), ::testing::ElementsAre("run b"));
}

TEST_F(StreamTest, G1_CloseWaitsForTasks) {
  auto stream = Stream::Create(*Context::Current());
  std::atomic<int> destroyed{0};
  for (int i = 0; i < 20; i++) Queue(*stream, {.name = "a", .destroyed = &destroyed});
  stream->Close(true);
  EXPECT_EQ(destroyed.load(), 20);
}

TEST_F(StreamTest, HandleOfADestroyedStreamIsNeverValidAgain) {
  auto stream = Stream::Create(*Context::Current());
  void* handle = stream->handle();
  stream->Close(true);
  for (int i = 0; i < 100; i++) {
    auto other = Stream::Create(*Context::Current());
    EXPECT_NE(other->handle(), handle);
    other->Close(true);
  }
  EXPECT_EQ(Stream::From(handle).fault().kind, FaultKind::kUnknownHandle);
  int local;
  EXPECT_EQ(Stream::From(&local).fault().kind, FaultKind::kUnknownHandle);
}

TEST_F(StreamTest, G2_EventTimeIsThatOfTheWorkBeforeIt) {
  Gate gate;
  int64_t finished = NowNs() + 5'000'000'000;  // by another process, as the task says
  Queue({.name = "a", .gate = &gate, .completed_at = finished});
  void* handle = Event::Create(Event::Kind::kPlain, 0);
  std::shared_ptr<Event> event = *Event::From(handle);
  event->Record(stream_);
  EXPECT_EQ(event->CompletedNs().fault().kind, FaultKind::kEventNotFinished);
  gate.Open();
  stream_->Synchronize(-1);
  EXPECT_EQ(*event->CompletedNs(), finished);
  Event::Destroy(handle);
}

TEST_F(StreamTest, G2_EventOnAnIdleStreamCarriesTheTimeOfItsCall) {
  Queue({.name = "a", .cheap = true, .completed_at = 17});  // long ago
  int64_t before = NowNs();
  void* handle = Event::Create(Event::Kind::kPlain, 0);
  std::shared_ptr<Event> event = *Event::From(handle);
  event->Record(stream_);
  stream_->Synchronize(-1);
  EXPECT_GE(*event->CompletedNs(), before);
  EXPECT_LE(*event->CompletedNs(), NowNs());
  Event::Destroy(handle);
}

TEST_F(StreamTest, HostFunctionMayNotWaitForItsOwnStream) {
  struct Seen {
    Stream* stream;
    Fault fault;
  } seen{stream_.get(), {}};
  RunInStream(
      *stream_,
      [](void* p) {
        static_cast<Seen*>(p)->fault = static_cast<Seen*>(p)->stream->Synchronize(-1);
      },
      &seen);
  EXPECT_FALSE(stream_->Synchronize(-1));
  EXPECT_EQ(seen.fault.kind, FaultKind::kNotSupported);
}

// Many threads queue, synchronise with all kinds of time-outs, record and wait, on streams that
// come and go.
TEST_F(StreamTest, Stress) {
  constexpr int kThreads = 6, kRounds = 60;
  std::atomic<int64_t> ran{0}, queued{0};
  class Count : public Task {
   public:
    Count(std::atomic<int64_t>* ran, unsigned dice) : ran_(ran), dice_(dice) {}
    Progress Advance(Fault*) override {
      if (dice_ % 4 == 1 && waits_++ < 2) return Progress::kWaiting;
      ran_->fetch_add(1);
      return Progress::kDone;
    }
    void WaitForProgress(int64_t) override { std::this_thread::yield(); }
    bool Prepare(const void*) override { return dice_ % 3; }
    bool CheapToStart() const override { return dice_ % 2; }
    bool NeedsWorker() const override { return dice_ % 7 == 0; }
    const char* Name() const override { return "count"; }

   private:
    std::atomic<int64_t>* ran_;
    const unsigned dice_;
    int waits_ = 0;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      Device::Set(0);
      std::mt19937 random(t);
      void* handle = Event::Create(Event::Kind::kExWithFlag, Event::kSync);
      std::shared_ptr<Event> event = *Event::From(handle);
      for (int round = 0; round < kRounds; round++) {
        auto own = Stream::Create(*Context::Current());
        for (int i = 0; i < 10; i++) {
          Stream& target = random() % 2 ? *own : *stream_;
          if (!target.Enqueue(std::make_unique<Count>(&ran, random()))) queued.fetch_add(1);
          switch (random() % 6) {
            case 0:
              target.Synchronize(int64_t(random() % 3));
              break;
            case 1:
              target.Synchronize(-1);
              break;
            case 2:
              event->Record(stream_);
              event->WaitIn(own);
              break;
            case 3:
              event->Record(own);
              event->WaitIn(stream_);
              break;
            case 4:
              event->Synchronize(int64_t(random() % 2));
              break;
            default:
              break;
          }
        }
        own->Close(true);
      }
      Event::Destroy(handle);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(stream_->Synchronize(-1));
  EXPECT_EQ(ran.load(), queued.load());
}

}  // namespace
}  // namespace hcclrun
