#include "cuda/cudnn.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cuda/cudnn_lib.h"
#include "cuda/cudnn_run.h"

enum { DESCRIPTIONS_SINCE = 90800 };

static void load(struct cudnn *c)
{
    struct strbuf why = STRBUF_INIT;
    void *ptr;

    c->library = cuda_library_open(CUDA_LIBRARY_CUDNN, &why);
    if (!c->library)
        die("%s: %s", c->dev->text, why.buf);
#define X(name)                                                                          \
    ptr = cuda_library_symbol(c->library, "cudnn" #name);                                \
    memcpy(&c->name, &ptr, sizeof(ptr));
    CUDNN_CALLS(X)
#undef X
    c->version = (size_t)c->library->version;
}

/*
 * cuDNN opens and closes the run-time compiler for every query about an engine; holding
 * it open makes a query several times faster. It is searched for where cuDNN searches: in
 * cuDNN's own folder, in the folders of NVIDIA's Python packages, and in the linker's
 * paths.
 */
static void hold_compiler(const struct cudnn *c)
{
    const int major = CUDART_VERSION / 1000;
    char *folder = path_dirname(c->library->path);
    char *path[] = {
        xasprintf("%s/libnvrtc.so.%d", folder, major),
        xasprintf("%s/../../cuda_nvrtc/lib/libnvrtc.so.%d", folder, major),
        xasprintf("%s/../../cu%d/lib/libnvrtc.so.%d", folder, major, major),
        xasprintf("libnvrtc.so.%d", major),
    };
    void *held = NULL;

    for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        if (!held)
            held = dlopen(path[i], RTLD_LAZY | RTLD_LOCAL);
        free(path[i]);
    }
    free(folder);
}

static void check_version(const struct cudnn *c)
{
    if (c->version / 10000 != CUDNN_MAJOR)
        die("%s: trainc needs cuDNN %d", c->library->text, CUDNN_MAJOR);
    if (c->dev->described && c->version < DESCRIPTIONS_SINCE)
        die("%s: a device that is not here needs cuDNN 9.8 or later", c->library->text);
}

int cudnn_built_with(void)
{
    return CUDNN_VERSION;
}

/* The same device in another slot has the same plans. */
static char *without_slot(const char *json)
{
    json_t *o = json_loads(json, 0, NULL);
    char *text;

    if (!json_is_object(o)) {
        json_decref(o);
        return xstrdup(json);
    }
    (void)json_object_del(o, "cudaDeviceId");
    (void)json_object_del(o, "pciDeviceId");
    text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(o);
    return text ? text : xstrdup(json);
}

/* cuDNN's description of a real GPU is only a cache key, so ours serves as well. */
static void describe_device(struct cudnn *c)
{
    static const char hint[] =
        "trainc devices --json on such a GPU, with this cuDNN, writes all that it wants";
    struct cudnn_pool p = {.c = c};
    int32_t id = c->dev->index;
    cudnnBackendDescriptor_t d = cudnn_new(&p, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    char *json;

    if (c->handle)
        cudnn_set(&p, d, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &id);
    else
        cudnn_set(&p, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  (int64_t)strlen(c->dev->what.json), c->dev->what.json);
    if (!cudnn_finalize(&p, d, "device description")) {
        if (!c->handle)
            cuda_fail(c->dev, "cuDNN", p.message, NULL, hint);
        log_info("cuDNN does not describe %s: %s", c->dev->text, p.message);
        cudnn_pool_release(&p);
        c->device_json = without_slot(c->dev->what.json);
        return;
    }
    json = cudnn_get_text(c, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
    c->device_json = without_slot(json ? json : c->dev->what.json);
    c->device = d;
    p.n = 0; /* c owns it now */
    cudnn_pool_release(&p);
    free(json);
}

char *cudnn_describe(int index)
{
    struct strbuf why = STRBUF_INIT;
    struct device dev = {.index = index};
    struct cudnn c = {.dev = &dev};
    struct cudnn_pool p = {.c = &c};
    cudnnBackendDescriptor_t d;
    int32_t id = index;
    char *json = NULL;

    if (cuda_library_open(CUDA_LIBRARY_CUDNN, &why))
        load(&c);
    strbuf_release(&why);
    if (c.version < DESCRIPTIONS_SINCE)
        return NULL;
    d = cudnn_new(&p, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cudnn_set(&p, d, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &id);
    if (cudnn_finalize(&p, d, "device description"))
        json = cudnn_get_text(&c, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
    cudnn_pool_release(&p);
    return json;
}

static void open_handle(struct cudnn *c)
{
    cudnnStatus_t status = c->Create(&c->handle);

    if (status)
        cudnn_die(c, status, "cudnnCreate");
    status = c->SetStream(c->handle, c->dev->stream);
    if (status)
        cudnn_die(c, status, "cudnnSetStream");
}

struct cudnn *cudnn_open(struct device *dev)
{
    struct cudnn *c = dev->cudnn;

    if (c)
        return c;
    c = xcalloc(1, sizeof(*c));
    c->dev = dev;
    load(c);
    check_version(c);
    hold_compiler(c);
    if (!dev->described)
        open_handle(c);
    if (c->version >= DESCRIPTIONS_SINCE)
        describe_device(c);
    else
        c->device_json = xstrdup(dev->text);
    dev->cudnn = c;
    return c;
}

void cudnn_close(struct device *dev)
{
    struct cudnn *c = dev->cudnn;

    if (!c)
        return;
    dev->cudnn = NULL;
    for (size_t i = 0; i < c->plan.n; i++)
        cudnn_plan_free(c, c->plan.entry[i].value);
    strmap_release(&c->plan);
    if (c->device)
        (void)c->BackendDestroyDescriptor(c->device);
    if (c->handle)
        (void)c->Destroy(c->handle);
    free(c->device_json);
    free(c);
}
