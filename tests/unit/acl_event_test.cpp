// Events through the C API, statement by statement of semantics G.2.

#include <atomic>

#include "unit/acl_fixture.h"

namespace {

class Events : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&a_));
    ASSERT_ACL_OK(aclrtCreateStream(&b_));
  }
  void TearDown() override {
    open_ = true;
    EXPECT_ACL_OK(aclrtDestroyStream(a_));
    EXPECT_ACL_OK(aclrtDestroyStream(b_));
    AclTest::TearDown();
  }
  // `stream` stands still until open_.
  void Shut(aclrtStream stream) {
    ASSERT_ACL_OK(aclrtLaunchHostFunc(
        stream,
        [](void* p) {
          while (!*static_cast<std::atomic<bool>*>(p)) std::this_thread::yield();
        },
        &open_));
  }
  aclrtEventRecordedStatus Status(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_ACL_OK(aclrtQueryEventStatus(event, &status));
    return status;
  }
  std::atomic<bool> open_{false};
  aclrtStream a_ = nullptr, b_ = nullptr;
};

void Increment(void* p) { static_cast<std::atomic<int>*>(p)->fetch_add(1); }

TEST_F(Events, CreateAndHandleChecks) {
  EXPECT_EQ(aclrtCreateEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateEventWithFlag(nullptr, ACL_EVENT_SYNC), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateEventExWithFlag(nullptr, ACL_EVENT_SYNC), ACL_ERROR_INVALID_PARAM);
  aclrtEvent event;
  EXPECT_NE(aclrtCreateEventWithFlag(&event, 0x8000), ACL_SUCCESS);
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  ASSERT_ACL_OK(aclrtDestroyEvent(event));
  EXPECT_EQ(aclrtDestroyEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRecordEvent(nullptr, a_), ACL_ERROR_INVALID_PARAM);
  aclrtEventRecordedStatus status;
  float ms;
  for (void* handle : {event, static_cast<void*>(&ms), a_}) {
    EXPECT_EQ(aclrtDestroyEvent(handle), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtRecordEvent(handle, a_), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtStreamWaitEvent(a_, handle), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtSynchronizeEvent(handle), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtQueryEventStatus(handle, &status), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtEventElapsedTime(&ms, handle, handle), ACL_ERROR_RT_INVALID_HANDLE);
  }
  OnFreshThread([] {
    aclrtEvent other;
    EXPECT_EQ(aclrtCreateEvent(&other), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(Events, G2_RecordCapturesTheWorkQueuedSoFar) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  Shut(a_);  // later work does not count
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event));
  EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  open_ = true;
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event));
  EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_SeveralStreamsOfSeveralDevicesWaitForOneEvent) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  aclrtStream far;
  ASSERT_ACL_OK(aclrtSetDevice(1));
  ASSERT_ACL_OK(aclrtCreateStream(&far));
  ASSERT_ACL_OK(aclrtSetDevice(0));
  std::atomic<int> ran{0};
  Shut(a_);
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  for (aclrtStream stream : {b_, far}) {
    ASSERT_ACL_OK(aclrtStreamWaitEvent(stream, event));
    ASSERT_ACL_OK(aclrtLaunchHostFunc(stream, Increment, &ran));
  }
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(b_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(far, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(ran.load(), 0);
  open_ = true;
  EXPECT_ACL_OK(aclrtSynchronizeStream(far));
  EXPECT_ACL_OK(aclrtSynchronizeStream(b_));
  EXPECT_EQ(ran.load(), 2);
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
  EXPECT_ACL_OK(aclrtResetDeviceForce(1));
}

TEST_F(Events, G2_RecordingAgainMovesTheEventAndEarlierWaitsKeepTheOldPoint) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
  Shut(a_);
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(b_)) << "waits for the first record only";
  EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  open_ = true;
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_NeverRecordedPlain) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  EXPECT_EQ(aclrtStreamWaitEvent(a_, event), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event));
  EXPECT_ACL_OK(aclrtSynchronizeStream(a_));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_NeverRecordedWithFlagWaitsForTheRecord) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event)) << "on the host it is no wait";
  std::atomic<int> ran{0};
  ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
  ASSERT_ACL_OK(aclrtLaunchHostFunc(b_, Increment, &ran));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(b_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(b_));
  EXPECT_EQ(ran.load(), 1);
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_NeverRecordedExIsComplete) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_ACL_OK(aclrtStreamWaitEvent(a_, event));
  EXPECT_ACL_OK(aclrtSynchronizeStream(a_));
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_SynchronizeTimeouts) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, -2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtSynchronizeEventWithTimeout(event, -1));
  Shut(a_);
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 0), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 10), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  open_ = true;
  EXPECT_ACL_OK(aclrtSynchronizeEventWithTimeout(event, 60000));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_ElapsedTimeChecks) {
  aclrtEvent start, end, without;
  float ms = -1;
  ASSERT_ACL_OK(aclrtCreateEvent(&start));
  ASSERT_ACL_OK(aclrtCreateEvent(&end));
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&without, ACL_EVENT_SYNC));
  EXPECT_EQ(aclrtEventElapsedTime(nullptr, start, end), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, nullptr, end), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_INTERNAL_ERROR)
      << "never recorded";
  ASSERT_ACL_OK(aclrtRecordEvent(start, a_));
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_INTERNAL_ERROR);
  Shut(a_);
  ASSERT_ACL_OK(aclrtRecordEvent(end, a_));
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID)
      << "not finished";
  open_ = true;
  ASSERT_ACL_OK(aclrtSynchronizeStream(a_));
  EXPECT_ACL_OK(aclrtEventElapsedTime(&ms, start, end));
  EXPECT_GT(ms, 0);
  ASSERT_ACL_OK(aclrtRecordEvent(without, a_));
  ASSERT_ACL_OK(aclrtSynchronizeStream(a_));
  EXPECT_NE(aclrtEventElapsedTime(&ms, start, without), ACL_SUCCESS) << "no time line";
  for (aclrtEvent event : {start, end, without}) EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_ElapsedTimeIsInMilliseconds) {
  aclrtEvent start, end;
  ASSERT_ACL_OK(aclrtCreateEventExWithFlag(&start, ACL_EVENT_TIME_LINE));
  ASSERT_ACL_OK(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC));
  ASSERT_ACL_OK(aclrtRecordEvent(start, a_));
  ASSERT_ACL_OK(aclrtSynchronizeStream(a_));
  uint64_t from, to;
  timespec t0, t1;
  clock_gettime(CLOCK_MONOTONIC, &t0);
  do {
    clock_gettime(CLOCK_MONOTONIC, &t1);
  } while ((t1.tv_sec - t0.tv_sec) * 1000000000L + t1.tv_nsec - t0.tv_nsec < 3000000);
  ASSERT_ACL_OK(aclrtRecordEvent(end, a_));
  ASSERT_ACL_OK(aclrtSynchronizeStream(a_));
  float ms;
  ASSERT_ACL_OK(aclrtEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 3.0f);
  EXPECT_EQ(aclrtEventGetTimestamp(start, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtEventGetTimestamp(start, &from));
  ASSERT_ACL_OK(aclrtEventGetTimestamp(end, &to));
  EXPECT_NEAR(static_cast<double>(to - from), ms * 1000.0, 1.5) << "microseconds";
  EXPECT_ACL_OK(aclrtDestroyEvent(start));
  EXPECT_ACL_OK(aclrtDestroyEvent(end));
}

TEST_F(Events, AdjacentRecordsAreOrdered) {
  aclrtEvent start, end;
  ASSERT_ACL_OK(aclrtCreateEvent(&start));
  ASSERT_ACL_OK(aclrtCreateEvent(&end));
  for (int i = 0; i < 200; i++) {
    ASSERT_ACL_OK(aclrtRecordEvent(start, a_));
    ASSERT_ACL_OK(aclrtRecordEvent(end, a_));
    ASSERT_ACL_OK(aclrtSynchronizeStream(a_));
    float ms = -1;
    ASSERT_ACL_OK(aclrtEventElapsedTime(&ms, start, end));
    ASSERT_GE(ms, 0);
  }
  EXPECT_ACL_OK(aclrtDestroyEvent(start));
  EXPECT_ACL_OK(aclrtDestroyEvent(end));
}

TEST_F(Events, G2_ResetForPlainAndForWithFlagAndSync) {
  aclrtEvent plain, ex, flag, sync;
  ASSERT_ACL_OK(aclrtCreateEvent(&plain));
  ASSERT_ACL_OK(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC));
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&flag, ACL_EVENT_TIME_LINE));
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&sync, ACL_EVENT_SYNC));
  EXPECT_ACL_OK(aclrtResetEvent(plain, a_));
  EXPECT_EQ(aclrtResetEvent(ex, a_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtResetEvent(flag, a_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtResetEvent(sync, a_));
  for (aclrtEvent event : {plain, ex, flag, sync}) EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_ResetEventIsUsedAgainAfterItsWait) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  std::atomic<int> ran{0};
  for (int round = 0; round < 20; round++) {
    ASSERT_ACL_OK(aclrtLaunchHostFunc(a_, Increment, &ran));
    ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
    ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
    ASSERT_ACL_OK(aclrtResetEvent(event, b_));
    EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    ASSERT_ACL_OK(aclrtSynchronizeStream(b_));
    EXPECT_GE(ran.load(), round + 1);
  }
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

// Programs reset such an event behind the wait, and record it again.
TEST_F(Events, G2_ResetOfAPlainEventLeavesWhatWasRecorded) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  std::atomic<int> ran{0};
  for (int round = 0; round < 20; round++) {
    ASSERT_ACL_OK(aclrtLaunchHostFunc(a_, Increment, &ran));
    ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
    ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
    ASSERT_ACL_OK(aclrtResetEvent(event, b_));
    ASSERT_ACL_OK(aclrtSynchronizeStream(b_));
    EXPECT_GE(ran.load(), round + 1);
    EXPECT_EQ(Status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  }
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  EXPECT_ACL_OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, ACL_EVENT_STATUS_COMPLETE);
  EXPECT_EQ(aclrtQueryEvent(event, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  EXPECT_ACL_OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, ACL_EVENT_STATUS_NOT_READY);
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Events, QueryWaitStatusSeesPendingWaits) {
  aclrtEvent event;
  aclrtEventWaitStatus status;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  Shut(a_);
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
  EXPECT_ACL_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_NOT_READY);
  open_ = true;
  ASSERT_ACL_OK(aclrtSynchronizeStream(b_));
  EXPECT_ACL_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(Events, G2_PendingEventMayBeDestroyed) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  std::atomic<int> ran{0};
  Shut(a_);
  ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
  ASSERT_ACL_OK(aclrtLaunchHostFunc(b_, Increment, &ran));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(b_, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
      << "the wait stays";
  open_ = true;
  EXPECT_ACL_OK(aclrtSynchronizeStream(b_));
  EXPECT_EQ(ran.load(), 1);
}

TEST_F(Events, RecordDroppedWithItsStreamReleasesWaiters) {
  aclrtEvent event;
  aclrtStream doomed;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  ASSERT_ACL_OK(aclrtCreateStream(&doomed));
  aclrtEvent never;
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(doomed, never));
  ASSERT_ACL_OK(aclrtRecordEvent(event, doomed));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
  EXPECT_ACL_OK(aclrtDestroyStreamForce(doomed));
  EXPECT_ACL_OK(aclrtSynchronizeStream(b_));
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
  EXPECT_ACL_OK(aclrtDestroyEvent(never));
}

TEST_F(Events, ThreadsPollSynchroniseAndRecordTheSameEvent) {
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      ASSERT_ACL_OK(aclrtSetDevice(0));
      while (!stop) {
        aclrtEventRecordedStatus status;
        ASSERT_ACL_OK(aclrtQueryEventStatus(event, &status));
        if (t == 1) {
          ASSERT_ACL_OK(aclrtSynchronizeEvent(event));
        }
        if (t == 2) {
          ASSERT_ACL_OK(aclrtStreamWaitEvent(b_, event));
        }
        std::this_thread::yield();
      }
    });
  }
  std::atomic<int> ran{0};
  for (int i = 0; i < 300; i++) {
    if (i % 5 == 0) {
      ASSERT_ACL_OK(aclrtLaunchHostFunc(a_, Increment, &ran));
    }
    ASSERT_ACL_OK(aclrtRecordEvent(event, a_));
    if (i % 50 == 0) {
      ASSERT_ACL_OK(aclrtSynchronizeStream(a_));
    }
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_ACL_OK(aclrtSynchronizeDevice());
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

}  // namespace
