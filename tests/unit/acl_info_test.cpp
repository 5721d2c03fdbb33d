// Errors, versions, device queries and data helpers through the C API (semantics B.1, E, F.3, G.3).

#include <limits>
#include <string>

#include "unit/acl_fixture.h"

namespace {

class Info : public AclTest {};

TEST_F(Info, F3_LastErrorIsPerThreadAndClearedByGet) {
  EXPECT_EQ(aclrtGetRunMode(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  OnFreshThread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); });
  aclrtRunMode mode;
  EXPECT_ACL_OK(aclrtGetRunMode(&mode));
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM) << "success is no error";
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLastError(static_cast<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Info, F3_RecentMessagesAreNewestFirstWithTheirCodes) {
  EXPECT_EQ(aclrtGetRunMode(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetDevice(99), ACL_ERROR_RT_INVALID_DEVICEID);
  const char* taken = aclGetRecentErrMsg();
  ASSERT_NE(taken, nullptr);
  const std::string text = taken;
  const size_t newest = text.find("aclrtSetDevice"), oldest = text.find("aclrtGetRunMode");
  ASSERT_NE(newest, std::string::npos) << text;
  ASSERT_NE(oldest, std::string::npos) << text;
  EXPECT_LT(newest, oldest);
  EXPECT_NE(text.find("EI0003, result 100000"), std::string::npos) << text;
  EXPECT_NE(text.find("result 107001"), std::string::npos) << text;
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(Info, ErrorVerboseSeesNoFaultOfTheDevice) {
  aclrtErrorInfo info;
  memset(&info, 0xff, sizeof info);
  EXPECT_EQ(aclrtGetErrorVerbose(0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetErrorVerbose(8, &info), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetErrorVerbose(-1, &info), ACL_ERROR_RT_INVALID_DEVICEID);
  ASSERT_ACL_OK(aclrtGetErrorVerbose(0, &info));
  EXPECT_EQ(info.errorType, ACL_RT_NO_ERROR);
  EXPECT_EQ(info.tryRepair, 0);
  EXPECT_EQ(info.hasDetail, 0);

  aclrtMemUceInfo errors[2] = {};
  size_t count = 9;
  EXPECT_EQ(aclrtGetMemUceInfo(0, nullptr, 2, &count), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemUceInfo(0, errors, 0, &count), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemUceInfo(0, errors, 2, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemUceInfo(8, errors, 2, &count), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtGetMemUceInfo(0, errors, 2, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(aclrtMemUceRepair(0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemUceRepair(8, errors, 1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtMemUceRepair(0, errors, 1));
  EXPECT_EQ(aclrtRepairError(0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRepairError(8, &info), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtRepairError(0, &info));
}

TEST(Versions, AllPackagesAreOfOneRelease) {
  char runtime[] = "runtime", unknown[] = "nonesuch";
  char text[ACL_PKG_VERSION_MAX_SIZE] = {};
  int32_t number = 0;
  EXPECT_EQ(aclsysGetVersionStr(nullptr, text), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetVersionStr(runtime, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetVersionStr(unknown, text), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclsysGetVersionNum(nullptr, &number), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetVersionNum(runtime, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetVersionNum(unknown, &number), ACL_ERROR_INVALID_FILE);
  for (const char* name : {"cann", "runtime", "hccl", "driver"}) {
    std::string package = name;
    ASSERT_ACL_OK(aclsysGetVersionStr(package.data(), text));
    EXPECT_STREQ(text, "9.1.0");
    ASSERT_ACL_OK(aclsysGetVersionNum(package.data(), &number));
    EXPECT_EQ(number, 90100000);
  }
}

TEST(Versions, PartsOfAPackagesVersion) {
  aclCANNPackageVersion version;
  memset(&version, 0xff, sizeof version);
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(8), &version),
            ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclsysGetCANNVersion(ACL_PKG_NAME_HCCL, &version));
  EXPECT_STREQ(version.version, "9.1.0");
  EXPECT_STREQ(version.majorVersion, "9");
  EXPECT_STREQ(version.minorVersion, "1");
  EXPECT_STREQ(version.releaseVersion, "0");
  EXPECT_STREQ(version.patchVersion, "");
}

TEST_F(Info, DeviceInfo) {
  int64_t value = 0;
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceInfo(8, ACL_DEV_ATTR_AICORE_CORE_NUM, &value),
            ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(999), &value),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_ACL_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_CUBE_CORE_NUM, &value));
  EXPECT_EQ(value, 24);
  EXPECT_ACL_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &value));
  EXPECT_EQ(value, 48);
  EXPECT_ACL_OK(aclrtGetDeviceInfo(3, ACL_DEV_ATTR_PHY_CHIP_ID, &value));
  EXPECT_EQ(value, 1) << "two devices are one chip";
  size_t free = 0, total = 0;
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  EXPECT_ACL_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
  EXPECT_EQ(static_cast<size_t>(value), total);
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &value), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetDeviceCapability(8, ACL_DEVICE_INFO_L2_SIZE, &value),
            ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
  EXPECT_EQ(value, 48);
}

TEST_F(Info, CapabilitiesAndAttributes) {
  int32_t value = -1;
  EXPECT_EQ(
      aclrtGetDeviceCapability(0, ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV, nullptr),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceCapability(8, ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV, &value),
            ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetDeviceCapability(0, static_cast<aclrtDevFeatureType>(2), &value),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(
      aclrtGetDeviceCapability(0, ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV, &value));
  EXPECT_EQ(value, ACL_DEV_FEATURE_NOT_SUPPORT);

  const aclCannAttr* list = nullptr;
  size_t count = 0;
  EXPECT_EQ(aclGetCannAttributeList(nullptr, &count), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetCannAttributeList(&list, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclGetCannAttributeList(&list, &count));
  EXPECT_EQ(std::vector<aclCannAttr>(list, list + count),
            (std::vector<aclCannAttr>{ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16}));
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_BF16, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &value));
  EXPECT_EQ(value, 1);
  EXPECT_ACL_OK(aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &value));
  EXPECT_EQ(value, 0);

  EXPECT_EQ(aclrtCheckArchCompatibility(nullptr, &value), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCheckArchCompatibility("Ascend910_9391", nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtCheckArchCompatibility(aclrtGetSocName(), &value));
  EXPECT_EQ(value, 1);
  EXPECT_ACL_OK(aclrtCheckArchCompatibility("Ascend310P3", &value));
  EXPECT_EQ(value, 0);
}

TEST_F(Info, UuidsTellDevicesApart) {
  aclrtUuid a, again, b;
  EXPECT_EQ(aclrtDeviceGetUuid(0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceGetUuid(8, &a), ACL_ERROR_RT_INVALID_DEVICEID);
  ASSERT_ACL_OK(aclrtDeviceGetUuid(0, &a));
  ASSERT_ACL_OK(aclrtDeviceGetUuid(0, &again));
  ASSERT_ACL_OK(aclrtDeviceGetUuid(1, &b));
  EXPECT_EQ(memcmp(&a, &again, sizeof a), 0);
  EXPECT_NE(memcmp(&a, &b, sizeof a), 0);
}

TEST_F(Info, StatusUtilisationAndNumbers) {
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  EXPECT_EQ(aclrtQueryDeviceStatus(0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtQueryDeviceStatus(8, &status), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtQueryDeviceStatus(0, &status));
  EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);

  aclrtUtilizationInfo load = {};
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(8, &load), ACL_ERROR_RT_INVALID_DEVICEID);
  load.utilizationExtend = reinterpret_cast<aclrtUtilizationExtendInfo*>(&load);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &load), ACL_ERROR_INVALID_PARAM);
  load.utilizationExtend = nullptr;
  EXPECT_ACL_OK(aclrtGetDeviceUtilizationRate(0, &load));
  EXPECT_EQ(load.cubeUtilization, -1);
  EXPECT_GE(load.memoryUtilization, 0);
  EXPECT_LE(load.memoryUtilization, 100);

  int32_t logic = -1;
  EXPECT_EQ(aclrtGetLogicDevIdByUserDevId(0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLogicDevIdByUserDevId(8, &logic), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtGetLogicDevIdByUserDevId(3, &logic));
  EXPECT_EQ(logic, 3);
  for (auto call : {aclrtGetPhyDevIdByLogicDevId, aclrtGetLogicDevIdByPhyDevId}) {
    int32_t number = -1;
    EXPECT_EQ(call(0, nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(call(8, &number), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(call(-1, &number), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_ACL_OK(call(3, &number));
    EXPECT_EQ(number, 3);
  }
}

TEST_F(Info, G3_PrimaryContextLivesFromSetToReset) {
  int32_t active = -1;
  uint32_t flags = 7;
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetPrimaryCtxState(8, nullptr, &active), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtGetPrimaryCtxState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  EXPECT_EQ(flags, 0u);
  EXPECT_ACL_OK(aclrtGetPrimaryCtxState(6, nullptr, &active));
  EXPECT_EQ(active, 0) << "never set";
  OnFreshThread([&] {
    ASSERT_ACL_OK(aclrtSetDevice(6));
    EXPECT_ACL_OK(aclrtGetPrimaryCtxState(6, nullptr, &active));
    EXPECT_EQ(active, 1);
    ASSERT_ACL_OK(aclrtResetDevice(6));
  });
  EXPECT_ACL_OK(aclrtGetPrimaryCtxState(6, nullptr, &active));
  EXPECT_EQ(active, 0) << "reset";
}

TEST_F(Info, G3_DefaultStreamHasAHandle) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCtxGetCurrentDefaultStream(nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtCtxGetCurrentDefaultStream(&stream));
  ASSERT_NE(stream, nullptr);
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_ACL_OK(aclrtMemsetAsync(p, 64, 3, 64, nullptr));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream)) << "the same stream as NULL";
  EXPECT_EQ(static_cast<char*>(p)[0], 3);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID) << "it belongs to the context";
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_ERROR_RT_PARAM_INVALID);
  OnFreshThread([] {
    aclrtStream none;
    EXPECT_EQ(aclrtCtxGetCurrentDefaultStream(&none), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(Info, PeersAlwaysReachEachOther) {
  int32_t can = 0;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(nullptr, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 8), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, -1, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 1), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(8, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_ACL_OK(aclrtDeviceEnablePeerAccess(1, 0));
  EXPECT_ACL_OK(aclrtDeviceEnablePeerAccess(1, 0)) << "repeated";
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(0), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtDeviceDisablePeerAccess(1));
  OnFreshThread([] { EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_ERROR_RT_CONTEXT_NULL); });
}

TEST(Data, ElementSizes) {
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT), 4u);
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT16), 2u);
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2u);
  EXPECT_EQ(aclDataTypeSize(ACL_INT64), 8u);
  EXPECT_EQ(aclDataTypeSize(ACL_BOOL), 1u);
  EXPECT_EQ(aclDataTypeSize(ACL_COMPLEX128), 16u);
  EXPECT_EQ(aclDataTypeSize(ACL_INT4), 1u);
  EXPECT_EQ(aclDataTypeSize(ACL_STRING), 0u);
  EXPECT_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0u);
}

TEST(Data, HalfPrecisionRoundsToNearestEven) {
  EXPECT_EQ(aclFloatToFloat16(1.625f), 0x3e80);
  EXPECT_EQ(aclFloat16ToFloat(0x3e80), 1.625f);
  EXPECT_EQ(aclFloatToFloat16(-0.0f), 0x8000);
  EXPECT_EQ(aclFloatToFloat16(1.0f + 1.0f / 2048), 0x3c00) << "a tie goes to the even neighbour";
  EXPECT_EQ(aclFloatToFloat16(1.0f + 3.0f / 2048), 0x3c02);
  EXPECT_EQ(aclFloatToFloat16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(aclFloatToFloat16(5.9604645e-8f), 1) << "smallest subnormal";
  EXPECT_EQ(aclFloatToFloat16(2.9802322e-8f), 0) << "half of it is a tie to zero";
  EXPECT_EQ(aclFloatToFloat16(3.0e-8f), 1);
  EXPECT_EQ(aclFloatToFloat16(6.1035156e-5f), 0x0400) << "smallest normal";
  EXPECT_EQ(aclFloatToFloat16(6.0975552e-5f), 0x03ff) << "largest subnormal";
  for (uint32_t bits = 0; bits < 0x7c00; bits++) {
    for (uint32_t sign : {0u, 0x8000u}) {
      const aclFloat16 half = static_cast<aclFloat16>(bits | sign);
      ASSERT_EQ(aclFloatToFloat16(aclFloat16ToFloat(half)), half);
    }
  }
}

TEST(Data, HalfPrecisionSaturatesAndHasNoInfOrNan) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(aclFloatToFloat16(65504.0f), 0x7bff);
  EXPECT_EQ(aclFloatToFloat16(65535.0f), 0x7bff) << "would round to Inf";
  EXPECT_EQ(aclFloatToFloat16(1e9f), 0x7bff);
  EXPECT_EQ(aclFloatToFloat16(inf), 0x7bff);
  EXPECT_EQ(aclFloatToFloat16(-inf), 0xfbff);
  EXPECT_EQ(aclFloatToFloat16(std::numeric_limits<float>::quiet_NaN()), 0x7bff);
  EXPECT_EQ(aclFloat16ToFloat(0x7c00), 65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0xfc00), -65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x7e00), 98304.0f);
}

TEST(Data, Buffers) {
  int data[4];
  aclDataBuffer* buffer = aclCreateDataBuffer(data, sizeof data);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), data);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), sizeof data);
  EXPECT_EQ(aclGetDataBufferSize(buffer), sizeof data);
  EXPECT_EQ(aclUpdateDataBuffer(nullptr, data, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclUpdateDataBuffer(buffer, data + 1, 4));
  EXPECT_EQ(aclGetDataBufferAddr(buffer), data + 1);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 4u);
  EXPECT_ACL_OK(aclDestroyDataBuffer(buffer));
  EXPECT_EQ(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetDataBufferAddr(nullptr), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(nullptr), 0u);
}

TEST(AppLog, E_DefaultLevelLetsErrorsPass) {
  testing::internal::CaptureStderr();
  aclAppLog(ACL_ERROR, "Train", "train.cpp", 42, "step %d of %s", 7, "nine");
  aclAppLog(ACL_INFO, "Train", "train.cpp", 43, "not this");
  aclAppLog(ACL_ERROR, nullptr, nullptr, 0, "bare");
  aclAppLog(ACL_ERROR, nullptr, nullptr, 0, nullptr);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("[ERROR] ASCENDCL("), std::string::npos) << text;
  EXPECT_NE(text.find("[train.cpp:42] Train: step 7 of nine\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("not this"), std::string::npos) << text;
  EXPECT_NE(text.find(" bare\n"), std::string::npos) << text;
}

}  // namespace
