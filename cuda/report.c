/* Reports the driver, the libraries, and each GPU for trainc devices. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cudnn.h"
#include "cuda/gpus.h"
#include "cuda/library.h"
#include "cuda/parts.h"

static json_t *version_of(int v)
{
    return v ? json_sprintf("%d.%d", v / 1000, v / 10 % 100) : json_null();
}

static json_t *library_version(int v)
{
    return json_sprintf("%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}

static json_t *describe_library(enum cuda_library_id id)
{
    struct strbuf why = STRBUF_INIT;
    const struct cuda_library *l = cuda_library_open(id, &why);
    int built = id == CUDA_LIBRARY_CUDNN ? cudnn_built_with() : 0;
    json_t *o = json_object();

    (void)json_object_set_new(o, "name", json_string(cuda_library_name(id)));
    if (l) {
        (void)json_object_set_new(o, "version", library_version(l->version));
        (void)json_object_set_new(o, "path", json_string(l->path));
        if (l->version < built)
            (void)json_object_set_new(o, "built_with", library_version(built));
    } else {
        (void)json_object_set_new(o, "why", json_string(why.buf));
    }
    strbuf_release(&why);
    return o;
}

/* The input of summary --device: our keys, overridden by cuDNN's own, which may have more. */
static json_t *description_of(const struct description *d, int index)
{
    json_t *o = json_loads(d->json, 0, NULL);
    char *text = cudnn_describe(index);
    json_t *extra = text ? json_loads(text, 0, NULL) : NULL;

    if (json_is_object(extra))
        (void)json_object_update(o, extra);
    json_decref(extra);
    free(text);
    return o;
}

static json_t *describe_gpu(int index)
{
    struct strbuf why = STRBUF_INIT;
    json_t *o = json_object();
    struct gpu g;

    (void)json_object_set_new(o, "index", json_integer(index));
    if (gpu_read(&g, index, true, &why)) {
        const struct description *d = &g.what;

        (void)json_object_set_new(o, "name", json_string(d->name));
        (void)json_object_set_new(o, "memory_total", json_integer((json_int_t)d->memory));
        (void)json_object_set_new(o, "memory_free", json_integer((json_int_t)g.free));
        (void)json_object_set_new(
            o, "compute", json_sprintf("%d.%d", d->compute / 100, d->compute / 10 % 10));
        (void)json_object_set_new(o, "multiprocessors", json_integer(d->multiprocessors));
        (void)json_object_set_new(o, "pci", json_string(g.pci));
        (void)json_object_set_new(o, "description", description_of(d, index));
        gpu_release(&g);
    } else {
        (void)json_object_set_new(o, "why", json_string(why.buf));
    }
    strbuf_release(&why);
    return o;
}

/* The descriptions that summary --device knows by name, to compare with a GPU's own. */
static json_t *describe_known(void)
{
    json_t *o = json_object();
    struct description d;

    for (int i = 0; description_name(i); i++) {
        description_read(&d, description_name(i));
        (void)json_object_set_new(o, description_name(i), json_loads(d.json, 0, NULL));
        description_release(&d);
    }
    return o;
}

static json_t *describe_all(void)
{
    struct strbuf why = STRBUF_INIT;
    json_t *o = json_object(), *libraries = json_array(), *gpus = json_array();
    int n = gpu_count(&why);

    (void)json_object_set_new(o, "driver", version_of(gpu_driver_version()));
    (void)json_object_set_new(o, "runtime", version_of(gpu_runtime_version()));
    for (int i = 0; i < CUDA_LIBRARIES; i++)
        (void)json_array_append_new(libraries, describe_library((enum cuda_library_id)i));
    for (int i = 0; i < n; i++)
        (void)json_array_append_new(gpus, describe_gpu(i));
    (void)json_object_set_new(o, "libraries", libraries);
    (void)json_object_set_new(o, "gpus", gpus);
    (void)json_object_set_new(o, "described", describe_known());
    if (!n)
        (void)json_object_set_new(o, "why", json_string(why.buf));
    strbuf_release(&why);
    return o;
}

static const char *text(const json_t *o, const char *key, const char *other)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : other;
}

static void add_gpu(struct strbuf *s, const json_t *g)
{
    int index = (int)json_integer_value(json_object_get(g, "index"));
    const char *why = text(g, "why", NULL);

    if (why) {
        strbuf_addf(s, "cuda:%d %s\n", index, why);
        return;
    }
    strbuf_addf(s, "cuda:%d %s, ", index, text(g, "name", ""));
    strbuf_add_bytes(s, (double)json_integer_value(json_object_get(g, "memory_free")));
    strbuf_addstr(s, " of ");
    strbuf_add_bytes(s, (double)json_integer_value(json_object_get(g, "memory_total")));
    strbuf_addf(s, " free, compute capability %s, %lld multiprocessors, PCI %s\n",
                text(g, "compute", ""),
                (long long)json_integer_value(json_object_get(g, "multiprocessors")),
                text(g, "pci", ""));
}

static void add_library(struct strbuf *s, const json_t *library)
{
    const char *built = text(library, "built_with", NULL);

    if (!text(library, "version", NULL)) {
        strbuf_addf(s, "%s\n", text(library, "why", ""));
        return;
    }
    strbuf_addf(s, "%s %s (%s)", text(library, "name", ""), text(library, "version", ""),
                text(library, "path", ""));
    if (built)
        strbuf_addf(s, ", older than the %s that trainc was built with", built);
    strbuf_addch(s, '\n');
}

static void add_lines(struct strbuf *s, const json_t *all)
{
    const json_t *item;
    size_t i;

    strbuf_addf(s, "driver for CUDA %s, runtime %s\n", text(all, "driver", "none"),
                text(all, "runtime", "none"));
    json_array_foreach(json_object_get(all, "libraries"), i, item) add_library(s, item);
    json_array_foreach(json_object_get(all, "gpus"), i, item) add_gpu(s, item);
}

void cuda_report(struct strbuf *s, bool json)
{
    json_t *all = describe_all();
    char *dump = json ? json_dumps(all, JSON_COMPACT) : NULL;

    if (dump)
        strbuf_addstr(s, dump);
    else
        add_lines(s, all);
    free(dump);
    json_decref(all);
}
