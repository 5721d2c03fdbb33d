// What streams are created with, how tasks are given up, and words of memory that streams write and
// wait for (semantics G.1).

#include <atomic>
#include <thread>

#include "unit/acl_fixture.h"

namespace {

class StreamProperties : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&stream_));
    ASSERT_ACL_OK(aclrtMalloc(reinterpret_cast<void**>(&words_), 64, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(words_, 0, 64);
  }
  aclrtStream stream_ = nullptr;
  uint64_t* words_ = nullptr;
};

void Increment(void* p) { static_cast<std::atomic<int>*>(p)->fetch_add(1); }

TEST_F(StreamProperties, IdsPrioritiesAndFlags) {
  aclrtStream other;
  ASSERT_ACL_OK(aclrtCreateStreamWithConfig(&other, 3,
                                            ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  int32_t id = -1, other_id = -1, least = -1, greatest = -1;
  uint32_t value = 99;
  EXPECT_ACL_OK(aclrtStreamGetId(stream_, &id));
  EXPECT_ACL_OK(aclrtStreamGetId(other, &other_id));
  EXPECT_NE(id, other_id);
  EXPECT_ACL_OK(aclrtStreamGetPriority(other, &value));
  EXPECT_EQ(value, 3u);
  EXPECT_ACL_OK(aclrtStreamGetFlags(other, &value));
  EXPECT_EQ(value, 3u);
  EXPECT_ACL_OK(aclrtStreamGetFlags(nullptr, &value));
  EXPECT_EQ(value, 0u) << "a default stream";
  EXPECT_ACL_OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 0);
  EXPECT_ACL_OK(aclrtDeviceGetStreamPriorityRange(nullptr, nullptr));
  EXPECT_EQ(aclrtStreamGetId(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamGetPriority(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamGetFlags(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamGetId(&id, &id), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_ACL_OK(aclrtDestroyStream(other));
}

TEST_F(StreamProperties, ConfigurationHandles) {
  aclrtStreamConfigHandle* handle = aclrtCreateStreamConfigHandle();
  ASSERT_NE(handle, nullptr);
  const uint32_t flag = ACL_STREAM_FAST_SYNC, priority = 5;
  const size_t long_flag = ACL_STREAM_HUGE;
  EXPECT_ACL_OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
  EXPECT_EQ(handle->flag, size_t{ACL_STREAM_FAST_SYNC});
  EXPECT_ACL_OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &long_flag, sizeof long_flag));
  EXPECT_ACL_OK(
      aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority));
  EXPECT_EQ(aclrtSetStreamConfigOpt(nullptr, ACL_RT_STREAM_FLAG, &flag, sizeof flag),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, nullptr, sizeof flag),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, &long_flag, sizeof long_flag),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetStreamConfigOpt(handle, static_cast<aclrtStreamConfigAttr>(4), &flag,
                                    sizeof flag),
            ACL_ERROR_INVALID_PARAM);
  aclrtStream stream;
  EXPECT_EQ(aclrtCreateStreamV2(nullptr, handle), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateStreamV2(&stream, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtCreateStreamV2(&stream, handle));
  uint32_t value = 0;
  EXPECT_ACL_OK(aclrtStreamGetFlags(stream, &value));
  EXPECT_EQ(value, ACL_STREAM_HUGE);
  EXPECT_ACL_OK(aclrtStreamGetPriority(stream, &value));
  EXPECT_EQ(value, 5u);
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
  EXPECT_ACL_OK(aclrtDestroyStreamConfigHandle(handle));
  EXPECT_EQ(aclrtDestroyStreamConfigHandle(nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(StreamProperties, AttributesAreKept) {
  aclrtStreamAttrValue value = {}, got = {};
  value.userCustomTag = 77;
  EXPECT_ACL_OK(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
  EXPECT_ACL_OK(aclrtGetStreamAttribute(stream_, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &got));
  EXPECT_EQ(got.userCustomTag, 77u);
  value = {};
  value.failureMode = ACL_STOP_ON_FAILURE;
  EXPECT_ACL_OK(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  EXPECT_ACL_OK(aclrtGetStreamAttribute(stream_, ACL_STREAM_ATTR_FAILURE_MODE, &got));
  EXPECT_EQ(got.failureMode, uint64_t{ACL_STOP_ON_FAILURE});
  EXPECT_EQ(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_FAILURE_MODE, &value),
            ACL_ERROR_RT_PARAM_INVALID)
      << "the default stream";
  value.failureMode = 2;
  EXPECT_EQ(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_FAILURE_MODE, &value),
            ACL_ERROR_RT_PARAM_INVALID);
  value = {};
  value.overflowSwitch = 1;
  uint32_t overflow = 9;
  EXPECT_ACL_OK(aclrtGetStreamOverflowSwitch(stream_, &overflow));
  EXPECT_EQ(overflow, 0u);
  EXPECT_ACL_OK(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
  EXPECT_ACL_OK(aclrtGetStreamOverflowSwitch(stream_, &overflow));
  EXPECT_EQ(overflow, 1u);
  EXPECT_ACL_OK(aclrtSetStreamOverflowSwitch(stream_, 0));
  EXPECT_ACL_OK(aclrtGetStreamAttribute(stream_, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &got));
  EXPECT_EQ(got.overflowSwitch, 0u);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stream_, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(stream_, nullptr), ACL_ERROR_INVALID_PARAM);
  value.streamPriority = 7;
  EXPECT_ACL_OK(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_PRIORITY, &value));
  EXPECT_ACL_OK(aclrtStreamGetPriority(stream_, &overflow));
  EXPECT_EQ(overflow, 7u);
  value.streamPriority = 8;
  EXPECT_EQ(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_PRIORITY, &value),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_CACHE_OP_INFO, &value),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_PRIORITY, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetStreamAttribute(stream_, ACL_STREAM_ATTR_PRIORITY, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetStreamAttribute(stream_, static_cast<aclrtStreamAttr>(9), &got),
            ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(StreamProperties, StateCallbacksSeeStreamsComeAndGo) {
  struct Seen {
    std::vector<std::pair<aclrtStream, int>> calls;
    static void Note(aclrtStream stream, aclrtStreamState state, void* args) {
      static_cast<Seen*>(args)->calls.emplace_back(stream, state);
    }
  } seen;
  EXPECT_EQ(aclrtRegStreamStateCallback(nullptr, Seen::Note, &seen), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRegStreamStateCallback("", Seen::Note, &seen), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRegStreamStateCallback("test", nullptr, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_ACL_OK(aclrtRegStreamStateCallback("test", Seen::Note, &seen));
  EXPECT_EQ(aclrtRegStreamStateCallback("test", Seen::Note, &seen), ACL_ERROR_RT_PARAM_INVALID);
  aclrtStream made;
  ASSERT_ACL_OK(aclrtCreateStream(&made));
  EXPECT_ACL_OK(aclrtDestroyStream(made));
  aclrtStream standard;
  EXPECT_ACL_OK(aclrtCtxGetCurrentDefaultStream(&standard));
  EXPECT_ACL_OK(aclrtRegStreamStateCallback("test", nullptr, nullptr));
  aclrtStream unseen;
  ASSERT_ACL_OK(aclrtCreateStream(&unseen));
  const std::vector<std::pair<aclrtStream, int>> expected = {
      {made, ACL_RT_STREAM_STATE_CREATE_POST},
      {made, ACL_RT_STREAM_STATE_DESTROY_PRE},
      {standard, ACL_RT_STREAM_STATE_CREATE_POST}};
  EXPECT_EQ(seen.calls, expected);
}

TEST_F(StreamProperties, AbortGivesUpWhatWaitsAndWhatIsQueued) {
  std::atomic<int> ran{0};
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEvent(&event));
  ASSERT_ACL_OK(aclrtValueWait(words_, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Increment, &ran));
  ASSERT_ACL_OK(aclrtRecordEvent(event, stream_));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_ACL_OK(aclrtStreamAbort(stream_));
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_)) << "nothing is left";
  EXPECT_EQ(ran, 0);
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Increment, &ran));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_)) << "it takes new tasks";
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtStreamAbort(words_), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST_F(StreamProperties, AbortEndsSynchronisingCalls) {
  std::atomic<bool> ended{false};
  std::thread waiting([&] {
    EXPECT_ACL_OK(aclrtSetDevice(0));
    aclError result;
    do {  // an abort that comes before the synchronising call leaves nothing to wait for
      EXPECT_ACL_OK(aclrtValueWait(words_, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
      result = aclrtSynchronizeStream(stream_);
    } while (result == ACL_SUCCESS);
    EXPECT_EQ(result, ACL_ERROR_RT_STREAM_ABORT);
    ended = true;
  });
  while (!ended) EXPECT_ACL_OK(aclrtStreamAbort(stream_));
  waiting.join();
}

TEST_F(StreamProperties, AbortOfADeviceIsThatOfItsStreams) {
  EXPECT_EQ(aclrtDeviceTaskAbort(8, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  std::atomic<bool> ended{false};
  std::thread waiting([&] {
    EXPECT_ACL_OK(aclrtSetDevice(0));
    aclError result;
    do {
      EXPECT_ACL_OK(aclrtValueWait(words_, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
      result = aclrtSynchronizeStream(stream_);
    } while (result == ACL_SUCCESS);
    EXPECT_EQ(result, ACL_ERROR_RT_DEVICE_TASK_ABORT);
    ended = true;
  });
  while (!ended) EXPECT_ACL_OK(aclrtDeviceTaskAbort(0, 1000));
  waiting.join();
}

TEST_F(StreamProperties, AbortForgetsTheErrorOfTheStream) {
  void* freed = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_ACL_OK(aclrtValueWait(words_, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
  ASSERT_ACL_OK(aclrtValueWrite(freed, 1, 0, stream_));
  ASSERT_ACL_OK(aclrtFree(freed));
  words_[0] = 1;
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_PARAM_INVALID) << "freed memory";
  EXPECT_ACL_OK(aclrtStreamAbort(stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(StreamProperties, StopGivesUpOnlyWhatWaitsNow) {
  std::atomic<int> ran{0};
  EXPECT_ACL_OK(aclrtStreamStop(stream_)) << "nothing runs";
  ASSERT_ACL_OK(aclrtValueWait(words_, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Increment, &ran));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_ACL_OK(aclrtStreamStop(stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtStreamStop(nullptr), ACL_ERROR_RT_PARAM_INVALID) << "the default stream";
}

TEST_F(StreamProperties, AStreamWaitsForAWordThatAnotherWrites) {
  aclrtStream writer;
  ASSERT_ACL_OK(aclrtCreateStream(&writer));
  ASSERT_ACL_OK(aclrtValueWait(words_, 7, ACL_STREAM_WAIT_VALUE_EQ, stream_));
  ASSERT_ACL_OK(aclrtMemcpyAsync(words_ + 2, 8, words_ + 1, 8, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                 stream_));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(words_[2], 0u);
  ASSERT_ACL_OK(aclrtValueWrite(words_ + 1, 1234, 0, writer));
  ASSERT_ACL_OK(aclrtValueWrite(words_, 7, 0, writer));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_)) << "nobody drives the writer but its worker";
  EXPECT_EQ(words_[2], 1234u);
  EXPECT_ACL_OK(aclrtDestroyStream(writer));
}

TEST_F(StreamProperties, ConditionsOnWords) {
  struct Case {
    uint64_t word, value;
    uint32_t flag;
    bool holds;
  };
  const Case cases[] = {
      {5, 5, ACL_STREAM_WAIT_VALUE_GEQ, true},
      {4, 5, ACL_STREAM_WAIT_VALUE_GEQ, false},
      {1, UINT64_MAX, ACL_STREAM_WAIT_VALUE_GEQ, true},  // the difference counts, as a signed number
      {UINT64_MAX, 1, ACL_STREAM_WAIT_VALUE_GEQ, false},
      {5, 6, ACL_STREAM_WAIT_VALUE_EQ, false},
      {6, 3, ACL_STREAM_WAIT_VALUE_AND, true},
      {4, 3, ACL_STREAM_WAIT_VALUE_AND, false},
      {UINT64_MAX - 1, 0, ACL_STREAM_WAIT_VALUE_NOR, true},
      {UINT64_MAX - 1, 1, ACL_STREAM_WAIT_VALUE_NOR, false},
  };
  for (const Case& c : cases) {
    words_[0] = c.word;
    ASSERT_ACL_OK(aclrtValueWait(words_, c.value, c.flag, stream_));
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, c.holds ? -1 : 5),
              c.holds ? ACL_SUCCESS : ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
        << c.word << " " << c.value << " " << c.flag;
    ASSERT_ACL_OK(aclrtStreamAbort(stream_));
  }
}

TEST_F(StreamProperties, ValueChecks) {
  uint64_t host = 0;
  EXPECT_EQ(aclrtValueWrite(nullptr, 1, 0, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtValueWait(nullptr, 1, 0, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtValueWrite(words_, 1, 1, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWait(words_, 1, 4, stream_), ACL_ERROR_RT_PARAM_INVALID);
  char* odd = reinterpret_cast<char*>(words_) + 4;
  EXPECT_EQ(aclrtValueWrite(odd, 1, 0, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWait(odd, 1, 0, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWrite(&host, 1, 0, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWait(&host, 1, 0, stream_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtValueWrite(words_ + 8, 1, 0, stream_), ACL_ERROR_RT_PARAM_INVALID) << "outside";
}

}  // namespace
