// Notifies, events and memory between processes through the C API.

#include "unit/acl_child.h"

namespace {

constexpr size_t kKeyBytes = 65;

class Ipc : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_ACL_OK(aclrtCreateStream(&stream_));
  }
  aclrtStream stream_ = nullptr;
};

struct Key {
  char text[kKeyBytes] = {};
};

// ---- the child's side: it gets what the parent made, uses it and answers the codes ----

TEST(Child, Notified) {
  if (!IsChild()) GTEST_SKIP();
  Line line(3, 4);
  ASSERT_ACL_OK(aclrtSetDevice(1));
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  line.Say(int32_t{getpid()});
  aclrtNotify notify = nullptr;
  Key key = line.Hear<Key>();
  line.Say(aclrtNotifyImportByKey(&notify, key.text, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));
  line.Hear<char>();
  line.Say(aclrtNotifyImportByKey(&notify, key.text, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
  if (notify) {
    EXPECT_EQ(aclrtNotifyGetExportKey(notify, key.text, kKeyBytes, 0), ACL_ERROR_RT_PARAM_INVALID)
        << "another process'";
    line.Hear<char>();
    EXPECT_ACL_OK(aclrtRecordNotify(notify, stream));
    EXPECT_ACL_OK(aclrtSynchronizeStream(stream));
    line.Hear<char>();  // the parent's wait has passed
    EXPECT_ACL_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    EXPECT_ACL_OK(aclrtDestroyNotify(notify)) << "a wait is queued";
    line.Say(char{1});
    EXPECT_ACL_OK(aclrtSynchronizeStream(stream));
  }
  EXPECT_ACL_OK(aclrtResetDeviceForce(1));
}

TEST_F(Ipc, NotifiesBetweenProcesses) {
  Child child("Notified");
  Line line = child.line();
  int32_t pid = line.Hear<int32_t>();
  aclrtNotify notify;
  ASSERT_ACL_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  EXPECT_EQ(aclrtNotifySetImportPid(notify, &pid, 1), ACL_ERROR_RT_PARAM_INVALID) << "no key yet";
  Key key, again;
  ASSERT_ACL_OK(aclrtNotifyGetExportKey(notify, key.text, kKeyBytes, 0));
  ASSERT_ACL_OK(aclrtNotifyGetExportKey(notify, again.text, kKeyBytes, 0));
  EXPECT_STREQ(key.text, again.text);
  line.Say(key);
  EXPECT_EQ(line.Hear<aclError>(), ACL_ERROR_RT_PARAM_INVALID) << "not listed";
  EXPECT_EQ(aclrtNotifySetImportPid(notify, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifySetImportPid(notify, &pid, 0), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtNotifySetImportPid(notify, &pid, 1));
  line.Say(char{1});
  ASSERT_EQ(line.Hear<aclError>(), ACL_SUCCESS);
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(notify, stream_, 0));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  line.Say(char{1});
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_)) << "recorded by the child";
  line.Say(char{1});
  line.Hear<char>();
  ASSERT_ACL_OK(aclrtRecordNotify(notify, stream_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_ACL_OK(aclrtDestroyNotify(notify));
  child.Wait();
}

TEST_F(Ipc, NotifiesBetweenStreams) {
  aclrtStream other;
  ASSERT_ACL_OK(aclrtCreateStream(&other));
  aclrtNotify notify;
  ASSERT_ACL_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEVICE_USE_ONLY));
  ASSERT_ACL_OK(aclrtRecordNotify(notify, other));
  ASSERT_ACL_OK(aclrtRecordNotify(notify, other));
  EXPECT_ACL_OK(aclrtSynchronizeStream(other));
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(notify, stream_, 1));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_)) << "set before the wait";
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(notify, stream_, 1));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_TASK_TIMEOUT)
      << "two records without a wait between are one";
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(notify, stream_, 0));
  ASSERT_ACL_OK(aclrtRecordNotify(notify, other));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_ACL_OK(aclrtDestroyNotify(notify));
  EXPECT_EQ(aclrtDestroyNotify(notify), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtRecordNotify(notify, stream_), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtWaitAndResetNotify(notify, stream_, 0), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Ipc, NotifyChecks) {
  aclrtNotify notify;
  Key key;
  EXPECT_EQ(aclrtCreateNotify(nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateNotify(&notify, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyNotify(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRecordNotify(nullptr, stream_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtWaitAndResetNotify(nullptr, stream_, 0), ACL_ERROR_INVALID_PARAM);
  OnFreshThread([&] { EXPECT_EQ(aclrtCreateNotify(&notify, 0), ACL_ERROR_RT_CONTEXT_NULL); });
  ASSERT_ACL_OK(aclrtCreateNotify(&notify, 0));
  EXPECT_EQ(aclrtNotifyGetExportKey(notify, nullptr, kKeyBytes, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify, key.text, kKeyBytes - 1, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify, key.text, kKeyBytes, 1), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_ACL_OK(aclrtNotifyGetExportKey(notify, key.text, kKeyBytes,
                                        ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  aclrtNotify imported;
  EXPECT_EQ(aclrtNotifyImportByKey(nullptr, key.text, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, key.text, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, key.text, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "in the exporting process";
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, "nonsense", 0), ACL_ERROR_RT_PARAM_INVALID);
  key.text[0] = 'm';
  EXPECT_EQ(aclrtNotifyImportByKey(&imported, key.text, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtDestroyNotify(notify));
}

// ---- events ----

TEST(Child, Recorder) {
  if (!IsChild()) GTEST_SKIP();
  Line line(3, 4);
  ASSERT_ACL_OK(aclrtSetDevice(0));
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  aclrtIpcEventHandle handle = line.Hear<aclrtIpcEventHandle>();
  aclrtEvent event = nullptr;
  line.Say(aclrtIpcOpenEventHandle(handle, &event));
  aclrtEventRecordedStatus status;
  EXPECT_ACL_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE) << "never recorded";
  // A record that is queued and does not happen before the parent says so.
  aclrtNotify gate;
  ASSERT_ACL_OK(aclrtCreateNotify(&gate, 0));
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(gate, stream, 0));
  ASSERT_ACL_OK(aclrtRecordEvent(event, stream));
  line.Say(char{1});
  if (line.Hear<char>() == 'd') {
    kill(getpid(), SIGKILL);
  }
  aclrtStream opener;
  ASSERT_ACL_OK(aclrtCreateStream(&opener));
  ASSERT_ACL_OK(aclrtRecordNotify(gate, opener));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
  line.Hear<char>();
  EXPECT_ACL_OK(aclrtResetDeviceForce(0));
}

class IpcEvents : public Ipc {
 protected:
  void SetUp() override {
    Ipc::SetUp();
    ASSERT_ACL_OK(aclrtCreateEventExWithFlag(&event_, ACL_EVENT_IPC));
  }
  aclrtEventRecordedStatus Status() {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_ACL_OK(aclrtQueryEventStatus(event_, &status));
    return status;
  }
  aclrtIpcEventHandle Handle() {
    aclrtIpcEventHandle handle;
    EXPECT_ACL_OK(aclrtIpcGetEventHandle(event_, &handle));
    return handle;
  }
  aclrtEvent event_ = nullptr;
};

TEST_F(IpcEvents, RecordsAndWaitsOfTwoProcesses) {
  Child child("Recorder");
  Line line = child.line();
  line.Say(Handle());
  ASSERT_EQ(line.Hear<aclError>(), ACL_SUCCESS);
  line.Hear<char>();  // recorded, not complete
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event_, 10), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  ASSERT_ACL_OK(aclrtStreamWaitEvent(stream_, event_));
  aclrtEventWaitStatus waits;
  EXPECT_ACL_OK(aclrtQueryEventWaitStatus(event_, &waits));
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_NOT_READY);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  line.Say('g');
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_ACL_OK(aclrtRecordEvent(event_, stream_)) << "the other side may record, too";
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event_));
  line.Say('e');
  child.Wait();
  EXPECT_ACL_OK(aclrtDestroyEvent(event_));
}

TEST_F(IpcEvents, ALaterRecordOfAnotherStreamEndsNoEarlierWait) {
  aclrtStream idle, waiting;
  ASSERT_ACL_OK(aclrtCreateStream(&idle));
  ASSERT_ACL_OK(aclrtCreateStream(&waiting));
  aclrtNotify gate;
  ASSERT_ACL_OK(aclrtCreateNotify(&gate, 0));
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(gate, stream_, 0));
  ASSERT_ACL_OK(aclrtRecordEvent(event_, stream_));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(waiting, event_));
  ASSERT_ACL_OK(aclrtRecordEvent(event_, idle));
  EXPECT_ACL_OK(aclrtSynchronizeStream(idle));
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_COMPLETE) << "the last record is";
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event_));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(waiting, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
      << "the record that it waits for has not happened";
  ASSERT_ACL_OK(aclrtRecordNotify(gate, idle));
  EXPECT_ACL_OK(aclrtSynchronizeStream(waiting));
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_ACL_OK(aclrtDestroyNotify(gate));
  EXPECT_ACL_OK(aclrtDestroyEvent(event_));
}

TEST_F(IpcEvents, MoreRecordsThanPlacesGoOn) {
  for (int i = 0; i < 300; i++) {
    ASSERT_ACL_OK(aclrtRecordEvent(event_, stream_));
    ASSERT_ACL_OK(aclrtStreamWaitEvent(stream_, event_));
  }
  EXPECT_ACL_OK(aclrtSynchronizeEvent(event_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_ACL_OK(aclrtDestroyEvent(event_));
}

TEST_F(IpcEvents, AnAbortedRecordIsToldToWhoSynchronises) {
  aclrtNotify gate;
  ASSERT_ACL_OK(aclrtCreateNotify(&gate, 0));
  ASSERT_ACL_OK(aclrtWaitAndResetNotify(gate, stream_, 0));
  ASSERT_ACL_OK(aclrtRecordEvent(event_, stream_));
  ASSERT_ACL_OK(aclrtStreamAbort(stream_));
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_ACL_OK(aclrtDestroyNotify(gate));
  EXPECT_ACL_OK(aclrtDestroyEvent(event_));
}

TEST_F(IpcEvents, ARecorderThatDiesFailsWaits) {
  Child child("Recorder");
  Line line = child.line();
  line.Say(Handle());
  ASSERT_EQ(line.Hear<aclError>(), ACL_SUCCESS);
  line.Hear<char>();
  ASSERT_ACL_OK(aclrtStreamWaitEvent(stream_, event_));
  child.Kill();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_SUSPECT_REMOTE_ERROR);
  EXPECT_EQ(aclrtSynchronizeEvent(event_), ACL_ERROR_RT_SUSPECT_REMOTE_ERROR);
  EXPECT_ACL_OK(aclrtDestroyEvent(event_));
}

TEST_F(IpcEvents, Checks) {
  aclrtIpcEventHandle handle = {}, again = {};
  aclrtEvent plain, opened;
  EXPECT_EQ(aclrtIpcGetEventHandle(nullptr, &handle), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcGetEventHandle(event_, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC));
  EXPECT_EQ(aclrtIpcGetEventHandle(plain, &handle), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcOpenEventHandle(handle, &opened), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcOpenEventHandle(handle, nullptr), ACL_ERROR_INVALID_PARAM);
  handle = Handle();
  again = Handle();
  EXPECT_EQ(memcmp(&handle, &again, sizeof handle), 0);
  EXPECT_EQ(aclrtIpcOpenEventHandle(handle, &opened), ACL_ERROR_RT_PARAM_INVALID)
      << "in the process that made it";
  ASSERT_ACL_OK(aclrtStreamWaitEvent(stream_, event_));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream_)) << "never recorded: nothing to wait for";
  EXPECT_ACL_OK(aclrtDestroyEvent(plain));
  EXPECT_ACL_OK(aclrtDestroyEvent(event_));
}

// ---- memory ----

TEST(Child, MemoryUser) {
  if (!IsChild()) GTEST_SKIP();
  Line line(3, 4);
  ASSERT_ACL_OK(aclrtSetDevice(0));
  line.Say(int32_t{getpid()});
  Key key = line.Hear<Key>();
  int* memory = nullptr;
  line.Say(aclrtIpcMemImportByKey(reinterpret_cast<void**>(&memory), key.text, 0));
  line.Hear<char>();
  const aclError imported = aclrtIpcMemImportByKey(reinterpret_cast<void**>(&memory), key.text, 1);
  line.Say(imported);
  if (imported == ACL_SUCCESS) {
    int value = 0;
    EXPECT_ACL_OK(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    line.Say(value);
    value = 8;
    EXPECT_ACL_OK(aclrtMemcpy(memory, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    aclrtPtrAttributes attributes;
    EXPECT_ACL_OK(aclrtPointerGetAttributes(memory, &attributes));
    EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    line.Say(char{1});
    line.Hear<char>();  // freed by its owner
    EXPECT_ACL_OK(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(value, 8) << "the bytes stay";
    EXPECT_ACL_OK(aclrtIpcMemClose(key.text));
    EXPECT_NE(aclrtFree(memory), ACL_SUCCESS) << "not this process' to free";
    EXPECT_NE(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(aclrtIpcMemClose(key.text), ACL_ERROR_RT_PARAM_INVALID) << "closed already";
    line.Say(char{1});
  }
  line.Hear<char>();
  EXPECT_ACL_OK(aclrtResetDeviceForce(0));
}

TEST_F(Ipc, MemoryOfOneProcessInAnother) {
  Child child("MemoryUser");
  Line line = child.line();
  int32_t pid = line.Hear<int32_t>();
  int* memory = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(reinterpret_cast<void**>(&memory), 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  int* inside = memory + 1000;  // not on a page
  *inside = 7;
  Key key;
  ASSERT_ACL_OK(aclrtIpcMemGetExportKey(inside, 5000, key.text, kKeyBytes,
                                        ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT));
  EXPECT_LT(strlen(key.text), kKeyBytes);
  line.Say(key);
  EXPECT_EQ(line.Hear<aclError>(), ACL_ERROR_RT_PARAM_INVALID) << "not listed";
  EXPECT_EQ(aclrtIpcMemSetImportPid(nullptr, &pid, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemSetImportPid(key.text, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemSetImportPid(key.text, &pid, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemSetImportPid("nonsense", &pid, 1), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_ACL_OK(aclrtIpcMemSetImportPid(key.text, &pid, 1));
  line.Say(char{1});
  ASSERT_EQ(line.Hear<aclError>(), ACL_SUCCESS);
  EXPECT_EQ(line.Hear<int>(), 7);
  line.Hear<char>();
  EXPECT_EQ(*inside, 8);
  EXPECT_ACL_OK(aclrtFree(memory));
  // A new allocation must not get the pages that the child still has.
  std::vector<void*> others(8);
  for (void*& other : others) {
    ASSERT_ACL_OK(aclrtMalloc(&other, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(other, 0, 1 << 20);
  }
  line.Say(char{1});
  line.Hear<char>();
  for (void* other : others) EXPECT_ACL_OK(aclrtFree(other));
  EXPECT_ACL_OK(aclrtIpcMemClose(key.text)) << "the exporter's own";
  EXPECT_EQ(aclrtIpcMemClose(key.text), ACL_ERROR_RT_PARAM_INVALID);
  line.Say(char{1});
  child.Wait();
}

TEST_F(Ipc, AClosedKeyImportsNothing) {
  Child child("MemoryUser");
  Line line = child.line();
  line.Hear<int32_t>();
  void* memory = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  Key key;
  ASSERT_ACL_OK(aclrtIpcMemGetExportKey(memory, 4096, key.text, kKeyBytes,
                                        ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  EXPECT_ACL_OK(aclrtIpcMemClose(key.text));
  line.Say(key);
  EXPECT_EQ(line.Hear<aclError>(), ACL_ERROR_RT_PARAM_INVALID);
  line.Say(char{1});
  EXPECT_EQ(line.Hear<aclError>(), ACL_ERROR_RT_PARAM_INVALID);
  line.Say(char{1});
  child.Wait();
  EXPECT_ACL_OK(aclrtFree(memory));
}

TEST_F(Ipc, MemoryChecks) {
  Key key;
  void* memory = nullptr;
  void* imported = nullptr;
  int host = 0;
  ASSERT_ACL_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(aclrtIpcMemGetExportKey(nullptr, 64, key.text, kKeyBytes, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemGetExportKey(memory, 0, key.text, kKeyBytes, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemGetExportKey(memory, 64, nullptr, kKeyBytes, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemGetExportKey(memory, 64, key.text, 64, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(memory, 64, key.text, kKeyBytes, 2),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(&host, 4, key.text, kKeyBytes, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(memory, 8192, key.text, kKeyBytes, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_ACL_OK(aclrtIpcMemGetExportKey(memory, 64, key.text, kKeyBytes, 1));
  EXPECT_EQ(aclrtIpcMemImportByKey(nullptr, key.text, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemImportByKey(&imported, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemImportByKey(&imported, key.text, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemImportByKey(&imported, key.text, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "in the exporting process";
  EXPECT_EQ(aclrtIpcMemClose(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtFree(memory));
}

}  // namespace
