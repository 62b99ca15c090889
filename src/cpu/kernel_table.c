#include "cpu/kernel_table.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/plan_file.h"
#include "base/strbuf.h"
#include "base/version.h"
#include "graph/graph.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/linear.h"

struct kernel_table {
    char *folder, *key, *path;
    json_t *choices;   /* an object: key of a node -> name */
    const char *force; /* kernel_table_force() */
};

const char *const kernel_table_names[] = {
    "amx",      "depthwise",          "direct", "gemm", "narrow",
    "winograd", KERNEL_TABLE_LIBRARY, NULL,
};

/* Appends the processor's name and model numbers as Linux reports them, if it does: under
 * virtual machines, different models have the same name. */
static void add_processor(struct strbuf *s)
{
    static const char *const fields[] = {
        "model name\t: ", "cpu family\t: ", "model\t\t: "};
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];

    while (f && fgets(line, sizeof(line), f) && *line != '\n') /* the first processor */
        for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
            if (!strncmp(line, fields[i], strlen(fields[i]))) {
                line[strcspn(line, "\n")] = 0;
                strbuf_addf(s, "%s, ", line + strlen(fields[i]));
            }
    if (f)
        (void)fclose(f);
}

static bool is_name(const char *text)
{
    for (int i = 0; text && kernel_table_names[i]; i++)
        if (!strcmp(text, kernel_table_names[i]))
            return true;
    return false;
}

/* Takes the choices of a file or a checkpoint; returns why it is invalid, or NULL. */
static const char *take_choices(struct kernel_table *t, json_t *o)
{
    json_t *choices = json_object_get(o, "choices");

    if (!json_is_object(choices))
        return "it has no choices";
    for (void *i = json_object_iter(choices); i; i = json_object_iter_next(choices, i))
        if (!is_name(json_string_value(json_object_iter_value(i))))
            return "it names an unknown kernel";
    json_decref(t->choices);
    t->choices = json_incref(choices);
    return NULL;
}

static void read_file(struct kernel_table *t)
{
    const char *why;
    json_t *o = plan_file_load(t->path, t->key, &why);

    if (o)
        why = take_choices(t, o);
    if (why)
        log_info("ignoring %s: %s; kernels are chosen by rule", t->path, why);
    json_decref(o);
}

/* `text` is "" if the run that wrote the checkpoint chose its kernels by rule. */
static void read_checkpoint(struct kernel_table *t, const char *text)
{
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *key = json_string_value(json_object_get(o, "key")), *why = NULL;

    if (*text)
        why = !key                  ? "they are damaged"
              : strcmp(key, t->key) ? "they were measured on another processor, or with "
                                      "other threads or versions"
                                    : take_choices(t, o);
    if (why)
        log_warning("ignoring the checkpoint's choices of kernels: %s; results differ in "
                    "rounding",
                    why);
    json_decref(o);
}

struct kernel_table *kernel_table_open(const char *device, const struct device_options *o)
{
    struct kernel_table *t = xcalloc(1, sizeof(*t));
    struct strbuf key = STRBUF_INIT;

    add_processor(&key);
    strbuf_addf(&key, "%s, trainc %s", device, TRAINC_VERSION);
    t->key = strbuf_detach(&key);
    t->folder = xstrdup(o && o->cache ? o->cache : "");
    t->path = plan_file_path(t->folder, "cpu", t->key);
    t->choices = json_object();
    if (!o || o->deterministic)
        return t;
    if (o->kernels)
        read_checkpoint(t, o->kernels);
    else
        read_file(t);
    return t;
}

void kernel_table_close(struct kernel_table *t)
{
    if (!t)
        return;
    json_decref(t->choices);
    free(t->folder);
    free(t->key);
    free(t->path);
    free(t);
}

int kernel_table_size(const struct kernel_table *t)
{
    return (int)json_object_size(t->choices);
}

static void add_dims(struct strbuf *s, const struct tensor *t)
{
    for (int i = 0; i < t->ndim; i++)
        strbuf_addf(s, "%s%" PRId64, i ? "x" : " ", t->dim[i]);
}

/* Appends ", NAME 2x3", or nothing if both numbers equal `usual`. */
static void add_pair(struct strbuf *s, const char *name, int h, int w, int usual)
{
    if (h != usual || w != usual)
        strbuf_addf(s, ", %s%dx%d", name, h, w);
}

/* Gets x and y of the forward op; returns false for any other node. */
static bool find_operands(const struct node *n, const struct tensor **x,
                          const struct tensor **y)
{
    if (n->op == &op_conv2d || n->op == &op_linear) {
        *x = n->in[CONV2D_X];
        *y = n->out[0];
    } else if (n->op == &op_conv2d_data_grad || n->op == &op_linear_data_grad) {
        *x = n->out[0];
        *y = n->in[CONV2D_DATA_GRAD_DY];
    } else if (n->op == &op_conv2d_weight_grad || n->op == &op_linear_weight_grad) {
        *x = n->in[CONV2D_WEIGHT_GRAD_X];
        *y = n->in[CONV2D_WEIGHT_GRAD_DY];
    } else {
        return false;
    }
    return true;
}

char *kernel_table_key(const struct node *n)
{
    struct strbuf s = STRBUF_INIT;
    const struct tensor *x, *y;
    const struct conv2d_attrs *a = n->attrs;

    if (!find_operands(n, &x, &y))
        return NULL;
    strbuf_addf(&s, "%s %s", n->op->name, dtype_name(x->dtype));
    if (!strncmp(n->op->name, "linear", 6)) {
        strbuf_addf(&s, " %" PRId64 "x%" PRId64 " to %" PRId64,
                    tensor_len(x) / tensor_channels(x), tensor_channels(x),
                    tensor_channels(y));
        return strbuf_detach(&s);
    }
    add_dims(&s, x);
    strbuf_addstr(&s, " to");
    add_dims(&s, y);
    add_pair(&s, "", a->kernel_h, a->kernel_w, 0);
    add_pair(&s, "stride ", a->stride_h, a->stride_w, 1);
    add_pair(&s, "padding ", a->pad_h, a->pad_w, 0);
    add_pair(&s, "padding at the end ", a->extra_h, a->extra_w, 0);
    add_pair(&s, "dilation ", a->dilation_h, a->dilation_w, 1);
    if (a->groups > 1)
        strbuf_addf(&s, ", %d groups", a->groups);
    return strbuf_detach(&s);
}

const char *kernel_table_choice(const struct kernel_table *t, const struct node *n)
{
    const char *name;
    char *key;

    if (t->force)
        return *t->force ? t->force : NULL;
    if (!kernel_table_size(t))
        return NULL;
    key = kernel_table_key(n);
    name = key ? json_string_value(json_object_get(t->choices, key)) : NULL;
    free(key);
    return name;
}

/* {"key": ..., "choices": {...}} */
static json_t *as_json(const struct kernel_table *t)
{
    return json_pack("{s:s, s:O}", "key", t->key, "choices", t->choices);
}

char *kernel_table_text(const struct kernel_table *t)
{
    json_t *o = as_json(t);
    char *text =
        kernel_table_size(t) ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    json_decref(o);
    return text;
}

void kernel_table_force(struct kernel_table *t, const char *name)
{
    t->force = name;
}

void kernel_table_set(struct kernel_table *t, const char *key, const char *name)
{
    if (name)
        (void)json_object_set_new(t->choices, key, json_string(name));
    else
        (void)json_object_del(t->choices, key);
}

const char *kernel_table_store(const struct kernel_table *t)
{
    plan_file_store(t->folder, t->path, t->key, as_json(t));
    return t->path;
}
