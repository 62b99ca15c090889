#include "session/devices.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cache_dir.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "config/names.h"
#include "config/problems.h"
#include "cpu/backend.h"
#include "dist/group.h"
#include "dist/launch.h"
#include "dist/nccl.h"
#include "dist/threads.h"
#include "ops/reference.h"
#ifdef WITH_CUDA
#include "cuda/backend.h"
#define CUDA &backend_cuda
#else
#define CUDA NULL
#endif

/* Best first. `backend` is NULL if this build lacks it; its name is still known. */
static const struct device_row {
    const char *name;
    const char *numbered; /* how the help names one of several; NULL: one device only */
    const struct backend *backend;
} rows[] = {
    {"cuda", "cuda:N", CUDA},
    {"cpu", NULL, &backend_cpu},
    {"ref", NULL, &backend_ref},
    {0},
};

static const char automatic[] = "auto";

/* The device numbers in DEVICE (`named`); without numbers: device 0. */
struct device_list {
    int n, index[DEVICES_MAX];
    bool named;
};

const struct backend *device_at(int i)
{
    for (const struct device_row *row = rows; row->name; row++)
        if (row->backend && i-- == 0)
            return row->backend;
    return NULL;
}

/* Reads "0,1,3". Returns false if it is no list of numbers or has a duplicate. */
static bool read_numbers(const char *text, struct device_list *l)
{
    for (l->n = 0; l->n < DEVICES_MAX; text++) {
        long number;
        char *end;

        if (*text < '0' || *text > '9')
            return false;
        number = strtol(text, &end, 10);
        if (number > 1 << 20)
            return false;
        for (int i = 0; i < l->n; i++)
            if (l->index[i] == (int)number)
                return false;
        l->index[l->n++] = (int)number;
        text = end;
        if (*text != ',')
            return !*text;
    }
    return false;
}

/* Returns the row of NAME, NAME:1, or NAME:0,1, or NULL if there is none. */
static const struct device_row *row_find(const char *device, struct device_list *l)
{
    size_t len = strcspn(device, ":");

    *l = (struct device_list){.n = 1};
    for (const struct device_row *row = rows; row->name; row++) {
        if (strlen(row->name) != len || strncmp(row->name, device, len) != 0)
            continue;
        if (!device[len])
            return row;
        l->named = true;
        return row->numbered && read_numbers(device + len + 1, l) ? row : NULL;
    }
    return NULL;
}

/* Returns the backend of a described device (a name or a .json file) that is not
 * installed here, or NULL if `device` is no description. */
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

/* Lists auto, then each row, followed by NAME:N if there can be several. */
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
    struct device_list l;

    return row_find(device, &l) || describes(device);
}

const struct names device_names = {.entry = device_name, .table = rows, .more = is_other};

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
            strbuf_addf(out, "%s%s", out->len ? "; " : "", why.buf);
        strbuf_release(&why);
        if (ok)
            return;
    }
}

/* Returns NULL if this build does not have the device. */
static const struct backend *find(const char *device, struct device_options *o,
                                  struct device_list *l)
{
    const struct device_row *row = row_find(device, l);
    const struct backend *b = describes(device);

    o->index = l->index[0];
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
    struct device_list l;
    const struct backend *b = find(device, o, &l);

    if (!b)
        die("this build of trainc has no device '%s' (see trainc devices)", device);
    return b;
}

/* True if this process sees one device, as when a launcher assigns one to each. */
static bool sees_one(const struct backend *b)
{
    return !device_available(b, 1, NULL);
}

/* Returns the device number of this process or thread. Several processes of one machine
 * use one device each, by local rank. */
static int own_device(const struct config *cfg, const struct backend *b)
{
    struct dist_launch launch = dist_launched();
    int local = launch.local_rank;
    struct device_list l;

    (void)row_find(cfg->device, &l);
    if (launch.world == 1 && l.n > 1 && dist_world() == 1)
        BUG("DEVICE %s for one device", cfg->device);
    if (launch.world == 1)
        return l.index[l.n > 1 ? dist_rank() : 0];
    if (l.named && local >= l.n)
        config_refuse(cfg, KEYS("DEVICE"),
                      "DEVICE %s: %d processes on this machine need a device each: %s, "
                      "or a list with one number per process",
                      cfg->device, launch.local_world, b->name);
    if (l.named)
        return l.index[local];
    return local && sees_one(b) ? 0 : local;
}

const struct backend *device_options(const struct config *cfg, struct device_options *o)
{
    const struct backend *b;

    *o = (struct device_options){
        .threads = (int)cfg->threads,
        .tf32 = cfg->cudnn.allow_tf32,
        .deterministic = cfg->cudnn.deterministic,
        .benchmark = cfg->cudnn.benchmark,
        .apart = !cfg->cudnn.fuse,
        .world = dist_world(),
        .eager = !cfg->cuda.graph,
        .workspace = (size_t)cfg->cudnn.workspace_limit,
        .cache = cache_dir(cfg->cudnn.cache),
    };
    b = device_find(cfg->device, o);
    if (b->link && !o->description)
        o->index = own_device(cfg, b);
    return b;
}

bool device_links(const struct config *cfg)
{
    struct device_options o;
    struct device_list l;
    const struct backend *b = find(cfg->device, &o, &l);

    return b && b->link && !o.description;
}

int device_count(const struct config *cfg)
{
    struct device_list l;

    (void)row_find(cfg->device, &l);
    return l.n;
}

int device_threads(const struct config *cfg, int (*fn)(void *arg), void *arg)
{
    static struct device_list list; /* static: the group keeps a pointer to it */
    struct dist_launch launch = dist_launched();
    struct device_options o;
    const struct backend *b;

    if (launch.world > 1 && !launch.mpi) {
        b = device_options(cfg, &o);
        dist_nccl(b->link, o.index);
    }
    (void)row_find(cfg->device, &list);
    return dist_threads(list.index, list.n, fn, arg);
}

void device_check(const struct config *cfg, struct problems *p)
{
    struct device_list l;
    const struct device_row *row = row_find(cfg->device, &l);

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
                     "DEVICE %s describes a GPU that is not on this machine: only trainc "
                     "summary can use it",
                     cfg->device);
}

void device_check_one(const struct config *cfg, struct problems *p)
{
    device_check_run(cfg, p);
    if (device_count(cfg) > 1)
        config_blame(
            cfg, p, KEYS("DEVICE"),
            "DEVICE %s: this command uses one device: only train and eval accept several",
            cfg->device);
}
