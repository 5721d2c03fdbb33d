#!/usr/bin/env python3
"""AllReduce from Python through ctypes, without torch and without an extension module.

    hcclrun -n 4 examples/client.py /tmp/root_info

As on hardware, the libraries are found through LD_LIBRARY_PATH, which hcclrun sets. The root info goes through a file
that all ranks see.
"""
import array
import ctypes
import os
import sys
import time

ROOT_INFO_BYTES = 4108
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
FP32, SUM = 4, 0


class RootInfo(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * ROOT_INFO_BYTES)]


class Library:
    """A shared library whose functions return 0 for success and raise otherwise."""

    def __init__(self, name, functions):
        library = ctypes.CDLL(name)
        for function, arguments in functions.items():
            call = getattr(library, function)
            call.argtypes, call.restype, call.errcheck = arguments, ctypes.c_int, self._check
            setattr(self, function, call)

    @staticmethod
    def _check(result, function, arguments):
        if result != 0:
            raise RuntimeError(f"{function.__name__} returned {result}")
        return result


Pointer, Handle, Size = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t
acl = Library("libascendcl.so", {
    "aclInit": [ctypes.c_char_p],
    "aclFinalize": [],
    "aclrtGetDeviceCount": [ctypes.POINTER(ctypes.c_uint32)],
    "aclrtSetDevice": [ctypes.c_int32],
    "aclrtResetDevice": [ctypes.c_int32],
    "aclrtCreateStream": [Handle],
    "aclrtDestroyStream": [Pointer],
    "aclrtSynchronizeStream": [Pointer],
    "aclrtMalloc": [Handle, Size, ctypes.c_int],
    "aclrtFree": [Pointer],
    "aclrtMemcpy": [Pointer, Size, Pointer, Size, ctypes.c_int],
})
hccl = Library("libhccl.so", {
    "HcclGetRootInfo": [ctypes.POINTER(RootInfo)],
    "HcclCommInitRootInfo": [ctypes.c_uint32, ctypes.POINTER(RootInfo), ctypes.c_uint32, Handle],
    "HcclCommDestroy": [Pointer],
    "HcclAllReduce": [Pointer, Pointer, ctypes.c_uint64, ctypes.c_int, ctypes.c_int, Pointer, Pointer],
})


def share(info, rank, path):
    """Rank 0's root info on every rank; the name appears only once the file is complete."""
    if rank == 0:
        with open(path + ".part", "wb") as file:
            file.write(bytes(info))
        os.rename(path + ".part", path)
        return
    end = time.monotonic() + 60
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError(f"rank 0 did not write {path}")
        time.sleep(0.01)
    with open(path, "rb") as file:
        ctypes.memmove(ctypes.byref(info), file.read(), ROOT_INFO_BYTES)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: client.py file      (the file must not exist yet)")
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    acl.aclInit(None)
    devices = ctypes.c_uint32()
    acl.aclrtGetDeviceCount(devices)
    device = rank % devices.value
    acl.aclrtSetDevice(device)

    info, comm, stream, memory = RootInfo(), Pointer(), Pointer(), Pointer()
    if rank == 0:
        hccl.HcclGetRootInfo(info)
    share(info, rank, sys.argv[1])
    hccl.HcclCommInitRootInfo(size, info, rank, comm)
    if rank == 0:
        os.remove(sys.argv[1])  # everybody has read it
    acl.aclrtCreateStream(stream)

    values = array.array("f", [i * (rank + 1) for i in range(1000)])
    address, count = values.buffer_info()
    bytes_ = count * values.itemsize
    acl.aclrtMalloc(memory, bytes_, 0)
    acl.aclrtMemcpy(memory, bytes_, address, bytes_, HOST_TO_DEVICE)
    hccl.HcclAllReduce(memory, memory, count, FP32, SUM, comm, stream)
    acl.aclrtSynchronizeStream(stream)
    acl.aclrtMemcpy(address, bytes_, memory, bytes_, DEVICE_TO_HOST)
    wrong = sum(value != i * size * (size + 1) / 2 for i, value in enumerate(values))

    hccl.HcclCommDestroy(comm)
    acl.aclrtFree(memory)
    acl.aclrtDestroyStream(stream)
    acl.aclrtResetDevice(device)
    acl.aclFinalize()
    print(f"rank {rank} of {size}: {wrong} values wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
