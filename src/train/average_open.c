/* Opens checkpoints to be averaged, and checks that they fit together. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/json.h"
#include "ops/qlayer.h"
#include "train/average_parts.h"

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
    return !f->by_trainc ||
           (!starts(t->name, AVERAGE_EMA) && !starts(t->name, "optimizer."));
}

static bool has_ema(const struct weights_file *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->by_trainc && starts(f->tensor[i].name, AVERAGE_EMA))
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
            const char *ema_path = has_ema(f) ? path[i] : path[0];
            const char *raw_path = has_ema(f) ? path[0] : path[i];

            strbuf_addf(why,
                        "'%s' has EMA weights and '%s' has none: --raw averages the "
                        "weights themselves",
                        ema_path, raw_path);
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

/* Reads a counter of each file; requires that other integers are equal. */
static int check_integers(const struct average *a, struct average_item *item,
                          struct strbuf *why)
{
    const struct safetensors_tensor *t = item->in[0];
    char *first = read_bytes(&a->file[0], t, why);
    int rc = first ? 0 : -1;

    item->copied = true;
    if (is_counter(t))
        item->count = xcalloc((size_t)a->n, sizeof(*item->count));
    for (int i = 0; !rc && i < a->n; i++) {
        char *data = read_bytes(&a->file[i], item->in[i], why);

        if (!data) {
            rc = -1;
        } else if (item->count) {
            memcpy(&item->count[i], data, sizeof(*item->count));
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
    char *name = xasprintf("%s%s", a->ema ? AVERAGE_EMA : "", t->name);
    bool averaged = a->ema && weights_file_find(&a->file[0], name);
    int rc = 0;

    item->a = a;
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

/* Allocates room for the largest tensor. */
static void make_room(struct average *a)
{
    uint64_t bytes = 1, len = 1;

    for (int i = 0; i < a->nitem; i++)
        for (int k = 0; k < a->n; k++) {
            const struct safetensors_tensor *t = a->item[i].in[k];
            uint64_t n = t->size / safetensors_dtype_size(t->dtype);

            len = n > len ? n : len;
            bytes = t->size > bytes ? t->size : bytes;
        }
    a->raw = xmalloc(bytes);
    a->sum = xmalloc(len * sizeof(*a->sum));
    a->mean = xmalloc(len * sizeof(*a->mean));
}

void average_close(struct average *a)
{
    for (int i = 0; i < a->n; i++)
        weights_file_close(&a->file[i]);
    for (int i = 0; i < a->nitem; i++) {
        free(a->item[i].in);
        free(a->item[i].count);
        free(a->item[i].replaced);
    }
    free(a->file);
    free(a->chosen);
    free(a->item);
    free(a->raw);
    free(a->sum);
    free(a->mean);
    free(a);
}

struct average *average_open(const char *const *path, int n, bool raw, struct strbuf *why)
{
    struct average *a = xcalloc(1, sizeof(*a));

    *a = (struct average){.n = n};
    a->chosen = xcalloc((size_t)n, sizeof(*a->chosen));
    for (; a->nchosen < n; a->nchosen++)
        a->chosen[a->nchosen] = a->nchosen;
    if (open_files(a, path, raw, why) || check_tensors(a, why) || check_classes(a, why)) {
        average_close(a);
        return NULL;
    }
    make_room(a);
    return a;
}
