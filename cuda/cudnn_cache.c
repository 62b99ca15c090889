/*
 * Plans on disk: one JSON file each in options.cache, named by the hash of its key. The
 * key is inside too, so that neither a collision nor a foreign file is believed, and so
 * is a checksum of the plan.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cuda/cudnn_engine.h"

static char *cache_path(const struct cudnn *c, const char *name)
{
    const char *folder = c->dev->options.cache;

    return folder && *folder ? xasprintf("%s/cudnn-%s.json", folder, name) : NULL;
}

static void sum_text(const char *plan, char text[24])
{
    (void)snprintf(text, 24, "%016llx",
                   (unsigned long long)XXH3_64bits(plan, strlen(plan)));
}

/* A plan made from cuDNN's own JSON; NULL with the reason in the pool. */
static cudnnBackendDescriptor_t plan_from_text(struct cudnn_pool *p, const char *text)
{
    cudnnBackendDescriptor_t d = cudnn_new(p, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

    if (p->c->handle)
        cudnn_set(p, d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                  &p->c->handle);
    else
        cudnn_set_desc(p, d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, p->c->device);
    cudnn_set(p, d, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
              (int64_t)strlen(text), text);
    return cudnn_finalize(p, d, "plan") ? d : NULL;
}

static const char *restore(struct cudnn *c, const json_t *o, struct cudnn_plan *plan)
{
    const char *key = json_string_value(json_object_get(o, "key"));
    const char *sum = json_string_value(json_object_get(o, "xxh3"));
    const char *text = json_string_value(json_object_get(o, "plan"));
    const char *notes = json_string_value(json_object_get(o, "notes"));
    struct cudnn_pool p = {.c = c};
    int64_t bytes = -1, n;
    char want[24];

    if (!key || !sum || !text || !notes)
        return "something is missing";
    if (strcmp(key, plan->key) != 0)
        return "it is another plan's";
    sum_text(text, want);
    if (strcmp(sum, want) != 0)
        return "the checksum is wrong";
    plan->desc = plan_from_text(&p, text);
    if (plan->desc)
        p.n--;
    cudnn_pool_release(&p);
    if (!plan->desc)
        return "cuDNN does not take it";
    (void)c->BackendGetAttribute(plan->desc, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &n, &bytes);
    plan->workspace = (size_t)bytes;
    plan->engine = (int)json_integer_value(json_object_get(o, "engine"));
    plan->microseconds = (float)json_number_value(json_object_get(o, "microseconds"));
    (void)snprintf(plan->notes, sizeof(plan->notes), "%s", notes);
    plan->from_cache = true;
    return NULL;
}

bool cudnn_cache_load(struct cudnn *c, const char *name, struct cudnn_plan *plan)
{
    char *path = cache_path(c, name), *text = NULL;
    const char *why = NULL;
    json_error_t e;
    json_t *o;
    size_t len;

    if (path)
        text = file_read(path, &len);
    if (text) {
        o = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
        why = json_is_object(o) ? restore(c, o, plan) : "it is not JSON";
        json_decref(o);
        if (why)
            log_info("%s is passed over: %s; the plan is made anew", path, why);
    }
    free(text);
    free(path);
    return plan->desc != NULL;
}

void cudnn_cache_store(struct cudnn *c, const char *name, const struct cudnn_plan *plan)
{
    char *path = cache_path(c, name), *text, *file, sum[24];
    json_t *o;

    if (!path)
        return;
    text = cudnn_get_text(c, plan->desc, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    if (text) {
        sum_text(text, sum);
        o = json_pack("{s:s, s:i, s:I, s:s, s:f, s:s, s:s}", "key", plan->key, "engine",
                      plan->engine, "workspace", (json_int_t)plan->workspace, "notes",
                      plan->notes, "microseconds", (double)plan->microseconds, "xxh3",
                      sum, "plan", text);
        file = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
        if (!file || dir_make_all(c->dev->options.cache) ||
            file_write_atomic(path, file, strlen(file)))
            log_once("cannot keep cuDNN's plans in '%s': %s", c->dev->options.cache,
                     strerror(errno));
        free(file);
        json_decref(o);
    }
    free(text);
    free(path);
}
