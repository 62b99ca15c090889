#include <cuda_runtime_api.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/gpus.h"
#include "cuda/library.h"
#include "cuda/parts.h"

/* The oldest supported compute capability; see NVARCH in cuda.mk. */
enum { OLDEST = 800 };

int gpu_driver_version(void)
{
    int version = 0;

    return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

int gpu_runtime_version(void)
{
    int version = 0;

    return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : 0;
}

/* The driver can fail in many ways, even without a GPU. */
static void explain(cudaError_t e, struct strbuf *why)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int driver = gpu_driver_version(), runtime = gpu_runtime_version();

    if (e == cudaErrorInsufficientDriver && !driver)
        strbuf_addstr(why, "there is no NVIDIA driver: libcuda.so.1 is missing");
    else if (e == cudaErrorInsufficientDriver)
        strbuf_addf(why,
                    "the NVIDIA driver is too old: it knows CUDA %d.%d, and trainc needs "
                    "%d.%d (%s)",
                    driver / 1000, driver / 10 % 100, runtime / 1000, runtime / 10 % 100,
                    cuda_hint((int)e));
    else if (e == cudaErrorNoDevice && visible)
        strbuf_addf(why, "CUDA_VISIBLE_DEVICES='%s' leaves no GPU", visible);
    else if (e == cudaErrorNoDevice)
        strbuf_addstr(why, "the NVIDIA driver finds no GPU");
    else
        strbuf_addf(why, "the NVIDIA driver says '%s'%s%s%s", cudaGetErrorString(e),
                    cuda_hint((int)e) ? " (" : "",
                    cuda_hint((int)e) ? cuda_hint((int)e) : "",
                    cuda_hint((int)e) ? ")" : "");
}

int gpu_count(struct strbuf *why)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);

    if (e == cudaSuccess && n > 0)
        return n;
    (void)cudaGetLastError(); /* clear it, or the first launch would report it */
    explain(e == cudaSuccess ? cudaErrorNoDevice : e, why);
    return 0;
}

static int attribute(enum cudaDeviceAttr a, int index)
{
    int v = 0;

    return cudaDeviceGetAttribute(&v, a, index) == cudaSuccess ? v : 0;
}

/* Uses the keys of cuDNN's device property descriptor. */
static char *properties_json(const struct cudaDeviceProp *p, int index)
{
    json_t *o = json_pack("{s[iii],s[iii]}", "maxGridSize", p->maxGridSize[0],
                          p->maxGridSize[1], p->maxGridSize[2], "maxBlockSize",
                          p->maxThreadsDim[0], p->maxThreadsDim[1], p->maxThreadsDim[2]);
    const struct {
        const char *key;
        json_int_t value;
    } number[] = {
        {"regsPerBlock", p->regsPerBlock},
        {"multiProcessorCount", p->multiProcessorCount},
        {"warpSize", p->warpSize},
        {"maxSharedMemoryPerBlock", (json_int_t)p->sharedMemPerBlock},
        {"maxSharedMemoryPerBlockOptin", (json_int_t)p->sharedMemPerBlockOptin},
        {"reservedSharedMemoryPerBlock", (json_int_t)p->reservedSharedMemPerBlock},
        {"maxRegistersPerSM", p->regsPerMultiprocessor},
        {"maxCtasPerSM", p->maxBlocksPerMultiProcessor},
        {"maxThreadsPerBlock", p->maxThreadsPerBlock},
        {"maxThreadsPerSM", p->maxThreadsPerMultiProcessor},
        {"pciDeviceId", p->pciDeviceID},
        {"isTccDriver", p->tccDriver},
        {"supportCoopLaunch", p->cooperativeLaunch},
        {"totalGlobalMem", (json_int_t)p->totalGlobalMem},
        {"smClockRateKHz", attribute(cudaDevAttrClockRate, index)},
        {"memClockRateKHz", attribute(cudaDevAttrMemoryClockRate, index)},
        {"memoryBusWidth", p->memoryBusWidth},
        {"l2CacheSize", p->l2CacheSize},
        {"cudaDeviceId", index},
        {"deviceVer", p->major * 100 + p->minor * 10},
        {"driverVer", gpu_driver_version()},
    };
    char *text;

    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
        (void)json_object_set_new(o, number[i].key, json_integer(number[i].value));
    (void)json_object_set_new(o, "deviceName", json_string(p->name));
    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

static void describe(struct description *d, const struct cudaDeviceProp *p, int index)
{
    *d = (struct description){
        .compute = p->major * 100 + p->minor * 10,
        .multiprocessors = p->multiProcessorCount,
        .memory = p->totalGlobalMem,
        .l2 = (size_t)p->l2CacheSize,
        .shared_per_block = (int)p->sharedMemPerBlockOptin,
        .threads_per_multiprocessor = p->maxThreadsPerMultiProcessor,
        .clock = 1e3 * attribute(cudaDevAttrClockRate, index),
        .memory_clock = 1e3 * attribute(cudaDevAttrMemoryClockRate, index),
        .memory_width = p->memoryBusWidth,
        .json = properties_json(p, index),
    };
    (void)snprintf(d->name, sizeof(d->name), "%.95s", p->name);
}

static size_t free_memory(int index)
{
    size_t free_ = 0, total = 0;

    if (cudaSetDevice(index) != cudaSuccess ||
        cudaMemGetInfo(&free_, &total) != cudaSuccess)
        (void)cudaGetLastError();
    return free_;
}

bool gpu_read(struct gpu *g, int index, bool memory, struct strbuf *why)
{
    struct cudaDeviceProp p;
    cudaError_t e = cudaGetDeviceProperties(&p, index);

    *g = (struct gpu){0};
    if (e != cudaSuccess) {
        (void)cudaGetLastError();
        explain(e, why);
        return false;
    }
    describe(&g->what, &p, index);
    (void)snprintf(g->pci, sizeof(g->pci), "%04x:%02x:%02x.0", (unsigned)p.pciDomainID,
                   (unsigned)p.pciBusID, (unsigned)p.pciDeviceID);
    if (memory)
        g->free = free_memory(index);
    return true;
}

void gpu_release(struct gpu *g)
{
    description_release(&g->what);
}

static bool usable(int index, int n, struct strbuf *why)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct gpu g;
    bool ok;

    if (index >= n) {
        strbuf_addf(why, "there is no GPU %d: the driver shows %d, counted from 0", index,
                    n);
        if (visible)
            strbuf_addf(why, " (CUDA_VISIBLE_DEVICES='%s')", visible);
        return false;
    }
    if (!gpu_read(&g, index, false, why))
        return false;
    ok = g.what.compute >= OLDEST;
    if (!ok)
        strbuf_addf(why,
                    "%s has compute capability %d.%d, and trainc needs %d.%d or later",
                    g.what.name, g.what.compute / 100, g.what.compute / 10 % 10,
                    OLDEST / 100, OLDEST / 10 % 10);
    gpu_release(&g);
    return ok;
}

bool cuda_available(int index, struct strbuf *why)
{
    int n = gpu_count(why);

    return n && usable(index, n, why) && cuda_library_open(CUDA_LIBRARY_CUDNN, why);
}
