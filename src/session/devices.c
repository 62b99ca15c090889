#include "session/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "config/problems.h"
#include "cpu/backend.h"
#include "ops/reference.h"
#ifdef WITH_CUDA
#include "cuda/backend.h"
#endif

const struct backend *const device_table[] = {
#ifdef WITH_CUDA
    &backend_cuda,
#endif
    &backend_cpu,
    &backend_ref,
    NULL,
};

static bool is_description(const char *device)
{
    size_t len = strlen(device);

    return !strcmp(device, "h200") || (len > 5 && !strcmp(device + len - 5, ".json"));
}

bool device_available(const struct backend *b, int index, struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT;
    bool ok = !b->available || b->available(index, why ? why : &unused);

    strbuf_release(&unused);
    return ok;
}

static const struct backend *best(void)
{
    for (int i = 0; device_table[i]; i++) {
        struct strbuf why = STRBUF_INIT;
        bool ok = device_available(device_table[i], 0, &why);

        if (!ok)
            log_once("DEVICE auto does not take %s: %s", device_table[i]->name, why.buf);
        strbuf_release(&why);
        if (ok)
            return device_table[i];
    }
    BUG("no device at all");
}

const struct backend *device_find(const char *device, struct device_options *o)
{
    size_t len = strcspn(device, ":");

    o->index = device[len] ? (int)strtol(device + len + 1, NULL, 10) : 0;
    if (!strcmp(device, "auto"))
        return best();
    if (is_description(device)) {
        o->description = device;
        device = "cuda";
        len = strlen(device);
    }
    for (int i = 0; device_table[i]; i++)
        if (strlen(device_table[i]->name) == len &&
            !strncmp(device_table[i]->name, device, len))
            return device_table[i];
    die("this build of trainc has no device '%s': take cpu (see trainc devices)", device);
}

/* Kept until the program ends, as the options are. */
static const char *cache_folder(const char *key)
{
    static char *folder;
    const char *root = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct strbuf s = STRBUF_INIT;

    if (strcmp(key, "auto") != 0)
        return key;
    if (root && *root == '/')
        strbuf_addf(&s, "%s/trainc", root);
    else if (home && *home)
        strbuf_addf(&s, "%s/.cache/trainc", home);
    free(folder);
    folder = strbuf_detach(&s);
    return folder;
}

const struct backend *device_options(const struct config *cfg, struct device_options *o)
{
    *o = (struct device_options){
        .threads = (int)cfg->threads,
        .tf32 = cfg->cudnn.allow_tf32,
        .deterministic = cfg->cudnn.deterministic,
        .benchmark = cfg->cudnn.benchmark,
        .eager = !cfg->cuda.graph,
        .workspace = (size_t)cfg->cudnn.workspace_limit,
        .cache = cache_folder(cfg->cudnn.cache),
    };
    return device_find(cfg->device, o);
}

void device_check(const struct config *cfg, struct problems *p)
{
    if (is_description(cfg->device))
        config_blame(cfg, p, KEYS("DEVICE"),
                     "DEVICE %s describes a GPU that is not here: trainc summary shows "
                     "what it would do, but nothing can run on it",
                     cfg->device);
}
