#include "train/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/half.h"
#include "train/average_parts.h"
#include "train/kept_meta.h"

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

static enum safetensors_dtype written_dtype(const struct average_item *item)
{
    return item->copied ? item->in[0]->dtype : SAFETENSORS_F32;
}

/* Returns the chosen file with the largest counter; of other integers, any. */
static int copied_from(const struct average_item *item)
{
    const struct average *a = item->a;
    int base = a->chosen[0];

    for (int k = 1; item->count && k < a->nchosen; k++)
        if (item->count[a->chosen[k]] > item->count[base])
            base = a->chosen[k];
    return base;
}

static const void *read_file(const struct average_item *item, int file)
{
    const struct average *a = item->a;
    struct strbuf why = STRBUF_INIT;

    if (weights_file_read(&a->file[file], item->in[file], a->raw, &why))
        die("%s", why.buf);
    return a->raw;
}

static const void *mean_of(const struct average_item *item, const char *name)
{
    const struct average *a = item->a;
    const struct safetensors_tensor *t = item->in[0];
    int64_t len = (int64_t)(t->size / safetensors_dtype_size(t->dtype));

    memset(a->sum, 0, (size_t)len * sizeof(*a->sum));
    for (int k = 0; k < a->nchosen; k++) {
        const char *data = read_file(item, a->chosen[k]);

        for (int64_t i = 0; i < len; i++)
            a->sum[i] += element(data, i, item->in[a->chosen[k]]->dtype);
    }
    for (int64_t i = 0; i < len; i++) {
        a->mean[i] = (float)(a->sum[i] / a->nchosen);
        if (!isfinite(a->mean[i]))
            die("the mean of the tensor '%s' is not finite: a checkpoint has diverged",
                name);
    }
    return a->mean;
}

/* Source for safetensors_writer: returns the tensor that item `arg` describes. */
static const void *tensor_data(const struct safetensors_tensor *out, void *arg)
{
    const struct average_item *item = arg;

    return item->replaced ? item->replaced
           : item->copied ? read_file(item, copied_from(item))
                          : mean_of(item, out->name);
}

/* Returns the name of an item in the result. */
static const char *item_name(const struct average_item *item)
{
    const char *name = item->in[0]->name;
    size_t n = strlen(AVERAGE_EMA);

    return item->a->ema && !strncmp(name, AVERAGE_EMA, n) ? name + n : name;
}

static struct average_item *find_item(const struct average *a, const char *name)
{
    for (int i = 0; i < a->nitem; i++)
        if (!strcmp(item_name(&a->item[i]), name))
            return &a->item[i];
    return NULL;
}

const void *average_tensor(struct average *a, const char *name,
                           struct safetensors_tensor *shape)
{
    struct average_item *item = find_item(a, name);

    if (!item)
        return NULL;
    *shape = *item->in[0];
    shape->dtype = written_dtype(item);
    return tensor_data(shape, item);
}

bool average_replace(struct average *a, const char *name, const void *data,
                     enum safetensors_dtype dtype)
{
    struct average_item *item = find_item(a, name);
    size_t n;

    if (!item || written_dtype(item) != dtype)
        return false;
    n = item->in[0]->size / safetensors_dtype_size(item->in[0]->dtype);
    free(item->replaced);
    item->replaced = xmemdup(data, n * safetensors_dtype_size(dtype));
    return true;
}

/* Copies the metadata of the first file. The configuration is "config" in a checkpoint
 * and "trainc_config" in exported weights. */
static void add_meta(const struct average *a, struct safetensors_writer *w)
{
    const struct weights_file *first = &a->file[0];
    const char *config =
        weights_file_meta(first, first->by_trainc ? "config" : "trainc_config");
    struct strbuf names = STRBUF_INIT;

    if (config)
        safetensors_writer_meta(w, "trainc_config", config);
    safetensors_writer_meta(w, "format", "pt");
    kept_meta_copy(w, first);
    for (int i = 0; i < a->nchosen; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "",
                    path_basename(a->file[a->chosen[i]].path));
    safetensors_writer_meta(w, "averaged", names.buf);
    strbuf_release(&names);
}

void average_choose(struct average *a, const int *file, int n)
{
    memcpy(a->chosen, file, (size_t)n * sizeof(*file));
    a->nchosen = n;
}

int average_chosen(const struct average *a, int k)
{
    return k < a->nchosen ? a->chosen[k] : -1;
}

int average_files(const struct average *a)
{
    return a->n;
}

const char *average_path(const struct average *a, int file)
{
    return a->file[file].path;
}

const char *average_meta(const struct average *a, const char *key)
{
    return weights_file_meta(&a->file[0], key);
}

bool average_has_ema(const struct average *a)
{
    return a->ema;
}

int average_tensors(const struct average *a)
{
    return a->nitem;
}

int average_write(struct average *a, const char *out, struct strbuf *why)
{
    struct safetensors_writer w = {0};
    int rc;

    for (int i = 0; i < a->nitem; i++) {
        struct average_item *item = &a->item[i];

        safetensors_writer_add_source(&w, item_name(item), written_dtype(item),
                                      item->in[0]->ndim, item->in[0]->dims, tensor_data,
                                      item);
    }
    add_meta(a, &w);
    rc = safetensors_writer_commit(&w, out, why);
    safetensors_writer_release(&w);
    return rc;
}
