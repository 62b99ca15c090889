/* The device: one H200, as in cuda/description.c; EMULATOR_MEMORY sets its memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

/* EMULATOR_DEVICES=802: why there is none; or 35, with EMULATOR_DRIVER=12040. */
cudaError_t cudaGetDeviceCount(int *n)
{
    const char *error = getenv("EMULATOR_DEVICES");

    emulator_lock();
    if (error && *error)
        return emulator_return((cudaError_t)strtol(error, NULL, 10));
    *n = 1;
    return emulator_return(cudaSuccess);
}

cudaError_t cudaSetDevice(int index)
{
    emulator_lock();
    return emulator_return(index ? cudaErrorInvalidDevice : cudaSuccess);
}

cudaError_t cudaGetDevice(int *index)
{
    *index = 0;
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
    if (index)
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
        .pciBusID = 1,
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
        {cudaDevAttrPciBusId, 1},
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

cudaError_t cudaDeviceGetPCIBusId(char *to, int size, int index)
{
    emulator_lock();
    if (index || size < 13)
        return emulator_return(cudaErrorInvalidValue);
    (void)snprintf(to, (size_t)size, "0000:01:00.0");
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
