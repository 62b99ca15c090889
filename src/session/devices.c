#include "session/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "config/names.h"
#include "config/problems.h"
#include "cpu/backend.h"
#include "ops/reference.h"
#ifdef WITH_CUDA
#include "cuda/backend.h"
#define CUDA &backend_cuda
#else
#define CUDA NULL
#endif

/* Best first. A backend that this build leaves out has no table, but a name. */
static const struct device_row {
    const char *name;
    const char *numbered; /* how one of several is told: NAME:1; NULL: there is one */
    const struct backend *backend;
} rows[] = {
    {"cuda", "cuda:N", CUDA},
    {"cpu", NULL, &backend_cpu},
    {"ref", NULL, &backend_ref},
    {0},
};

static const char automatic[] = "auto";

const struct backend *device_at(int i)
{
    for (const struct device_row *row = rows; row->name; row++)
        if (row->backend && i-- == 0)
            return row->backend;
    return NULL;
}

/* The row of NAME or NAME:1; NULL: none. */
static const struct device_row *row_find(const char *device, int *index)
{
    size_t len = strcspn(device, ":");
    const char *number = device + len + 1;

    *index = 0;
    for (const struct device_row *row = rows; row->name; row++) {
        if (strlen(row->name) != len || strncmp(row->name, device, len) != 0)
            continue;
        if (!device[len])
            return row;
        if (!row->numbered || !*number || number[strspn(number, "0123456789")])
            return NULL;
        *index = (int)strtol(number, NULL, 10);
        return row;
    }
    return NULL;
}

/* The backend that takes it for a description of a device that is not here, or NULL. */
static const struct backend *describes(const char *device)
{
    size_t len = strlen(device);
    bool file = len > 5 && !strcmp(device + len - 5, ".json");
    const struct backend *b;

    for (int i = 0; (b = device_at(i)); i++)
        for (int k = 0; b->described && b->described(k); k++)
            if (file || !strcmp(device, b->described(k)))
                return b;
    return NULL;
}

/* auto, then each row, and NAME:N where there are several. */
static struct named device_name(const void *table, int i)
{
    static const char best[] = "the first of the others that this machine can run",
                      none[] = "not in this build of trainc";
    const struct device_row *row = table;

    if (i-- == 0)
        return (struct named){.name = automatic, .help = best};
    for (; row->name; row++) {
        const char *help = row->backend ? row->backend->help : none;

        if (i-- == 0)
            return (struct named){.name = row->name, .help = help};
        if (row->numbered && i-- == 0)
            return (struct named){.name = row->numbered, .help = help, .pattern = true};
    }
    return i == 0 ? (struct named){.name = "gpu", .refuse = "is no device: take cuda"}
                  : (struct named){0};
}

static bool is_other(const char *device)
{
    int index;

    return row_find(device, &index) || describes(device);
}

const struct names device_names = {.at = device_name, .table = rows, .more = is_other};

bool device_available(const struct backend *b, int index, struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT;
    bool ok = !b->available || b->available(index, why ? why : &unused);

    strbuf_release(&unused);
    return ok;
}

static const struct backend *best(void)
{
    const struct backend *b = NULL;

    for (int i = 0; (b = device_at(i)) && !device_available(b, 0, NULL);)
        i++;
    if (!b)
        BUG("no device at all");
    return b;
}

void device_add_passed_over(struct strbuf *out)
{
    const struct backend *b;

    for (int i = 0; (b = device_at(i)); i++) {
        struct strbuf why = STRBUF_INIT;
        bool ok = device_available(b, 0, &why);

        if (!ok)
            strbuf_addf(out, "%s%s: %s", out->len ? "; " : "", b->name, why.buf);
        strbuf_release(&why);
        if (ok)
            return;
    }
}

/* NULL: this build does not have it. */
static const struct backend *find(const char *device, struct device_options *o)
{
    const struct device_row *row = row_find(device, &o->index);
    const struct backend *b = describes(device);

    o->description = NULL;
    if (!strcmp(device, automatic))
        return best();
    if (row || !b)
        return row ? row->backend : NULL;
    o->description = device;
    return b;
}

const struct backend *device_find(const char *device, struct device_options *o)
{
    const struct backend *b = find(device, o);

    if (!b)
        die("this build of trainc has no device '%s' (see trainc devices)", device);
    return b;
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
    int index;
    const struct device_row *row = row_find(cfg->device, &index);

    if (names_check(&device_names, cfg, p, "DEVICE") && row && !row->backend)
        config_blame(cfg, p, KEYS("DEVICE"),
                     "DEVICE %s is not in this build of trainc (see trainc devices)",
                     cfg->device);
}

void device_check_run(const struct config *cfg, struct problems *p)
{
    device_check(cfg, p);
    if (describes(cfg->device))
        config_blame(cfg, p, KEYS("DEVICE"),
                     "DEVICE %s describes a GPU that is not here: trainc summary shows "
                     "what it would do, but nothing can run on it",
                     cfg->device);
}
