/*
 * The devices: H200s, as in cuda/description.c. EMULATOR_MEMORY sets the memory of each,
 * EMULATOR_GPUS their number, and CUDA_VISIBLE_DEVICES those that a program sees. Each
 * thread has its own current device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

enum { DEVICES_MAX = 16 };

static _Thread_local int current_device;

int device_current(void)
{
    return current_device;
}

/* Returns the device with the program's number `index`, or -1. */
static int visible_device(int index)
{
    const char *gpus = getenv("EMULATOR_GPUS"), *cursor = getenv("CUDA_VISIBLE_DEVICES");
    int all = gpus && *gpus ? (int)strtol(gpus, NULL, 10) : 1, n = 0;

    if (all < 1 || all > DEVICES_MAX)
        emulator_abort("EMULATOR_GPUS=%s: 1 to %d", gpus, DEVICES_MAX);
    if (!cursor)
        return index < 0 ? all : index < all ? index : -1;
    for (;; cursor++, n++) {
        char *end;
        long number = strtol(cursor, &end, 10);

        if (end == cursor || number < 0 || number >= all)
            return index < 0 ? n : -1;
        if (n == index)
            return (int)number;
        cursor = end;
        if (*cursor != ',')
            return index < 0 ? n + 1 : -1;
    }
}

static bool is_device(int index)
{
    return index >= 0 && visible_device(index) >= 0;
}

/* EMULATOR_DEVICES=802: error of a missing device; or 35, with EMULATOR_DRIVER=12040. */
cudaError_t cudaGetDeviceCount(int *n)
{
    const char *error = getenv("EMULATOR_DEVICES");

    emulator_lock();
    if (error && *error)
        return emulator_return((cudaError_t)strtol(error, NULL, 10));
    *n = visible_device(-1);
    return emulator_return(*n ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int index)
{
    emulator_lock();
    if (!is_device(index))
        return emulator_return(cudaErrorInvalidDevice);
    current_device = index;
    return emulator_return(cudaSuccess);
}

cudaError_t cudaGetDevice(int *index)
{
    *index = current_device;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *v)
{
    *v = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *v)
{
    const char *version = getenv("EMULATOR_DRIVER");

    *v = version && *version ? (int)strtol(version, NULL, 10) : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int index)
{
    emulator_lock();
    if (!is_device(index))
        return emulator_return(cudaErrorInvalidDevice);
    *p = (struct cudaDeviceProp){
        .name = "NVIDIA H200",
        .totalGlobalMem = emulator_settings.memory,
        .sharedMemPerBlock = 49152,
        .sharedMemPerBlockOptin = 232448,
        .sharedMemPerMultiprocessor = 233472,
        .reservedSharedMemPerBlock = 1024,
        .regsPerBlock = 65536,
        .regsPerMultiprocessor = 65536,
        .warpSize = 32,
        .maxThreadsPerBlock = 1024,
        .maxThreadsPerMultiProcessor = 2048,
        .maxBlocksPerMultiProcessor = 32,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {2147483647, 65535, 65535},
        .major = 9,
        .multiProcessorCount = emulator_settings.multiprocessors,
        .l2CacheSize = (int)emulator_settings.cache,
        .memoryBusWidth = 6144,
        .concurrentKernels = 1,
        .asyncEngineCount = 3,
        .unifiedAddressing = 1,
        .cooperativeLaunch = 1,
        .pciBusID = 1 + visible_device(index),
    };
    return emulator_return(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *v, enum cudaDeviceAttr a, int index)
{
    struct cudaDeviceProp p;
    cudaError_t e = cudaGetDeviceProperties(&p, index);
    const struct {
        enum cudaDeviceAttr a;
        int value;
    } table[] = {
        {cudaDevAttrMaxThreadsPerBlock, 1024},
        {cudaDevAttrMaxBlockDimX, 1024},
        {cudaDevAttrMaxBlockDimY, 1024},
        {cudaDevAttrMaxBlockDimZ, 64},
        {cudaDevAttrMaxGridDimX, 2147483647},
        {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535},
        {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
        {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
        {cudaDevAttrMaxRegistersPerBlock, 65536},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
        {cudaDevAttrWarpSize, 32},
        {cudaDevAttrMultiProcessorCount, 132},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
        {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
        {cudaDevAttrComputeCapabilityMajor, 9},
        {cudaDevAttrComputeCapabilityMinor, 0},
        {cudaDevAttrL2CacheSize, (int)emulator_settings.cache},
        {cudaDevAttrClockRate, 1980000},
        {cudaDevAttrMemoryClockRate, 3201000},
        {cudaDevAttrGlobalMemoryBusWidth, 6144},
        {cudaDevAttrPciBusId, e == cudaSuccess ? p.pciBusID : 0},
        {cudaDevAttrPciDeviceId, 0},
        {cudaDevAttrPciDomainId, 0},
        {cudaDevAttrTccDriver, 0},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrAsyncEngineCount, 3},
        {cudaDevAttrIntegrated, 0},
    };

    if (e != cudaSuccess)
        return e;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].a == a) {
            *v = table[i].value;
            return cudaSuccess;
        }
    emulator_abort("the emulated device has no attribute %d", (int)a);
}

cudaError_t cudaDeviceGetPCIBusId(char *dst, int size, int index)
{
    emulator_lock();
    if (!is_device(index) || size < 13)
        return emulator_return(cudaErrorInvalidValue);
    (void)snprintf(dst, (size_t)size, "0000:%02x:00.0", 1 + visible_device(index));
    return emulator_return(cudaSuccess);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}
