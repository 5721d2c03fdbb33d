// Host functions on threads of the program, kernels of the extension, and the callback for failed
// tasks (semantics G.1).

#include <hcclrun/launch.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "unit/acl_fixture.h"

namespace {

class Callbacks : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&stream_));
  }
  aclrtStream stream_ = nullptr;
};

// Processes reports until it is told to stop; then it must have been unsubscribed.
class Processor {
 public:
  using Process = aclError (*)(int32_t);
  explicit Processor(Process process = aclrtProcessReport)
      : thread_([this, process] {
          id_.set_value(pthread_self());
          while (!stop_) process(20);
        }),
        id(id_.get_future().get()) {}
  ~Processor() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::promise<uint64_t> id_;
  std::atomic<bool> stop_{false};
  std::thread thread_;

 public:
  const uint64_t id;
};

struct Log {
  std::vector<int> order;
  std::vector<uint64_t> threads;
};
struct Entry {
  Log* log;
  int number;
  static void Note(void* p) {
    Entry* entry = static_cast<Entry*>(p);
    entry->log->order.push_back(entry->number);
    entry->log->threads.push_back(pthread_self());
  }
};

TEST_F(Callbacks, BlockingCallbacksRunInStreamOrderOnTheSubscribedThread) {
  Processor processor;
  ASSERT_ACL_OK(aclrtSubscribeReport(processor.id, stream_));
  EXPECT_ACL_OK(aclrtSubscribeReport(processor.id, stream_)) << "the same again";
  Log log;
  Entry entries[] = {{&log, 0}, {&log, 1}, {&log, 2}};
  ASSERT_ACL_OK(aclrtLaunchCallback(Entry::Note, &entries[0], ACL_CALLBACK_BLOCK, stream_));
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Entry::Note, &entries[1]));
  ASSERT_ACL_OK(aclrtLaunchCallback(Entry::Note, &entries[2], ACL_CALLBACK_BLOCK, stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(log.order, (std::vector<int>{0, 1, 2}));
  ASSERT_EQ(log.threads.size(), 3u);
  EXPECT_EQ(log.threads[0], processor.id);
  EXPECT_NE(log.threads[1], processor.id) << "needs no subscription and has another thread";
  EXPECT_EQ(log.threads[2], processor.id);
  EXPECT_ACL_OK(aclrtUnSubscribeReport(processor.id, stream_));
}

TEST_F(Callbacks, NonBlockingCallbacksHoldNothingUp) {
  Log log;
  Entry entry = {&log, 4};
  ASSERT_ACL_OK(aclrtSubscribeReport(pthread_self(), stream_));
  ASSERT_ACL_OK(aclrtLaunchCallback(Entry::Note, &entry, ACL_CALLBACK_NO_BLOCK, stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_)) << "though this thread has processed nothing";
  EXPECT_TRUE(log.order.empty());
  EXPECT_ACL_OK(aclrtProcessReport(-1));
  EXPECT_EQ(log.order, (std::vector<int>{4}));
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
  EXPECT_ACL_OK(aclrtUnSubscribeReport(pthread_self(), stream_));
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(Callbacks, UnsubscribingFailsWhatHasNotStarted) {
  Log log;
  Entry entry = {&log, 1};
  ASSERT_ACL_OK(aclrtSubscribeReport(pthread_self(), stream_));
  ASSERT_ACL_OK(aclrtLaunchCallback(Entry::Note, &entry, ACL_CALLBACK_BLOCK, stream_));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_ACL_OK(aclrtUnSubscribeReport(pthread_self(), stream_));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_NO_CB_REG);
  EXPECT_TRUE(log.order.empty());
}

TEST_F(Callbacks, UnsubscribingInACallbackStopsThoseBehindIt) {
  struct Ender {
    aclrtStream stream;
    static void Unsubscribe(void* p) {
      EXPECT_ACL_OK(aclrtUnSubscribeReport(pthread_self(), static_cast<Ender*>(p)->stream));
    }
  } ender = {stream_};
  Log log;
  Entry entry = {&log, 1};
  ASSERT_ACL_OK(aclrtSubscribeReport(pthread_self(), stream_));
  ASSERT_ACL_OK(aclrtLaunchCallback(Ender::Unsubscribe, &ender, ACL_CALLBACK_NO_BLOCK, stream_));
  ASSERT_ACL_OK(aclrtLaunchCallback(Entry::Note, &entry, ACL_CALLBACK_NO_BLOCK, stream_));
  ASSERT_ACL_OK(aclrtSynchronizeStream(stream_)) << "both are in the queue";
  EXPECT_ACL_OK(aclrtProcessReport(-1));
  EXPECT_TRUE(log.order.empty());
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(Callbacks, ACallbackThatThrowsHoldsItsStreamUpNoLonger) {
  ASSERT_ACL_OK(aclrtSubscribeReport(pthread_self(), stream_));
  ASSERT_ACL_OK(aclrtLaunchCallback([](void*) { throw 5; }, nullptr, ACL_CALLBACK_BLOCK, stream_));
  EXPECT_NE(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_ACL_OK(aclrtUnSubscribeReport(pthread_self(), stream_));
}

TEST_F(Callbacks, Checks) {
  int nothing = 0;
  EXPECT_EQ(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, stream_),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(
      aclrtLaunchCallback(Entry::Note, nullptr, static_cast<aclrtCallbackBlockType>(2), stream_),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtLaunchCallback(Entry::Note, nullptr, ACL_CALLBACK_BLOCK, stream_),
            ACL_ERROR_RT_STREAM_NO_CB_REG);
  EXPECT_EQ(aclrtProcessReport(0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtProcessReport(-2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtProcessHostFunc(0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtProcessHostFunc(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  EXPECT_EQ(aclrtUnSubscribeReport(1, stream_), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  ASSERT_ACL_OK(aclrtSubscribeReport(1, stream_));
  EXPECT_EQ(aclrtSubscribeReport(2, stream_), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtUnSubscribeReport(2, stream_), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  EXPECT_ACL_OK(aclrtUnSubscribeReport(1, stream_));
  EXPECT_EQ(aclrtSubscribeReport(1, &nothing), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSubscribeHostFunc(1, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtUnSubscribeHostFunc(1, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtUnSubscribeHostFunc(1, stream_), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(Callbacks, HostFunctionsGoToTheirSubscribedThread) {
  Processor processor(aclrtProcessHostFunc);
  ASSERT_ACL_OK(aclrtSubscribeHostFunc(processor.id, stream_));
  Log log;
  Entry entries[] = {{&log, 0}, {&log, 1}};
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Entry::Note, &entries[0]));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(log.threads, (std::vector<uint64_t>{processor.id}));
  EXPECT_ACL_OK(aclrtUnSubscribeHostFunc(processor.id, stream_));
  ASSERT_ACL_OK(aclrtLaunchHostFunc(stream_, Entry::Note, &entries[1]));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  ASSERT_EQ(log.threads.size(), 2u);
  EXPECT_NE(log.threads[1], processor.id);
}

TEST_F(Callbacks, DestroyingTheStreamEndsItsSubscription) {
  ASSERT_ACL_OK(aclrtSubscribeReport(pthread_self(), stream_));
  EXPECT_ACL_OK(aclrtDestroyStream(stream_));
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

// ---- kernels ----

int AddOne(void* p) {
  ++*static_cast<int*>(p);
  return 0;
}
int Fail(void*) { return 5; }

TEST_F(Callbacks, KernelsRunInStreamOrderOnDeviceMemory) {
  int* device = nullptr;
  int value = 40;
  ASSERT_ACL_OK(aclrtMalloc(reinterpret_cast<void**>(&device), 4, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_ACL_OK(aclrtMemcpyAsync(device, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ASSERT_ACL_OK(hcclrunLaunch(stream_, AddOne, device));
  ASSERT_ACL_OK(hcclrunLaunch(stream_, AddOne, device));
  ASSERT_ACL_OK(aclrtMemcpyAsync(&value, 4, device, 4, ACL_MEMCPY_DEVICE_TO_HOST, stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(value, 42);
  ASSERT_ACL_OK(hcclrunLaunch(nullptr, AddOne, device));
  EXPECT_ACL_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(*device, 43) << "NULL is the default stream";
  EXPECT_EQ(hcclrunLaunch(stream_, nullptr, device), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(hcclrunLaunch(&value, AddOne, device), ACL_ERROR_RT_INVALID_HANDLE);
  OnFreshThread(
      [&] { EXPECT_EQ(hcclrunLaunch(stream_, AddOne, device), ACL_ERROR_RT_CONTEXT_NULL); });
}

int SynchronizeOwnStream(void* p) {
  aclrtStream stream = *static_cast<aclrtStream*>(p);
  return aclrtSynchronizeStream(stream) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT &&
                 aclrtStreamAbort(stream) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT
             ? 0
             : 1;
}

TEST_F(Callbacks, AKernelMayNotWaitForItsOwnStream) {
  ASSERT_ACL_OK(hcclrunLaunch(stream_, SynchronizeOwnStream, &stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
}

// ---- failed tasks ----

struct Exception {
  uint32_t task, stream, thread, device, code;
  aclError args, function;
};
std::vector<Exception> g_exceptions;

void NoteException(aclrtExceptionInfo* info) {
  Exception e;
  e.task = aclrtGetTaskIdFromExceptionInfo(info);
  e.stream = aclrtGetStreamIdFromExceptionInfo(info);
  e.thread = aclrtGetThreadIdFromExceptionInfo(info);
  e.device = aclrtGetDeviceIdFromExceptionInfo(info);
  e.code = aclrtGetErrorCodeFromExceptionInfo(info);
  void* args = info;
  uint32_t length = 9;
  aclrtFuncHandle function = info;
  e.args = aclrtGetArgsFromExceptionInfo(info, &args, &length);
  e.function = aclrtGetFuncHandleFromExceptionInfo(info, &function);
  EXPECT_EQ(args, nullptr);
  EXPECT_EQ(length, 0u);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(aclrtGetArgsFromExceptionInfo(info, nullptr, &length), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetArgsFromExceptionInfo(info, &args, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetFuncHandleFromExceptionInfo(info, nullptr), ACL_ERROR_INVALID_PARAM);
  g_exceptions.push_back(e);
}

TEST_F(Callbacks, AFailedKernelIsToldToTheExceptionCallback) {
  g_exceptions.clear();
  int value = 0;
  int32_t stream_id = -1;
  uint32_t task = 0;
  ASSERT_ACL_OK(aclrtStreamGetId(stream_, &stream_id));
  ASSERT_ACL_OK(aclrtSetExceptionInfoCallback(NoteException));
  ASSERT_ACL_OK(hcclrunLaunch(stream_, AddOne, &value));
  ASSERT_ACL_OK(hcclrunLaunch(stream_, Fail, nullptr));
  EXPECT_EQ(aclrtGetThreadLastTaskId(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtGetThreadLastTaskId(&task));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_AICORE_EXCEPTION);
  ASSERT_EQ(g_exceptions.size(), 1u);
  EXPECT_EQ(g_exceptions[0].task, task);
  EXPECT_EQ(g_exceptions[0].stream, static_cast<uint32_t>(stream_id));
  EXPECT_EQ(g_exceptions[0].thread, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(g_exceptions[0].device, 0u);
  EXPECT_EQ(g_exceptions[0].code, static_cast<uint32_t>(ACL_ERROR_RT_AICORE_EXCEPTION));
  EXPECT_EQ(g_exceptions[0].args, ACL_SUCCESS);
  EXPECT_EQ(g_exceptions[0].function, ACL_SUCCESS);
  EXPECT_ACL_OK(aclrtSetExceptionInfoCallback(nullptr));
  ASSERT_ACL_OK(hcclrunLaunch(stream_, Fail, nullptr));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(g_exceptions.size(), 1u) << "nobody is told any more";
}

TEST_F(Callbacks, AfterAFailureCallbacksStillComeAndKernelsDoNot) {
  Processor processor;
  ASSERT_ACL_OK(aclrtSetStreamFailureMode(stream_, ACL_STOP_ON_FAILURE));
  ASSERT_ACL_OK(aclrtSubscribeReport(processor.id, stream_));
  Log log;
  Entry entry = {&log, 1};
  int value = 0;
  ASSERT_ACL_OK(hcclrunLaunch(stream_, Fail, nullptr));
  ASSERT_ACL_OK(hcclrunLaunch(stream_, AddOne, &value));
  ASSERT_ACL_OK(aclrtLaunchCallback(Entry::Note, &entry, ACL_CALLBACK_BLOCK, stream_));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(log.order, (std::vector<int>{1}));
  EXPECT_ACL_OK(aclrtUnSubscribeReport(processor.id, stream_));
}

TEST(ExceptionInfo, OfNothing) {
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetStreamIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetThreadIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetDeviceIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetErrorCodeFromExceptionInfo(nullptr), UINT32_MAX);
  void* args;
  uint32_t length;
  aclrtFuncHandle function;
  EXPECT_EQ(aclrtGetArgsFromExceptionInfo(nullptr, &args, &length), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetFuncHandleFromExceptionInfo(nullptr, &function), ACL_ERROR_INVALID_PARAM);
}

}  // namespace
