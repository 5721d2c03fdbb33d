/*
 * The includes of a program that only knows HCCL: the runtime's names and NULL must come through
 * them. Compiled as C and as C++.
 */
#include <hccl/hccl.h>
#include <hccl/hccl_types.h>

HcclResult UmbrellaProgram(void);

HcclResult UmbrellaProgram(void) {
  HcclRootInfo root;
  HcclComm comm = NULL;
  aclrtStream stream = NULL;
  void *buffer = NULL;
  char name[COMM_NAME_MAX_LENGTH];
  if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
      aclrtCreateStream(&stream) != ACL_SUCCESS ||
      aclrtMalloc(&buffer, sizeof(float), ACL_MEM_MALLOC_HUGE_ONLY) != ACL_SUCCESS) {
    return HCCL_E_RUNTIME;
  }
  if (HcclGetRootInfo(&root) != HCCL_SUCCESS ||
      HcclCommInitRootInfo(1, &root, 0, &comm) != HCCL_SUCCESS ||
      HcclGetCommName(comm, name) != HCCL_SUCCESS) {
    return HCCL_E_INTERNAL;
  }
  switch (aclrtSynchronizeStream(stream)) { /* the codes are constant expressions */
    case ACL_SUCCESS:
    case ACL_ERROR_RT_TASK_TIMEOUT:
      break;
    case ACL_ERROR_INVALID_PARAM:
    default:
      return HCCL_E_PARA;
  }
  return HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
}
