/* Plans and devices as text. As in the library, a plan's text contains its graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/error.h"
#include "tests/emulator/cudnn/plan.h"

const char device_json[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
    "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"
    "\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
    "\"totalGlobalMem\":150109880320,\"smClockRateKHz\":1980000,"
    "\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,\"cudaDeviceId\":0,"
    "\"deviceVer\":900,\"driverVer\":13000,\"deviceName\":\"NVIDIA H200 (emulated)\"}";

/* Returns the text after "key":, or NULL. Keys of inner objects count, too. */
static const char *find(const char *json, const char *key)
{
    char quoted[80];
    const char *p = json;

    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", key);
    while ((p = strstr(p, quoted)) != NULL) {
        p += strlen(quoted);
        p += strspn(p, " \t\r\n");
        if (*p == ':')
            return p + 1 + strspn(p + 1, " \t\r\n");
    }
    return NULL;
}

static bool is_object(const char *json)
{
    size_t n = strlen(json);

    json += strspn(json, " \t\r\n");
    while (n && strchr(" \t\r\n", json[n - 1]))
        n--;
    return json[0] == '{' && n && strchr(json, '}');
}

cudnnStatus_t device_check_json(const char *json, int *capability)
{
    static const char *const keys[] = {
        "maxGridSize",        "maxBlockSize",
        "regsPerBlock",       "multiProcessorCount",
        "warpSize",           "maxSharedMemoryPerBlock",
        "maxRegistersPerSM",  "maxSharedMemoryPerBlockOptin",
        "maxCtasPerSM",       "reservedSharedMemoryPerBlock",
        "maxThreadsPerBlock", "maxThreadsPerSM",
        "pciDeviceId",        "isTccDriver",
        "supportCoopLaunch",  "totalGlobalMem",
        "smClockRateKHz",     "memClockRateKHz",
        "l2CacheSize",        "cudaDeviceId",
        "deviceVer",          "driverVer",
        "deviceName",
    };

    if (!is_object(json))
        return BAD("the device description is no JSON object");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!find(json, keys[i]))
            return BAD("the device description has no %s", keys[i]);
    *capability = (int)strtol(find(json, "deviceVer"), NULL, 10);
    return CUDNN_STATUS_SUCCESS;
}

static char *put_bytes(char *cursor, const void *p, size_t size)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        *cursor++ = digit[((const unsigned char *)p)[i] >> 4];
        *cursor++ = digit[((const unsigned char *)p)[i] & 15];
    }
    return cursor;
}

char *plan_to_json(const struct plan *p)
{
    size_t nt = sizeof(p->graph.tensor[0]) * (size_t)p->graph.ntensor;
    size_t no = sizeof(p->graph.op[0]) * (size_t)p->graph.nop;
    char *text = malloc(2 * (nt + no) + 256), *cursor = text;

    if (!text)
        abort();
    cursor +=
        snprintf(cursor, 256,
                 "{\"cudnnVersion\":%d,\"engine\":%d,\"tensors\":%d,\"operations\":%d,"
                 "\"hash\":\"%016llx\",\"operationGraph\":\"",
                 library_version(), p->engine->index, p->graph.ntensor, p->graph.nop,
                 (unsigned long long)graph_hash(&p->graph));
    cursor = put_bytes(cursor, p->graph.tensor, nt);
    cursor = put_bytes(cursor, p->graph.op, no);
    memcpy(cursor, "\"}", 3);
    return text;
}

static bool get_bytes(const char **src, void *p, size_t size)
{
    for (size_t i = 0; i < size; i++, *src += 2) {
        char pair[3] = {(*src)[0], (*src)[0] ? (*src)[1] : 0, 0}, *end;

        ((unsigned char *)p)[i] = (unsigned char)strtoul(pair, &end, 16);
        if (end != pair + 2)
            return false;
    }
    return true;
}

static bool get_graph(const char *json, struct graph *g)
{
    const char *tensors = find(json, "tensors"), *ops = find(json, "operations");
    const char *bytes = find(json, "operationGraph"), *hash = find(json, "hash");

    if (!tensors || !ops || !bytes || !hash || *bytes != '"' || *hash != '"')
        return false;
    bytes++;
    g->ntensor = (int32_t)strtol(tensors, NULL, 10);
    g->nop = (int32_t)strtol(ops, NULL, 10);
    return g->ntensor > 0 && g->ntensor <= TENSORS_MAX && g->nop > 0 &&
           g->nop <= OPS_MAX &&
           get_bytes(&bytes, g->tensor, sizeof(g->tensor[0]) * (size_t)g->ntensor) &&
           get_bytes(&bytes, g->op, sizeof(g->op[0]) * (size_t)g->nop) &&
           strtoull(hash + 1, NULL, 16) == graph_hash(g);
}

cudnnStatus_t plan_from_json(const char *json, const struct engine *engines, int nengine,
                             struct plan *p)
{
    const char *version = find(json, "cudnnVersion"), *engine = find(json, "engine");
    long index;

    if (!is_object(json) || !version || !engine)
        return BAD("the plan's text is no JSON object of a plan");
    if (strtol(version, NULL, 10) != library_version())
        return refuse(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH,
                      "the plan's text is of another version");
    if (!get_graph(json, &p->graph))
        return BAD("the plan's text is damaged");
    index = strtol(engine, NULL, 10);
    for (int i = 0; i < nengine; i++)
        if (engines[i].index == index)
            p->engine = &engines[i];
    return p->engine ? CUDNN_STATUS_SUCCESS : BAD("there is no engine %ld", index);
}
