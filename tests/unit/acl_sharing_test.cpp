// Physical memory between processes (semantics B.2).

#include "unit/acl_child.h"

namespace {

// ---- the child's side ----

struct Order {
  enum What { kImport, kImportFabric, kImportDevice1, kFree, kQuit } what;
  uint64_t shareable;
  aclrtMemFabricHandle fabric;
};

// Imports what it is told, maps it, answers the code and the first byte, writes the second byte.
TEST(Child, Importer) {
  if (!IsChild()) GTEST_SKIP();
  ASSERT_ACL_OK(aclrtSetDevice(0));
  Line line(3, 4);
  line.Say(int32_t{getpid()});
  std::vector<std::pair<void*, aclrtDrvMemHandle>> held;
  for (;;) {
    Order order = line.Hear<Order>();
    if (order.what == Order::kQuit) break;
    aclError error = ACL_SUCCESS;
    char first = 0;
    if (order.what == Order::kFree) {
      for (auto [va, handle] : held) {
        EXPECT_ACL_OK(aclrtUnmapMem(va));
        EXPECT_ACL_OK(aclrtFreePhysical(handle));
        EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
      }
      held.clear();
    } else {
      aclrtDrvMemHandle handle = nullptr;
      error = order.what == Order::kImportFabric
                  ? aclrtMemImportFromShareableHandleV2(
                        &order.fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &handle)
                  : aclrtMemImportFromShareableHandle(order.shareable,
                                                      order.what == Order::kImportDevice1, &handle);
      if (error == ACL_SUCCESS) {
        void* va = nullptr;
        ASSERT_ACL_OK(aclrtReserveMemAddress(&va, kTestGranule, 0, nullptr, 0));
        ASSERT_ACL_OK(aclrtMapMem(va, kTestGranule, 0, handle, 0));
        // Own and imported memory do not mix in a reservation; imported memory is
        // not exported again.
        uint64_t again;
        EXPECT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &again),
                  ACL_ERROR_RT_PARAM_INVALID);
        EXPECT_ACL_OK(aclrtMemcpy(&first, 1, va, 1, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_ACL_OK(aclrtMemset(static_cast<char*>(va) + 1, 1, 77, 1));
        held.emplace_back(va, handle);
      }
    }
    line.Say(error);
    line.Say(first);
  }
}

// Exports memory and waits to be killed.
TEST(Child, Exporter) {
  if (!IsChild()) GTEST_SKIP();
  ASSERT_ACL_OK(aclrtSetDevice(0));
  Line line(3, 4);
  aclrtDrvMemHandle handle;
  aclrtPhysicalMemProp prop = DeviceProp();
  ASSERT_ACL_OK(aclrtMallocPhysical(&handle, kTestGranule, &prop, 0));
  void* va = nullptr;
  ASSERT_ACL_OK(aclrtReserveMemAddress(&va, kTestGranule, 0, nullptr, 0));
  ASSERT_ACL_OK(aclrtMapMem(va, kTestGranule, 0, handle, 0));
  static_cast<char*>(va)[0] = 55;
  uint64_t shareable = 0;
  ASSERT_ACL_OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &shareable));
  line.Say(shareable);
  line.Hear<char>();
}

// ---- the tests ----

class Sharing : public AclTest {
 protected:
  void SetUp() override {
    if (IsChild()) GTEST_SKIP();
    AclTest::SetUp();
    aclrtPhysicalMemProp prop = DeviceProp();
    ASSERT_ACL_OK(aclrtMallocPhysical(&handle_, kTestGranule, &prop, 0));
    ASSERT_ACL_OK(aclrtReserveMemAddress(&va_, kTestGranule, 0, nullptr, 0));
    ASSERT_ACL_OK(aclrtMapMem(va_, kTestGranule, 0, handle_, 0));
    bytes_ = static_cast<char*>(va_);
    bytes_[0] = 33;
  }
  void TearDown() override {
    if (!IsChild()) {
      AclTest::TearDown();
      ASSERT_ACL_OK(aclrtSetDevice(0));
      EXPECT_ACL_OK(aclrtReleaseMemAddress(va_));
      ASSERT_ACL_OK(aclrtResetDevice(0));
    }
  }
  // The importer's answer; first byte of the memory in *first.
  static aclError Ask(Child& child, Order order, char* first = nullptr) {
    Line line = child.line();
    line.Say(order);
    aclError error = line.Hear<aclError>();
    char byte = line.Hear<char>();
    if (first) *first = byte;
    return error;
  }
  static void Quit(Child& child) {
    child.line().Say(Order{Order::kQuit, 0, {}});
    child.Wait();
  }
  aclrtDrvMemHandle handle_ = nullptr;
  void* va_ = nullptr;
  char* bytes_ = nullptr;
};

TEST_F(Sharing, B2_ExportChecks) {
  uint64_t shareable = 0;
  aclrtMemFabricHandle fabric;
  EXPECT_EQ(aclrtMemExportToShareableHandle(nullptr, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 0, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 2, &shareable),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_POSIX, 0, &shareable),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtMemExportToShareableHandleV2(handle_, 0, static_cast<aclrtMemSharedHandleType>(9),
                                              &fabric),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(
      aclrtMemExportToShareableHandleV2(handle_, 2, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric),
      ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemExportToShareableHandle(&shareable, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable),
            ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_ACL_OK(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
  EXPECT_NE(shareable, 0u);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable),
            ACL_ERROR_RT_PARAM_INVALID)
      << "twice";
  EXPECT_EQ(
      aclrtMemExportToShareableHandleV2(handle_, 0, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric),
      ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Sharing, B2_ImportChecks) {
  uint64_t shareable = 0;
  ASSERT_ACL_OK(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 1, &shareable));
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 99, &handle),
            ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &handle), ACL_ERROR_RT_PARAM_INVALID)
      << "own memory";
  EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 1,
                                                &handle),
            ACL_ERROR_RT_PARAM_INVALID)
      << "flags";
  EXPECT_EQ(
      aclrtMemImportFromShareableHandleV2(nullptr, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &handle),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(handle, nullptr);
}

TEST_F(Sharing, B2_SetPidChecks) {
  uint64_t shareable = 0;
  int32_t pid = getpid();
  ASSERT_ACL_OK(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 65536), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable ^ 1, &pid, 1), ACL_ERROR_RT_PARAM_INVALID)
      << "unknown";
  EXPECT_ACL_OK(aclrtMemSetPidToShareableHandle(shareable, &pid, 1));
  EXPECT_ACL_OK(
      aclrtMemSetPidToShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &pid, 1));
}

TEST_F(Sharing, B2_AnotherProcessSeesAndChangesTheMemory) {
  uint64_t shareable = 0;
  ASSERT_ACL_OK(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 1, &shareable));
  Child child("Importer");
  child.line().Hear<int32_t>();
  char first = 0;
  EXPECT_ACL_OK(Ask(child, {Order::kImport, shareable, {}}, &first));
  EXPECT_EQ(first, 33);
  EXPECT_EQ(bytes_[1], 77);
  EXPECT_ACL_OK(Ask(child, {Order::kImportDevice1, shareable, {}}, &first))
      << "once more, for another device";
  Quit(child);
}

TEST_F(Sharing, B2_FabricHandleCarriesTheSame) {
  Order order = {Order::kImportFabric, 0, {}};
  ASSERT_ACL_OK(aclrtMemExportToShareableHandleV2(handle_, 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC,
                                                  &order.fabric));
  Child child("Importer");
  child.line().Hear<int32_t>();
  char first = 0;
  EXPECT_ACL_OK(Ask(child, order, &first));
  EXPECT_EQ(first, 33);
  for (size_t byte : {0, 8, 16, 24}) {  // magic, number, heap, nonce
    Order damaged = order;
    damaged.fabric.data[byte] ^= 0x40;
    EXPECT_EQ(Ask(child, damaged), ACL_ERROR_RT_PARAM_INVALID) << byte;
  }
  Quit(child);
}

TEST_F(Sharing, B2_OnlyListedProcessesImport) {
  uint64_t shareable = 0;
  ASSERT_ACL_OK(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
  Child listed("Importer"), other("Importer");
  int32_t pid = listed.line().Hear<int32_t>();
  other.line().Hear<int32_t>();
  EXPECT_EQ(Ask(listed, {Order::kImport, shareable, {}}), ACL_ERROR_RT_PARAM_INVALID)
      << "not yet listed";
  ASSERT_ACL_OK(aclrtMemSetPidToShareableHandle(shareable, &pid, 1));
  EXPECT_ACL_OK(Ask(listed, {Order::kImport, shareable, {}}));
  EXPECT_EQ(Ask(other, {Order::kImport, shareable, {}}), ACL_ERROR_RT_PARAM_INVALID);
  Quit(listed);
  Quit(other);
}

TEST_F(Sharing, B2_MemoryLivesWhileAnImporterHoldsIt) {
  uint64_t shareable = 0;
  ASSERT_ACL_OK(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 1, &shareable));
  Child child("Importer");
  child.line().Hear<int32_t>();
  ASSERT_ACL_OK(Ask(child, {Order::kImport, shareable, {}}));
  size_t before, after, total;
  ASSERT_ACL_OK(aclrtUnmapMem(va_));
  ASSERT_ACL_OK(aclrtFreePhysical(handle_));
  // Its range must not be handed out: fill other memory and let the child look again.
  aclrtPhysicalMemProp prop = DeviceProp();
  std::vector<aclrtDrvMemHandle> others(4);
  for (auto& other : others) {
    ASSERT_ACL_OK(aclrtMallocPhysical(&other, kTestGranule, &prop, 0));
    ASSERT_ACL_OK(aclrtMapMem(va_, kTestGranule, 0, other, 0));
    EXPECT_NE(bytes_[0] == 33 && bytes_[1] == 77, true)
        << "the importer's memory was handed out again";
    memset(bytes_, 1, 2);
    ASSERT_ACL_OK(aclrtUnmapMem(va_));
  }
  EXPECT_EQ(Ask(child, {Order::kImport, shareable, {}}), ACL_ERROR_RT_PARAM_INVALID)
      << "no new import after the release";
  ASSERT_ACL_OK(Ask(child, {Order::kFree, 0, {}}));
  for (auto other : others) ASSERT_ACL_OK(aclrtFreePhysical(other));
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
  ASSERT_ACL_OK(
      aclrtMallocPhysical(&others[0], kTestGranule, &prop, 0));  // looks through the waiting ranges
  ASSERT_ACL_OK(aclrtFreePhysical(others[0]));
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  Quit(child);
}

TEST_F(Sharing, B2_DeadImporterDoesNotHoldTheMemory) {
  uint64_t shareable = 0;
  ASSERT_ACL_OK(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 1, &shareable));
  Child child("Importer");
  child.line().Hear<int32_t>();
  ASSERT_ACL_OK(Ask(child, {Order::kImport, shareable, {}}));
  child.Kill();
  ASSERT_ACL_OK(aclrtUnmapMem(va_));
  ASSERT_ACL_OK(aclrtFreePhysical(handle_));
  aclrtPhysicalMemProp prop = DeviceProp();
  ASSERT_ACL_OK(aclrtMallocPhysical(&handle_, kTestGranule, &prop, 0));
  ASSERT_ACL_OK(aclrtMapMem(va_, kTestGranule, 0, handle_, 0));
  EXPECT_EQ(bytes_[1], 77) << "the same range again, and Free kept its pages";
}

TEST_F(Sharing, B2_ImportOutlivesItsExporter) {
  Child exporter("Exporter");
  uint64_t shareable = exporter.line().Hear<uint64_t>();
  aclrtDrvMemHandle imported = nullptr;
  ASSERT_ACL_OK(aclrtMemImportFromShareableHandle(shareable, 0, &imported));
  void* va = nullptr;
  ASSERT_ACL_OK(aclrtReserveMemAddress(&va, 2 * kTestGranule, 0, nullptr, 0));
  ASSERT_ACL_OK(aclrtMapMem(va, kTestGranule, 0, imported, 0));
  EXPECT_EQ(aclrtMapMem(static_cast<char*>(va) + kTestGranule, kTestGranule, 0, handle_, 0),
            ACL_ERROR_RT_PARAM_INVALID)
      << "own and imported memory in one reservation";
  exporter.Kill();
  EXPECT_EQ(*static_cast<char*>(va), 55);
  memset(va, 1, kTestGranule);
  aclrtDrvMemHandle late = nullptr;
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &late), ACL_ERROR_RT_PARAM_INVALID)
      << "too late";
  EXPECT_ACL_OK(aclrtUnmapMem(va));
  EXPECT_ACL_OK(aclrtFreePhysical(imported));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

TEST_F(Sharing, InventedHandlesAreRefused) {
  // Numbers that lead to no process, to other processes' descriptors, to this program's parent, and
  // so on.
  uint64_t parent = uint64_t(getppid()) << 42;
  for (uint64_t number : {uint64_t{0}, UINT64_MAX, uint64_t{1} << 42, parent, parent | 1 << 22,
                          parent | 2 << 22 | 77, uint64_t{4000000} << 42 | 12345}) {
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_NE(aclrtMemImportFromShareableHandle(number, 0, &handle), ACL_SUCCESS) << number;
    EXPECT_EQ(handle, nullptr);
  }
}

TEST_F(Sharing, ManyExportsComeAndGo) {
  aclrtPhysicalMemProp prop = DeviceProp();
  for (int round = 0; round < 50; round++) {
    aclrtDrvMemHandle handles[8];
    for (auto& handle : handles) {
      ASSERT_ACL_OK(aclrtMallocPhysical(&handle, kTestGranule, &prop, 0));
      uint64_t shareable = 0;
      ASSERT_ACL_OK(
          aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &shareable));
    }
    for (auto handle : handles) ASSERT_ACL_OK(aclrtFreePhysical(handle));
  }
}

}  // namespace
