/*
 * HcclCommConfigInit in a C program that links no library of ours: it must leave the bytes that the
 * library reads, whatever was in the memory before.
 */
#include <hccl/hccl.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void Expect(int ok, const char *what) {
  if (!ok) {
    fprintf(stderr, "not so: %s\n", what);
    ++failures;
  }
}
#define EXPECT(condition) Expect((condition), #condition)

static int AllZero(const char *bytes, size_t size) {
  size_t i;
  for (i = 0; i < size; ++i) {
    if (bytes[i] != 0) {
      return 0;
    }
  }
  return 1;
}

int main(void) {
  HcclCommConfig config;
  size_t size;
  uint32_t magic;
  uint32_t version;

  memset(&config, 0x5a, sizeof(config));
  HcclCommConfigInit(&config);
  memcpy(&size, config.reserved, sizeof(size));
  memcpy(&magic, config.reserved + 8, sizeof(magic));
  memcpy(&version, config.reserved + 12, sizeof(version));

  EXPECT(sizeof(HcclRootInfo) == 4108);
  EXPECT(size == 2248 && size == sizeof(HcclCommConfig));
  EXPECT(magic == 0xF0F0F0F0U);
  EXPECT(version == 11);
  EXPECT(AllZero(config.reserved + 16, 8));
  EXPECT(config.hcclBufferSize == 0xFFFFFFFFU);
  EXPECT(config.hcclDeterministic == 0xFFFFFFFFU);
  EXPECT(AllZero(config.hcclCommName, sizeof(config.hcclCommName)));
  EXPECT(AllZero(config.hcclUdi, sizeof(config.hcclUdi)));
  EXPECT(config.hcclOpExpansionMode == 0);
  EXPECT(config.hcclRdmaTrafficClass == 0xFFFFFFFFU);
  EXPECT(config.hcclRdmaServiceLevel == 0xFFFFFFFFU);
  EXPECT(config.hcclWorldRankID == 0);
  EXPECT(config.hcclJobID == 0);
  EXPECT(config.aclGraphZeroCopyEnable == 0);
  EXPECT(config.hcclExecTimeOut == -1);
  EXPECT(AllZero(config.hcclAlgo, sizeof(config.hcclAlgo)));
  EXPECT(AllZero(config.hcclRetryEnable, sizeof(config.hcclRetryEnable)));
  EXPECT(AllZero(config.hcclRetryParams, sizeof(config.hcclRetryParams)));
  EXPECT(AllZero(config.hcclBufferName, sizeof(config.hcclBufferName)));
  EXPECT(config.hcclQos == 0xFFFFFFFFU);
  EXPECT(config.hcclSymWinMaxMemSizePerRank == 16);
  EXPECT(config.hcclChannelSqDepth == 0xFFFFFFFFU);

  HcclCommConfigInit(NULL); /* must not write anywhere */
  return failures == 0 ? 0 : 1;
}
