#include "cuda/description.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A Hopper GPU with HBM and 132 multiprocessors; clocks in kHz, memory in bytes. */
#define HOPPER(name, memory, clock, width, l2)                                           \
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"         \
    "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"warpSize\":32,"                \
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"         \
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"                 \
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"          \
    "\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"                       \
    "\"totalGlobalMem\":" memory ",\"smClockRateKHz\":1980000,"                          \
    "\"memClockRateKHz\":" clock ",\"memoryBusWidth\":" width ",\"l2CacheSize\":" l2     \
    ",\"cudaDeviceId\":0,"                                                               \
    "\"deviceVer\":900,\"driverVer\":13000,\"deviceName\":\"" name "\"}"

static const struct {
    const char *name, *json;
} gpus[] = {
    {"h100",
     HOPPER("NVIDIA H100 80GB HBM3", "85017493504", "2619000", "5120", "52428800")},
    {"h200", HOPPER("NVIDIA H200", "150109880320", "3201000", "6144", "62914560")},
};

static size_t bytes(const json_t *o, const char *key, const char *source)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_integer(v) || json_integer_value(v) <= 0)
        die("%s: a device description needs \"%s\", a positive number", source, key);
    return (size_t)json_integer_value(v);
}

static int number(const json_t *o, const char *key, const char *source)
{
    size_t v = bytes(o, key, source);

    if (v > 1 << 30)
        die("%s: %zu is too large for \"%s\" of a device description", source, v, key);
    return (int)v;
}

/* Returns 0 if the key is absent. Dies if it is not a number. */
static double optional(const json_t *o, const char *key, const char *source)
{
    return json_object_get(o, key) ? number(o, key, source) : 0;
}

/* Returns the first GPU's description in the output of trainc devices --json, or NULL. */
static json_t *find_gpu(json_t *o, const char *source)
{
    json_t *device, *found = NULL;
    size_t i;

    json_array_foreach(json_object_get(o, "devices"), i, device) if (!found) found =
        json_object_get(json_array_get(json_object_get(device, "gpus"), 0),
                        "description");
    if (!json_is_object(found))
        die("%s: trainc devices found no GPU where this was written", source);
    return found;
}

const char *description_name(int i)
{
    return i < (int)(sizeof(gpus) / sizeof(gpus[0])) ? gpus[i].name : NULL;
}

static const char *built_in(const char *name)
{
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++)
        if (strcmp(gpus[i].name, name) == 0)
            return gpus[i].json;
    return NULL;
}

static json_t *parse(const char *source)
{
    json_error_t e;
    const char *text = built_in(source);
    json_t *o = text ? json_loads(text, JSON_REJECT_DUPLICATES, &e)
                     : json_load_file(source, JSON_REJECT_DUPLICATES, &e);

    if (!o && e.line > 0)
        die("%s:%d:%d: %s", source, e.line, e.column, e.text);
    if (!o)
        die("cannot read the device description '%s': %s", source, e.text);
    if (!json_is_object(o))
        die("%s: a device description is one JSON object", source);
    if (json_object_get(o, "devices")) {
        json_t *gpu = json_incref(find_gpu(o, source));

        json_decref(o);
        o = gpu;
    }
    return o;
}

void description_read(struct description *d, const char *source)
{
    json_t *o = parse(source);
    const char *name = json_string_value(json_object_get(o, "deviceName"));

    *d = (struct description){
        .compute = number(o, "deviceVer", source),
        .multiprocessors = number(o, "multiProcessorCount", source),
        .memory = bytes(o, "totalGlobalMem", source),
        .l2 = bytes(o, "l2CacheSize", source),
        .shared_per_block = number(o, "maxSharedMemoryPerBlockOptin", source),
        .threads_per_multiprocessor = number(o, "maxThreadsPerSM", source),
        .clock = 1e3 * optional(o, "smClockRateKHz", source),
        .memory_clock = 1e3 * optional(o, "memClockRateKHz", source),
        .memory_width = (int)optional(o, "memoryBusWidth", source),
        .json = json_dumps(o, JSON_COMPACT),
    };
    (void)snprintf(d->name, sizeof(d->name), "%s", name ? name : source);
    json_decref(o);
}

void description_release(struct description *d)
{
    free(d->json);
    *d = (struct description){0};
}
