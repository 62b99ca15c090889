#include "train/average.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/half.h"
#include "io/json.h"
#include "io/weights_file.h"
#include "ops/qlayer.h"

static const char ema[] = "ema.", moments[] = "optimizer.";

struct average {
    struct weights_file *file;
    int n;
    bool ema;
    struct average_item {
        const struct average *a;
        const struct safetensors_tensor **in; /* its tensor in each file */
        int only; /* index of the file whose tensor is copied; -1: writes the mean */
    } * item;
    int nitem;
    char *raw;   /* as many bytes as the largest tensor */
    double *sum; /* as many elements as the largest tensor, as is `mean` */
    float *mean;
};

static bool starts(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

static bool is_float(const struct safetensors_tensor *t)
{
    return t->dtype == SAFETENSORS_F64 || t->dtype == SAFETENSORS_F32 ||
           t->dtype == SAFETENSORS_F16 || t->dtype == SAFETENSORS_BF16;
}

static bool is_counter(const struct safetensors_tensor *t)
{
    static const char end[] = "num_batches_tracked";
    size_t len = strlen(t->name), n = sizeof(end) - 1;

    return t->dtype == SAFETENSORS_I64 && t->size == sizeof(int64_t) && len >= n &&
           !strcmp(t->name + len - n, end);
}

/* True for a weight, false for the EMA and the optimizer state of a checkpoint. */
static bool is_weight(const struct weights_file *f, const struct safetensors_tensor *t)
{
    return !f->by_trainc || (!starts(t->name, ema) && !starts(t->name, moments));
}

static bool has_ema(const struct weights_file *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->by_trainc && starts(f->tensor[i].name, ema))
            return true;
    return false;
}

static void add_dims(struct strbuf *s, const struct safetensors_tensor *t)
{
    strbuf_addstr(s, "[");
    for (int i = 0; i < t->ndim; i++)
        strbuf_addf(s, "%s%" PRId64, i ? ", " : "", t->dims[i]);
    strbuf_addstr(s, "]");
}

/* ---- checks ---- */

static int open_files(struct average *a, const char *const *path, bool raw,
                      struct strbuf *why)
{
    a->file = xcalloc((size_t)a->n, sizeof(*a->file));
    for (int i = 0; i < a->n; i++) {
        struct weights_file *f = &a->file[i];

        if (weights_file_open(f, path[i], !raw, why) || weights_file_verify(f, why))
            return -1;
        if (f->torch) {
            strbuf_addf(why,
                        "'%s' is a PyTorch file: convert it first (trainc export "
                        "--weights FILE --out FILE.safetensors)",
                        path[i]);
            return -1;
        }
        if (!raw && has_ema(f) != has_ema(a->file)) {
            const char *with = has_ema(f) ? path[i] : path[0];
            const char *without = has_ema(f) ? path[0] : path[i];

            strbuf_addf(why,
                        "'%s' has EMA weights and '%s' has none: --raw averages the "
                        "weights themselves",
                        with, without);
            return -1;
        }
    }
    a->ema = !raw && has_ema(a->file);
    return 0;
}

/* Compares tensor `t` of the first file with `u` of file `f`, NULL if `f` lacks it. */
static int check_pair(const struct weights_file *first, const struct weights_file *f,
                      const struct safetensors_tensor *t,
                      const struct safetensors_tensor *u, struct strbuf *why)
{
    bool same = u && t->ndim == u->ndim;

    if (!u) {
        strbuf_addf(why, "'%s' lacks the tensor '%s' of '%s': another architecture",
                    f->path, t->name, first->path);
        return -1;
    }
    for (int d = 0; same && d < t->ndim; d++)
        same = t->dims[d] == u->dims[d];
    if (!same) {
        strbuf_addf(why, "'%s': the tensor '%s' has the shape ", f->path, t->name);
        add_dims(why, u);
        strbuf_addstr(why, ", and ");
        add_dims(why, t);
        strbuf_addf(why, " in '%s': another architecture or number of classes",
                    first->path);
        return -1;
    }
    if (is_float(t) != is_float(u) || (!is_float(t) && t->dtype != u->dtype)) {
        strbuf_addf(why, "'%s': the tensor '%s' has the dtype %s, and %s in '%s'",
                    f->path, t->name, safetensors_dtype_name(u->dtype),
                    safetensors_dtype_name(t->dtype), first->path);
        return -1;
    }
    return 0;
}

static void *read_bytes(const struct weights_file *f, const struct safetensors_tensor *t,
                        struct strbuf *why)
{
    void *data = xmalloc(t->size + 1);

    if (!weights_file_read(f, t, data, why))
        return data;
    free(data);
    return NULL;
}

/* Chooses the file from which an integer tensor is copied; requires equal sizes. */
static int check_integers(const struct average *a, struct average_item *item,
                          struct strbuf *why)
{
    const struct safetensors_tensor *t = item->in[0];
    bool counts = is_counter(t);
    char *first = read_bytes(&a->file[0], t, why);
    int rc = first ? 0 : -1;

    item->only = 0;
    for (int i = 1; !rc && i < a->n; i++) {
        char *data = read_bytes(&a->file[i], item->in[i], why);
        int64_t largest, count;

        if (!data) {
            rc = -1;
        } else if (counts) {
            memcpy(&largest, first, sizeof(largest));
            memcpy(&count, data, sizeof(count));
            if (count > largest) {
                memcpy(first, data, sizeof(count));
                item->only = i;
            }
        } else if (memcmp(first, data, t->size) != 0) {
            strbuf_addf(why,
                        "'%s': the tensor '%s' (%s) differs from that of '%s', and "
                        "integers have no mean",
                        a->file[i].path, t->name, safetensors_dtype_name(t->dtype),
                        a->file[0].path);
            rc = -1;
        }
        free(data);
    }
    free(first);
    return rc;
}

static int check_tensor(struct average *a, const struct safetensors_tensor *t,
                        struct strbuf *why)
{
    struct average_item *item = &a->item[a->nitem];
    char *name = xasprintf("%s%s", a->ema ? ema : "", t->name);
    bool averaged = a->ema && weights_file_find(&a->file[0], name);
    int rc = 0;

    item->a = a;
    item->only = -1;
    item->in = xcalloc((size_t)a->n, sizeof(const struct safetensors_tensor *));
    a->nitem++;
    for (int i = 0; i < a->n && !rc; i++) {
        item->in[i] = weights_file_find(&a->file[i], averaged ? name : t->name);
        rc = check_pair(&a->file[0], &a->file[i], t, item->in[i], why);
    }
    free(name);
    if (!rc && !is_float(t))
        rc = check_integers(a, item, why);
    return rc;
}

/* Rejects 8-bit weights, because their scales differ from file to file. */
static int check_bits(const struct weights_file *f, struct strbuf *why)
{
    for (size_t i = 0; i < f->n; i++) {
        if (!strstr(f->tensor[i].name, "." QLAYER_WEIGHT_NAME))
            continue;
        strbuf_addf(
            why,
            "'%s' is in 8 bits (tensor '%s'): average checkpoints in floats, then "
            "quantize the mean",
            f->path, f->tensor[i].name);
        return -1;
    }
    return 0;
}

/* Rejects a file with a weight that the first file lacks. */
static int check_extra(const struct average *a, const struct weights_file *f,
                       struct strbuf *why)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct safetensors_tensor *t = &f->tensor[i];

        if (!is_weight(f, t) || weights_file_find(&a->file[0], t->name))
            continue;
        strbuf_addf(why, "'%s' has a tensor '%s', which '%s' lacks: another architecture",
                    f->path, t->name, a->file[0].path);
        return -1;
    }
    return 0;
}

static int check_tensors(struct average *a, struct strbuf *why)
{
    const struct weights_file *first = &a->file[0];

    a->item = xcalloc(first->n + 1, sizeof(*a->item));
    if (check_bits(first, why))
        return -1;
    for (size_t i = 0; i < first->n; i++)
        if (is_weight(first, &first->tensor[i]) &&
            check_tensor(a, &first->tensor[i], why))
            return -1;
    for (int i = 1; i < a->n; i++)
        if (check_extra(a, &a->file[i], why))
            return -1;
    return 0;
}

static json_t *classes_of(const struct weights_file *f)
{
    const char *text = weights_file_meta(f, "classes");

    return text ? json_loads(text, 0, NULL) : NULL;
}

/* Requires equal class names; files without class names pass. */
static int check_classes(const struct average *a, struct strbuf *why)
{
    json_t *want = classes_of(&a->file[0]);
    int rc = 0;

    for (int i = 1; want && !rc && i < a->n; i++) {
        json_t *have = classes_of(&a->file[i]);
        size_t n = json_array_size(want), m = json_array_size(have);

        for (size_t c = 0; have && !rc && c < (n > m ? n : m); c++) {
            const char *x = json_string_value(json_array_get(want, c));
            const char *y = json_string_value(json_array_get(have, c));

            if (x && y && !strcmp(x, y))
                continue;
            strbuf_addf(why, "'%s': class %zu is '%s', and '%s' in '%s'", a->file[i].path,
                        c, y ? y : "(none)", x ? x : "(none)", a->file[0].path);
            rc = -1;
        }
        json_decref(have);
    }
    json_decref(want);
    return rc;
}

/* ---- the mean ---- */

static double element(const char *data, int64_t i, enum safetensors_dtype dtype)
{
    uint16_t h;
    double d;
    float f;

    switch (dtype) {
    case SAFETENSORS_F64:
        memcpy(&d, data + i * 8, 8);
        return d;
    case SAFETENSORS_F16:
    case SAFETENSORS_BF16:
        memcpy(&h, data + i * 2, 2);
        return (double)(dtype == SAFETENSORS_F16 ? fp16_to_float(h) : bf16_to_float(h));
    default:
        memcpy(&f, data + i * 4, 4);
        return (double)f;
    }
}

/* Source for safetensors_writer: returns the tensor that item `arg` describes. */
static const void *tensor_data(const struct safetensors_tensor *out, void *arg)
{
    const struct average_item *item = arg;
    const struct average *a = item->a;
    int64_t len = (int64_t)(out->size / safetensors_dtype_size(out->dtype));
    struct strbuf why = STRBUF_INIT;

    if (item->only < 0)
        memset(a->sum, 0, (size_t)len * sizeof(*a->sum));
    for (int k = 0; k < a->n; k++) {
        const struct safetensors_tensor *t = item->in[k];

        if (item->only >= 0 && item->only != k)
            continue;
        if (weights_file_read(&a->file[k], t, a->raw, &why))
            die("%s", why.buf);
        for (int64_t i = 0; item->only < 0 && i < len; i++)
            a->sum[i] += element(a->raw, i, t->dtype);
    }
    if (item->only >= 0)
        return a->raw;
    for (int64_t i = 0; i < len; i++) {
        a->mean[i] = (float)(a->sum[i] / a->n);
        if (!isfinite(a->mean[i]))
            die("the mean of the tensor '%s' is not finite: a checkpoint has diverged",
                out->name);
    }
    return a->mean;
}

static void add_tensors(struct average *a, struct safetensors_writer *w)
{
    uint64_t bytes = 1, len = 1;
    const struct weights_file *first = &a->file[0];
    int items = 0;

    for (size_t i = 0; i < first->n; i++) {
        const struct safetensors_tensor *t = &first->tensor[i];
        const struct average_item *item = &a->item[items];
        uint64_t n = t->size / safetensors_dtype_size(t->dtype);

        if (!is_weight(first, t))
            continue;
        items++;
        len = n > len ? n : len;
        for (int k = 0; k < a->n; k++)
            bytes = item->in[k]->size > bytes ? item->in[k]->size : bytes;
        safetensors_writer_add_source(w, t->name,
                                      item->only < 0 ? SAFETENSORS_F32 : t->dtype,
                                      t->ndim, t->dims, tensor_data, &a->item[items - 1]);
    }
    a->raw = xmalloc(bytes);
    a->sum = xmalloc(len * sizeof(*a->sum));
    a->mean = xmalloc(len * sizeof(*a->mean));
}

/* Copies the metadata of the first file. The configuration is "config" in a checkpoint
 * and "trainc_config" in exported weights. */
static void add_meta(const struct average *a, struct safetensors_writer *w)
{
    static const char *const kept[] = {"classes", "class_weights"};
    const struct weights_file *first = &a->file[0];
    const char *config =
        weights_file_meta(first, first->by_trainc ? "config" : "trainc_config");
    struct strbuf names = STRBUF_INIT;

    if (config)
        safetensors_writer_meta(w, "trainc_config", config);
    safetensors_writer_meta(w, "format", "pt");
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (weights_file_meta(first, kept[i]))
            safetensors_writer_meta(w, kept[i], weights_file_meta(first, kept[i]));
    for (int i = 0; i < a->n; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", path_basename(a->file[i].path));
    safetensors_writer_meta(w, "averaged", names.buf);
    strbuf_release(&names);
}

static void average_release(struct average *a)
{
    for (int i = 0; i < a->n; i++)
        weights_file_close(&a->file[i]);
    for (int i = 0; i < a->nitem; i++)
        free(a->item[i].in);
    free(a->file);
    free(a->item);
    free(a->raw);
    free(a->sum);
    free(a->mean);
}

int average_write(const char *const *path, int n, const struct average_options *o,
                  const char *out, struct average_result *result, struct strbuf *why)
{
    struct average a = {.n = n};
    struct safetensors_writer w = {0};
    int rc = -1;

    if (!open_files(&a, path, o->raw, why) && !check_tensors(&a, why) &&
        !check_classes(&a, why)) {
        add_tensors(&a, &w);
        add_meta(&a, &w);
        rc = safetensors_writer_commit(&w, out, why);
        *result = (struct average_result){.tensors = w.n, .ema = a.ema};
        safetensors_writer_release(&w);
    }
    average_release(&a);
    return rc;
}
