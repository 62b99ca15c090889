/* Plans on disk (base/plan_file.h), as cuDNN's own JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plan_file.h"
#include "cuda/cudnn_engine.h"

/* Builds a plan from cuDNN's JSON; returns NULL with the reason in the pool. */
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
    const char *text = json_string_value(json_object_get(o, "plan"));
    const char *notes = json_string_value(json_object_get(o, "notes"));
    struct cudnn_pool p = {.c = c};
    int64_t bytes = -1, n;

    if (!text || !notes)
        return "something is missing";
    plan->desc = plan_from_text(&p, text);
    if (plan->desc)
        p.n--;
    cudnn_pool_release(&p);
    if (!plan->desc)
        return "cuDNN does not take it";
    (void)c->BackendGetAttribute(plan->desc, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &n, &bytes);
    if (bytes < 0) {
        (void)c->BackendDestroyDescriptor(plan->desc);
        plan->desc = NULL;
        return "cuDNN does not say its workspace";
    }
    plan->workspace = (size_t)bytes;
    plan->engine = (int)json_integer_value(json_object_get(o, "engine"));
    plan->microseconds = (float)json_number_value(json_object_get(o, "microseconds"));
    (void)snprintf(plan->notes, sizeof(plan->notes), "%s", notes);
    plan->from_cache = true;
    return NULL;
}

bool cudnn_cache_load(struct cudnn *c, struct cudnn_plan *plan)
{
    char *path = plan_file_path(c->dev->options.cache, "cudnn", plan->key);
    const char *why;
    json_t *o = plan_file_load(path, plan->key, &why);

    if (o)
        why = restore(c, o, plan);
    if (why)
        log_info("ignoring %s: %s; making the plan again", path, why);
    json_decref(o);
    free(path);
    return plan->desc != NULL;
}

void cudnn_cache_store(struct cudnn *c, const struct cudnn_plan *plan)
{
    char *path = plan_file_path(c->dev->options.cache, "cudnn", plan->key), *text;

    if (!path)
        return;
    text = cudnn_get_text(c, plan->desc, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    if (text)
        plan_file_store(c->dev->options.cache, path, plan->key,
                        json_pack("{s:i, s:I, s:s, s:f, s:s}", "engine", plan->engine,
                                  "workspace", (json_int_t)plan->workspace, "notes",
                                  plan->notes, "microseconds", (double)plan->microseconds,
                                  "plan", text));
    free(text);
    free(path);
}

void cudnn_cache_drop(struct cudnn *c, const struct cudnn_plan *plan)
{
    char *path = plan_file_path(c->dev->options.cache, "cudnn", plan->key);

    if (path)
        (void)unlink(path);
    free(path);
}
