#include "io/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/checked.h"
#include "base/error.h"
#include "io/json.h"
#include "io/safetensors_sum.h"

void safetensors_writer_meta(struct safetensors_writer *w, const char *key,
                             const char *value)
{
    if (strmap_has(&w->meta, key) || !strcmp(key, SAFETENSORS_SUM_KEY))
        BUG("metadata '%s' given twice", key);
    strmap_put(&w->meta, key, xstrdup(value));
}

/* Adds an item without data. */
static struct safetensors_writer_item *add(struct safetensors_writer *w, const char *name,
                                           enum safetensors_dtype dtype, int ndim,
                                           const int64_t *dims)
{
    struct safetensors_tensor t = {.dtype = dtype, .ndim = ndim};

    if (strmap_has(&w->names, name) || !strcmp(name, "__metadata__"))
        BUG("tensor '%s' given twice", name);
    if (ndim < 0 || ndim > SAFETENSORS_MAX_DIMS)
        BUG("tensor '%s' has %d dimensions", name, ndim);
    strmap_put(&w->names, name, NULL);
    if (!checked_array(dims, ndim, safetensors_dtype_size(dtype), &t.size))
        BUG("tensor '%s': bad shape", name);
    for (int i = 0; i < ndim; i++)
        t.dims[i] = dims[i];
    t.name = xstrdup(name);
    t.offset = w->data_size;
    w->data_size += t.size;
    GROW(w->item, w->n, w->cap);
    w->item[w->n] = (struct safetensors_writer_item){.tensor = t};
    return &w->item[w->n++];
}

void safetensors_writer_add(struct safetensors_writer *w, const char *name,
                            enum safetensors_dtype dtype, int ndim, const int64_t *dims,
                            const void *data)
{
    add(w, name, dtype, ndim, dims)->data = data;
}

void safetensors_writer_add_source(struct safetensors_writer *w, const char *name,
                                   enum safetensors_dtype dtype, int ndim,
                                   const int64_t *dims, safetensors_source *source,
                                   void *arg)
{
    struct safetensors_writer_item *item = add(w, name, dtype, ndim, dims);

    item->source = source;
    item->arg = arg;
}

static void put_tensor(struct json_writer *json, const struct safetensors_tensor *t)
{
    json_begin_object(json, t->name);
    json_put_string(json, "dtype", safetensors_dtype_name(t->dtype));
    json_begin_array(json, "shape");
    for (int i = 0; i < t->ndim; i++)
        json_put_int(json, NULL, t->dims[i]);
    json_end(json);
    json_begin_array(json, "data_offsets");
    json_put_int(json, NULL, (int64_t)t->offset);
    json_put_int(json, NULL, (int64_t)(t->offset + t->size));
    json_end(json);
    json_end(json);
}

/* Builds the header with a checksum of zeros, padded so that the data begin at a multiple
 * of 64 bytes. */
static void put_header(const struct safetensors_writer *w, struct strbuf *header)
{
    struct json_writer json = json_writer(header);

    json_begin_object(&json, NULL);
    json_begin_object(&json, "__metadata__");
    json_put_string(&json, SAFETENSORS_SUM_KEY, "0000000000000000");
    for (size_t i = 0; i < w->meta.n; i++)
        json_put_string(&json, w->meta.entry[i].key, w->meta.entry[i].value);
    json_end(&json);
    for (size_t i = 0; i < w->n; i++)
        put_tensor(&json, &w->item[i].tensor);
    json_end(&json);
    while ((8 + header->len) % 64)
        strbuf_addch(header, ' ');
}

int safetensors_writer_commit(const struct safetensors_writer *w, const char *path,
                              struct strbuf *why)
{
    char digits[SAFETENSORS_SUM_DIGITS + 1];
    struct strbuf header = STRBUF_INIT;
    struct safetensors_sum *sum;
    struct atomic_file f;
    uint64_t len;

    put_header(w, &header);
    len = header.len;
    if (len > SAFETENSORS_HEADER_MAX) {
        strbuf_addf(why, "cannot write '%s': its header would have %" PRIu64 " bytes",
                    path, len);
        strbuf_release(&header);
        return -1;
    }
    sum = safetensors_sum_new(header.buf, header.len);
    atomic_open(&f, path);
    atomic_write(&f, &len, sizeof(len));
    atomic_write(&f, header.buf, header.len);
    for (size_t i = 0; i < w->n && !f.err; i++) {
        const struct safetensors_writer_item *item = &w->item[i];
        const void *data =
            item->source ? item->source(&item->tensor, item->arg) : item->data;

        safetensors_sum_add(sum, data, item->tensor.size);
        atomic_write(&f, data, item->tensor.size);
    }
    safetensors_sum_free(sum, digits);
    atomic_pwrite(&f, digits, SAFETENSORS_SUM_DIGITS,
                  8 + (size_t)(safetensors_sum_find(header.buf) - header.buf));
    strbuf_release(&header);
    return atomic_commit(&f, why);
}

void safetensors_writer_release(struct safetensors_writer *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->item[i].tensor.name);
    for (size_t i = 0; i < w->meta.n; i++)
        free(w->meta.entry[i].value);
    free(w->item);
    strmap_release(&w->meta);
    strmap_release(&w->names);
    *w = (struct safetensors_writer){0};
}
