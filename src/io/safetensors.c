#include "io/safetensors.h"
#include "io/file_kind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "io/json.h"
#include "io/safetensors_sum.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

enum { CHUNK = 1 << 20 };

static const struct {
    const char *name;
    size_t size;
} dtype_table[SAFETENSORS_DTYPES] = {
    [SAFETENSORS_BOOL] = {"BOOL", 1},       [SAFETENSORS_U8] = {"U8", 1},
    [SAFETENSORS_I8] = {"I8", 1},           [SAFETENSORS_F8_E5M2] = {"F8_E5M2", 1},
    [SAFETENSORS_F8_E4M3] = {"F8_E4M3", 1}, [SAFETENSORS_U16] = {"U16", 2},
    [SAFETENSORS_I16] = {"I16", 2},         [SAFETENSORS_F16] = {"F16", 2},
    [SAFETENSORS_BF16] = {"BF16", 2},       [SAFETENSORS_U32] = {"U32", 4},
    [SAFETENSORS_I32] = {"I32", 4},         [SAFETENSORS_F32] = {"F32", 4},
    [SAFETENSORS_U64] = {"U64", 8},         [SAFETENSORS_I64] = {"I64", 8},
    [SAFETENSORS_F64] = {"F64", 8},         [SAFETENSORS_C64] = {"C64", 8},
};

const char *safetensors_dtype_name(enum safetensors_dtype dtype)
{
    return dtype_table[dtype].name;
}

size_t safetensors_dtype_size(enum safetensors_dtype dtype)
{
    return dtype_table[dtype].size;
}

/* Returns what is wrong with `len` (the length of the header) or with the header's first
 * byte, or NULL. */
static const char *wrong_start(const struct safetensors *s, uint64_t len)
{
    char first;
    struct strbuf unread = STRBUF_INIT;
    const char *wrong = NULL;

    if (len > SAFETENSORS_HEADER_MAX)
        wrong = "neither safetensors nor of torch.save: its header would have more than "
                "100000000 bytes";
    else if (s->in.size < 8 || len > s->in.size - 8)
        wrong = "cut off, or not a safetensors file: its header would be longer than the "
                "file";
    else if (!len || input_read(&s->in, &first, 1, 8, &unread) || first != '{')
        wrong = "not a safetensors file: its header does not begin with '{'";
    strbuf_release(&unread);
    return wrong;
}

/* Refuses the file. The reason is its kind if known, otherwise `wrong`. */
static int refuse_start(const struct safetensors *s, const char *wrong,
                        struct strbuf *why)
{
    struct strbuf what = STRBUF_INIT;
    int rc;

    if (file_kind(&s->in, &what))
        rc = input_refuse(&s->in, why, "no weights: %s", what.buf);
    else
        rc = input_refuse(&s->in, why, "%s", wrong);
    strbuf_release(&what);
    return rc;
}

/* Reads the header's text to s->header and sets the sizes of header and data. */
static int read_header(struct safetensors *s, const char *path, struct strbuf *why)
{
    uint64_t len = 0;
    const char *wrong;

    if (input_open(&s->in, path, why) ||
        (s->in.size >= 8 && input_read(&s->in, &len, 8, 0, why)))
        return -1;
    if (len > SAFETENSORS_HEADER_MAX && input_is_torch(&len))
        return input_refuse(
            &s->in, why,
            "a PyTorch file and no safetensors (--pretrained takes its weights)");
    wrong = wrong_start(s, len);
    if (wrong)
        return refuse_start(s, wrong, why);
    s->header_size = len;
    s->data_size = s->in.size - 8 - len;
    s->header = xmalloc((size_t)len + 1);
    s->header[len] = '\0';
    return input_read(&s->in, s->header, len, 8, why);
}

static int parse_dtype(struct safetensors_tensor *t, const json_t *value)
{
    const char *name = json_string_value(value);

    for (int i = 0; name && i < SAFETENSORS_DTYPES; i++) {
        if (!strcmp(name, dtype_table[i].name)) {
            t->dtype = (enum safetensors_dtype)i;
            return 0;
        }
    }
    return -1;
}

/* Parses the entry of one tensor. Returns NULL, or the error. Overlaps are checked
 * later. */
static const char *parse_tensor(struct safetensors_tensor *t, const json_t *entry)
{
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    uint64_t size;

    if (!json_is_object(entry) || json_object_size(entry) != 3)
        return "does not have exactly dtype, shape and data_offsets";
    if (parse_dtype(t, json_object_get(entry, "dtype")))
        return "has an unknown dtype";
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_DIMS)
        return "has no shape, or more than 8 dimensions";
    t->ndim = (int)json_array_size(shape);
    for (int i = 0; i < t->ndim; i++) {
        const json_t *dim = json_array_get(shape, (size_t)i);

        t->dims[i] = json_integer_value(dim);
        if (!json_is_integer(dim) || t->dims[i] < 0)
            return "has a dimension that is no natural number";
    }
    if (!checked_array(t->dims, t->ndim, dtype_table[t->dtype].size, &size))
        return "has a shape that overflows";
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) ||
        !json_is_integer(end) || json_integer_value(begin) < 0 ||
        json_integer_value(end) < json_integer_value(begin))
        return "has bad data_offsets";
    t->offset = (uint64_t)json_integer_value(begin);
    t->size = (uint64_t)json_integer_value(end) - t->offset;
    return t->size == size ? NULL : "has data_offsets that do not fit its shape";
}

static int parse_meta(struct safetensors *s, json_t *meta, struct strbuf *why)
{
    const char *key;
    json_t *value;

    if (!json_is_object(meta))
        return input_refuse(&s->in, why, "__metadata__ is no object");
    json_object_foreach(meta, key, value)
    {
        if (!json_is_string(value))
            return input_refuse(&s->in, why, "__metadata__ '%s' is no string", key);
        strmap_put(&s->meta, key, xstrdup(json_string_value(value)));
    }
    return 0;
}

static int parse_entries(struct safetensors *s, json_t *root, struct strbuf *why)
{
    const char *key, *wrong;
    json_t *value;

    s->tensor = xcalloc(json_object_size(root), sizeof(*s->tensor));
    json_object_foreach(root, key, value)
    {
        if (!strcmp(key, "__metadata__")) {
            if (parse_meta(s, value, why))
                return -1;
            continue;
        }
        s->tensor[s->n].name = xstrdup(key);
        wrong = parse_tensor(&s->tensor[s->n++], value);
        if (wrong)
            return input_refuse(&s->in, why, "tensor '%s' %s", key, wrong);
    }
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->size != y->size) /* empty ones first */
        return x->size < y->size ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorts the tensors by offset and checks that they tile the data exactly. */
static int check_tiling(struct safetensors *s, struct strbuf *why)
{
    uint64_t pos = 0;

    if (s->n)
        qsort(s->tensor, s->n, sizeof(*s->tensor), by_offset);
    for (size_t i = 0; i < s->n; i++) {
        const struct safetensors_tensor *t = &s->tensor[i];

        if (t->offset != pos)
            return input_refuse(
                &s->in, why,
                "tensor '%s' %s: it begins at byte %" PRIu64
                " of the data instead of %" PRIu64,
                t->name, t->offset < pos ? "overlaps the one before" : "leaves a hole",
                t->offset, pos);
        if (!checked_within(pos, t->size, s->data_size))
            return input_refuse(&s->in, why, "cut off: tensor '%s' ends after the file",
                                t->name);
        pos += t->size;
    }
    if (pos != s->data_size)
        return input_refuse(&s->in, why,
                            "%" PRIu64 " bytes of data, but the tensors have %" PRIu64,
                            s->data_size, pos);
    for (size_t i = 0; i < s->n; i++)
        strmap_put(&s->index, s->tensor[i].name, &s->tensor[i]);
    return 0;
}

int safetensors_open(struct safetensors *s, const char *path, struct strbuf *why)
{
    struct strbuf reason = STRBUF_INIT;
    json_t *root = NULL;
    int rc = -1;

    *s = (struct safetensors){0};
    if (!read_header(s, path, why)) {
        root = json_parse(s->header, (size_t)s->header_size, &reason);
        rc = root ? parse_entries(s, root, why)
                  : input_refuse(&s->in, why, "bad header: %s", reason.buf);
    }
    if (!rc)
        rc = check_tiling(s, why);
    json_decref(root);
    strbuf_release(&reason);
    return rc;
}

void safetensors_close(struct safetensors *s)
{
    input_close(&s->in);
    for (size_t i = 0; i < s->n; i++)
        free(s->tensor[i].name);
    for (size_t i = 0; i < s->meta.n; i++)
        free(s->meta.entry[i].value);
    free(s->tensor);
    free(s->header);
    strmap_release(&s->meta);
    strmap_release(&s->index);
    *s = (struct safetensors){0};
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *s,
                                                  const char *name)
{
    return strmap_get(&s->index, name);
}

const char *safetensors_meta(const struct safetensors *s, const char *key)
{
    return strmap_get(&s->meta, key);
}

int safetensors_read(const struct safetensors *s, const struct safetensors_tensor *t,
                     void *data, struct strbuf *why)
{
    return input_read(&s->in, data, t->size, 8 + s->header_size + t->offset, why);
}

int safetensors_verify(const struct safetensors *s, struct strbuf *why)
{
    const char *want = safetensors_meta(s, SAFETENSORS_SUM_KEY);
    char got[SAFETENSORS_SUM_DIGITS + 1], *chunk;
    struct safetensors_sum *sum;
    int rc = 0;

    if (!want || strlen(want) != SAFETENSORS_SUM_DIGITS)
        return input_refuse(&s->in, why, "has no checksum");
    sum = safetensors_sum_new(s->header, (size_t)s->header_size);
    chunk = xmalloc(CHUNK);
    for (uint64_t done = 0; done < s->data_size && !rc; done += CHUNK) {
        uint64_t left = s->data_size - done, len = left < CHUNK ? left : CHUNK;

        rc = input_read(&s->in, chunk, len, 8 + s->header_size + done, why);
        if (!rc)
            safetensors_sum_add(sum, chunk, (size_t)len);
    }
    safetensors_sum_free(sum, got);
    if (!rc && strcmp(got, want) != 0)
        rc = input_refuse(&s->in, why, "damaged: its checksum is %s and should be %s",
                          got, want);
    free(chunk);
    return rc;
}
