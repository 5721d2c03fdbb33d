// Streams and host functions through the C API (semantics G.1).

#include <signal.h>

#include <atomic>

#include "unit/acl_fixture.h"

namespace {

class Streams : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&stream_));
    ASSERT_ACL_OK(aclrtCreateEventWithFlag(&shut_, ACL_EVENT_SYNC));
  }
  void TearDown() override {
    EXPECT_ACL_OK(aclrtDestroyStreamForce(stream_));
    EXPECT_ACL_OK(aclrtDestroyEvent(shut_));
    AclTest::TearDown();
  }
  // The stream stands still from here until Open().
  void Shut(aclrtStream stream) { ASSERT_ACL_OK(aclrtStreamWaitEvent(stream, shut_)); }
  void Open() {
    aclrtStream other;
    ASSERT_ACL_OK(aclrtCreateStream(&other));
    ASSERT_ACL_OK(aclrtRecordEvent(shut_, other));
    ASSERT_ACL_OK(aclrtDestroyStream(other));
  }
  aclrtStream stream_ = nullptr;
  aclrtEvent shut_ = nullptr;
};

void Increment(void* p) { static_cast<std::atomic<int>*>(p)->fetch_add(1); }

TEST_F(Streams, CreateChecks) {
  EXPECT_EQ(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateStreamWithConfig(nullptr, 0, 0), ACL_ERROR_INVALID_PARAM);
  aclrtStream stream;
  EXPECT_ACL_OK(
      aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
  OnFreshThread([] {
    aclrtStream other;
    EXPECT_EQ(aclrtCreateStream(&other), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(Streams, G1_NullIsTheDefaultStream) {
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_ACL_OK(aclrtMemsetAsync(p, 64, 3, 64, nullptr));
  EXPECT_ACL_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(static_cast<char*>(p)[63], 3);
  EXPECT_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM) << "it belongs to the context";
}

TEST_F(Streams, StaleAndForeignHandles) {
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  ASSERT_ACL_OK(aclrtDestroyStream(stream));
  std::atomic<int> ran{0};
  for (void* handle : {stream, static_cast<void*>(&ran), shut_}) {
    aclrtStreamStatus status;
    EXPECT_EQ(aclrtSynchronizeStream(handle), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtDestroyStream(handle), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtDestroyStreamForce(handle), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtStreamQuery(handle, &status), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtLaunchHostFunc(handle, Increment, &ran), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtSetStreamFailureMode(handle, 1), ACL_ERROR_RT_INVALID_HANDLE);
  }
}

TEST_F(Streams, G1_TwoStreamsNeverBlockEachOther) {
  aclrtStream other;
  ASSERT_ACL_OK(aclrtCreateStream(&other));
  Shut(stream_);
  std::atomic<int> ran{0};
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Increment, &ran));
  ASSERT_ACL_OK(aclrtLaunchHostFunc(other, Increment, &ran));
  EXPECT_ACL_OK(aclrtSynchronizeStream(other));
  EXPECT_EQ(ran.load(), 1);
  Open();
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ran.load(), 2);
  EXPECT_ACL_OK(aclrtDestroyStream(other));
}

TEST_F(Streams, G1_Timeouts) {
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, -2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtSynchronizeStreamWithTimeout(stream_, -1));
  EXPECT_ACL_OK(aclrtSynchronizeStreamWithTimeout(stream_, 0)) << "nothing to wait for";
  Shut(stream_);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 0), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  Open();
  EXPECT_ACL_OK(aclrtSynchronizeStreamWithTimeout(stream_, 60000));
}

TEST_F(Streams, QueryTellsWithoutBlocking) {
  aclrtStreamStatus status;
  EXPECT_EQ(aclrtStreamQuery(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtStreamQuery(stream_, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  Shut(stream_);
  EXPECT_ACL_OK(aclrtStreamQuery(stream_, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  Open();
  while (status != ACL_STREAM_STATUS_COMPLETE) ASSERT_ACL_OK(aclrtStreamQuery(stream_, &status));
}

TEST_F(Streams, G1_StreamOfAnotherContext) {
  aclrtContext context;
  ASSERT_ACL_OK(aclrtCreateContext(&context, 0));
  EXPECT_EQ(aclrtDestroyStream(stream_), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyStreamForce(stream_), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_ACL_OK(aclrtDestroyContext(context));
  ASSERT_ACL_OK(aclrtSetDevice(0));
}

TEST_F(Streams, G1_DestroyWaitsAndForceDoesNot) {
  std::atomic<int> ran{0};
  aclrtStream waits, drops;
  ASSERT_ACL_OK(aclrtCreateStream(&waits));
  ASSERT_ACL_OK(aclrtCreateStream(&drops));
  for (int i = 0; i < 10; i++) ASSERT_ACL_OK(aclrtLaunchHostFunc(waits, Increment, &ran));
  EXPECT_ACL_OK(aclrtDestroyStream(waits));
  EXPECT_EQ(ran.load(), 10);
  Shut(drops);
  ASSERT_ACL_OK(aclrtLaunchHostFunc(drops, Increment, &ran));
  EXPECT_ACL_OK(aclrtDestroyStreamForce(drops));
  Open();
  EXPECT_EQ(ran.load(), 10);
}

// What waits for nobody would have run on hardware.
TEST_F(Streams, G1_ForceStillRunsWhatWaitsForNobody) {
  std::atomic<int> ran{0};
  constexpr size_t kBytes = 1 << 20;
  char *from = nullptr, *to = nullptr;
  for (char** p : {&from, &to})
    ASSERT_ACL_OK(aclrtMalloc(reinterpret_cast<void**>(p), kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  for (int round = 1; round <= 20; round++) {
    aclrtStream stream;
    ASSERT_ACL_OK(aclrtCreateStream(&stream));
    ASSERT_ACL_OK(aclrtMemset(from, kBytes, round, kBytes));
    ASSERT_ACL_OK(
        aclrtMemcpyAsync(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    ASSERT_ACL_OK(aclrtLaunchHostFunc(stream, Increment, &ran));
    ASSERT_ACL_OK(aclrtDestroyStreamForce(stream));
    EXPECT_EQ(to[kBytes - 1], round);
    while (ran < round) std::this_thread::yield();  // it has begun
  }
}

struct Write {
  std::atomic<int>* word;
  int value;
};

// So does a copy that does not wait for the stream, and is not kept for long by what does not end.
TEST_F(Streams, G1_CopiesLetShortKernelsRunFirst) {
  std::atomic<int>* word = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(reinterpret_cast<void**>(&word), 64, ACL_MEM_MALLOC_HUGE_FIRST));
  const auto store = [](void* argument) {
    auto* write = static_cast<Write*>(argument);
    write->word->store(write->value);
  };
  std::atomic<int> started{0};
  for (int round = 1; round <= 20; round++) {
    Write write = {word, round};
    ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, store, &write));
    int value = 0;
    ASSERT_ACL_OK(aclrtMemcpy(&value, sizeof value, word, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST));
    if (value == round) started++;
    ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
  }
  EXPECT_GT(started.load(), 0) << "a loaded machine may interrupt some of them for long";

  std::atomic<bool> go_on{false};
  const auto wait = [](void* argument) {
    while (!*static_cast<std::atomic<bool>*>(argument)) std::this_thread::yield();
  };
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, wait, &go_on));
  for (int i = 0; i < 200; i++) ASSERT_ACL_OK(aclrtMemset(word, 64, 0, 64));
  go_on = true;
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_ACL_OK(aclrtFree(word));
}

TEST_F(Streams, G1_FailureModeChecks) {
  EXPECT_ACL_OK(aclrtSetStreamFailureMode(stream_, ACL_STOP_ON_FAILURE));
  EXPECT_ACL_OK(aclrtSetStreamFailureMode(stream_, ACL_CONTINUE_ON_FAILURE));
  EXPECT_EQ(aclrtSetStreamFailureMode(stream_, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE), ACL_ERROR_RT_PARAM_INVALID)
      << "the default stream";
}

TEST_F(Streams, G1_FailureModesDecideAboutLaterTasks) {
  for (uint64_t mode : {ACL_CONTINUE_ON_FAILURE, ACL_STOP_ON_FAILURE}) {
    ASSERT_ACL_OK(aclrtSetStreamFailureMode(stream_, mode));
    void* p = nullptr;
    ASSERT_ACL_OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    aclrtEvent gate;
    ASSERT_ACL_OK(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    ASSERT_ACL_OK(aclrtStreamWaitEvent(stream_, gate));
    ASSERT_ACL_OK(aclrtMemsetAsync(p, 64, 3, 64, stream_));  // fails when it runs
    std::atomic<int> ran{0};
    ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Increment, &ran));
    ASSERT_ACL_OK(aclrtFree(p));
    ASSERT_ACL_OK(aclrtRecordEvent(gate, nullptr));
    aclError first = aclrtSynchronizeStream(stream_);
    EXPECT_NE(first, ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), first) << "check macros call again";
    EXPECT_EQ(ran.load(), mode == ACL_STOP_ON_FAILURE ? 0 : 1);
    ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Increment, &ran));
    EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
    ASSERT_ACL_OK(aclrtDestroyEvent(gate));
  }
}

TEST_F(Streams, HostFunctionsRunInOrderInAContextOnAnotherThread) {
  EXPECT_EQ(aclrtLaunchHostFunc(stream_, nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  struct Seen {
    std::thread::id thread;
    int32_t device = -1;
    bool signals_blocked = false;
  } seen;
  ASSERT_ACL_OK(aclrtLaunchHostFunc(
      stream_,
      [](void* p) {
        auto* seen = static_cast<Seen*>(p);
        seen->thread = std::this_thread::get_id();
        aclrtGetDevice(&seen->device);
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        seen->signals_blocked = sigismember(&mask, SIGINT) == 1;
      },
      &seen));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_NE(seen.thread, std::this_thread::get_id());
  EXPECT_EQ(seen.device, 0);
  EXPECT_TRUE(seen.signals_blocked);
}

TEST_F(Streams, MainThreadTimesOutOfALongHostFunction) {
  std::atomic<bool> open{false};
  ASSERT_ACL_OK(aclrtLaunchHostFunc(
      stream_,
      [](void* p) {
        while (!*static_cast<std::atomic<bool>*>(p)) std::this_thread::yield();
      },
      &open));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  open = true;
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(Streams, SharedBetweenThreadsOfOneContext) {
  std::vector<std::thread> threads;
  std::atomic<int> ran{0};
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      ASSERT_ACL_OK(aclrtSetDevice(0));
      for (int i = 0; i < 100; i++) {
        ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Increment, &ran));
        if (i % 10 == 0) {
          ASSERT_ACL_OK(aclrtSynchronizeStream(stream_));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ran.load(), 400);
}

}  // namespace
