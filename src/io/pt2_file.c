#include "io/pt2_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "io/json.h"
#include "io/zip_entry.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

enum { TEXT_MAX = 256 << 20, TIMES = 16 };

static const char mark[] = "archive_format";

/* ---- members ---- */

/* Sets p->folder to the folder of the member `archive_format`. */
static bool find_folder(struct pt2_file *p)
{
    zip_int64_t n = zip_get_num_entries(p->zip, 0);

    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(p->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        size_t len = name ? strlen(name) : 0, end = sizeof(mark) - 1;

        if (len > end && name[len - end - 1] == '/' && !strcmp(name + len - end, mark)) {
            p->folder = xstrndup(name, len - end);
            return true;
        }
    }
    return false;
}

/* Opens the zip archive and finds its folder. */
static int open_zip(struct pt2_file *p, const char *path, struct strbuf *why)
{
    *p = (struct pt2_file){0};
    if (input_open(&p->in, path, why))
        return -1;
    p->zip = zip_entry_open(&p->in, why);
    if (!p->zip)
        return -1;
    return find_folder(p) ? 0
                          : input_refuse(&p->in, why,
                                         "no archive of torch.export.save: it has no "
                                         "member '%s'",
                                         mark);
}

bool pt2_file_is(const char *path)
{
    struct strbuf ignored = STRBUF_INIT;
    struct pt2_file p;
    bool is = !open_zip(&p, path, &ignored);

    pt2_file_close(&p);
    strbuf_release(&ignored);
    return is;
}

static int64_t find_entry(const struct pt2_file *p, const char *name)
{
    char *full = xasprintf("%s%s", p->folder, name);
    int64_t i = zip_entry_find(p->zip, full);

    free(full);
    return i;
}

int pt2_file_text(const struct pt2_file *p, const char *name, struct strbuf *text,
                  struct strbuf *why)
{
    int64_t i = find_entry(p, name);
    uint64_t size;
    char *data;
    int rc;

    if (i < 0)
        return input_refuse(&p->in, why,
                            "it has no '%s%s': export it with PyTorch 2.9 or later",
                            p->folder, name);
    size = zip_entry_size(&p->in, p->zip, i);
    if (size > TEXT_MAX)
        return input_refuse(&p->in, why, "'%s' has %" PRIu64 " bytes", name, size);
    if (zip_entry_inflated(p->zip, i))
        return input_refuse(&p->in, why, "'%s' is compressed", name);
    data = xmalloc((size_t)size + 1);
    rc = zip_entry_read(&p->in, p->zip, (uint64_t)i, 0, size, data, why);
    if (!rc)
        strbuf_add(text, data, (size_t)size);
    free(data);
    return rc;
}

static int check_text(const struct pt2_file *p, const char *name, const char *want,
                      struct strbuf *why)
{
    struct strbuf text = STRBUF_INIT;
    int rc = pt2_file_text(p, name, &text, why);

    if (!rc && strcmp(text.buf, want) != 0)
        rc = input_refuse(&p->in, why, "its %s is '%.20s', not '%s'", name, text.buf,
                          want);
    strbuf_release(&text);
    return rc;
}

/* ---- tensors ---- */

static bool dtype_of(const json_t *meta, enum safetensors_dtype *dtype)
{
    static const int known[] = {[1] = 1 + SAFETENSORS_U8,    [2] = 1 + SAFETENSORS_I8,
                                [3] = 1 + SAFETENSORS_I16,   [4] = 1 + SAFETENSORS_I32,
                                [5] = 1 + SAFETENSORS_I64,   [6] = 1 + SAFETENSORS_F16,
                                [7] = 1 + SAFETENSORS_F32,   [8] = 1 + SAFETENSORS_F64,
                                [12] = 1 + SAFETENSORS_BOOL, [13] = 1 + SAFETENSORS_BF16};
    const json_t *v = json_object_get(meta, "dtype");
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : -1;

    if (i < 0 || i >= (json_int_t)(sizeof(known) / sizeof(known[0])) || !known[i])
        return false;
    *dtype = (enum safetensors_dtype)(known[i] - 1);
    return true;
}

/* Gets {"as_int": N}, N >= 0. */
static bool size_of(const json_t *v, int64_t *n)
{
    v = json_object_get(v, "as_int");
    *n = json_is_integer(v) ? json_integer_value(v) : -1;
    return *n >= 0;
}

/* Gets a list of sizes. Returns their number, or -1. */
static int sizes_of(const json_t *list, int64_t *to)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list) || n > SAFETENSORS_MAX_DIMS)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!size_of(json_array_get(list, i), &to[i]))
            return -1;
    return (int)n;
}

/* Sets *last to the index of a tensor's last element in its storage, relative to the
 * first. Returns false on overflow. */
static bool extent(const struct safetensors_tensor *t, const struct pt2_file_view *v,
                   uint64_t *last)
{
    uint64_t at = 0, step;

    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] &&
            (!checked_mul((uint64_t)t->dims[i] - 1, (uint64_t)v->stride[i], &step) ||
             !checked_add(at, step, &at)))
            return false;
    *last = at;
    return true;
}

/* Fills a tensor and its view. Returns NULL, or why it cannot be read. */
static const char *parse(const struct pt2_file *p, const char *part, const json_t *row,
                         struct safetensors_tensor *t, struct pt2_file_view *v)
{
    const json_t *meta = json_object_get(row, "tensor_meta"),
                 *layout = json_object_get(meta, "layout");
    const char *path = json_string_value(json_object_get(row, "path_name"));
    uint64_t each, have, last;
    char *member;

    if (!path || json_is_true(json_object_get(row, "use_pickle")))
        return "is a pickle";
    if (!dtype_of(meta, &t->dtype))
        return "has a dtype that is not read";
    if (!json_is_integer(layout) || json_integer_value(layout) != 7)
        return "is not strided";
    t->ndim = sizes_of(json_object_get(meta, "sizes"), t->dims);
    if (t->ndim < 0 || sizes_of(json_object_get(meta, "strides"), v->stride) != t->ndim)
        return "has no static dims, or more than 8";
    member = xasprintf("data/%s/%s", part, path);
    v->entry = find_entry(p, member);
    free(member);
    if (v->entry < 0 || zip_entry_inflated(p->zip, v->entry))
        return "has no storage, or a compressed one";
    each = safetensors_dtype_size(t->dtype);
    have = zip_entry_size(&p->in, p->zip, v->entry) / each;
    if (!size_of(json_object_get(meta, "storage_offset"), &v->offset) ||
        !checked_array(t->dims, t->ndim, each, &t->size) || !extent(t, v, &last) ||
        t->size / each > have ||
        !checked_within((uint64_t)v->offset, t->size ? last + 1 : 0, have))
        return "lies outside of its storage";
    return NULL;
}

static int add(struct pt2_file *p, const char *part, const char *name, const json_t *row,
               uint64_t *total, struct strbuf *why)
{
    struct safetensors_tensor *t = &p->tensor[p->n];
    const char *wrong = parse(p, part, row, t, &p->view[p->n]);

    if (wrong)
        return input_refuse(&p->in, why, "tensor '%s' %s", name, wrong);
    t->name = xstrdup(name);
    strmap_put(&p->index, name, t);
    p->n++;
    *total += t->size;
    return *total / TIMES <= p->in.size
               ? 0
               : input_refuse(&p->in, why,
                              "its tensors would take more than %d times its size: too "
                              "many share a storage",
                              TIMES);
}

/* `part`: "weights" or "constants". */
static int list_tensors(struct pt2_file *p, const char *part, struct strbuf *why)
{
    char *member = xasprintf("data/%s/model_%s_config.json", part, part);
    struct strbuf text = STRBUF_INIT;
    uint64_t total = 0;
    const char *name;
    json_t *all = NULL, *config, *row;
    int rc = pt2_file_text(p, member, &text, why);

    if (!rc)
        all = json_parse(text.buf, text.len, why);
    config = json_object_get(all, "config");
    if (!rc && !json_is_object(config))
        rc = input_refuse(&p->in, why, "'%s' is not read", member);
    p->tensor = xcalloc(json_object_size(config) + 1, sizeof(*p->tensor));
    p->view = xcalloc(json_object_size(config) + 1, sizeof(*p->view));
    json_object_foreach(config, name, row)
    {
        if (!rc)
            rc = add(p, part, name, row, &total, why);
    }
    json_decref(all);
    free(member);
    strbuf_release(&text);
    return rc;
}

static int open_part(struct pt2_file *p, const char *path, const char *part,
                     struct strbuf *why)
{
    if (open_zip(p, path, why) || check_text(p, mark, "pt2", why) ||
        check_text(p, "byteorder", "little", why))
        return -1;
    return list_tensors(p, part, why);
}

int pt2_file_open(struct pt2_file *p, const char *path, struct strbuf *why)
{
    return open_part(p, path, "weights", why);
}

int pt2_file_open_constants(struct pt2_file *p, const char *path, struct strbuf *why)
{
    return open_part(p, path, "constants", why);
}

void pt2_file_close(struct pt2_file *p)
{
    if (p->zip)
        zip_discard(p->zip);
    input_close(&p->in);
    for (size_t i = 0; i < p->n; i++)
        free(p->tensor[i].name);
    strmap_release(&p->index);
    free(p->tensor);
    free(p->view);
    free(p->folder);
    *p = (struct pt2_file){0};
}

/* Copies the elements of a strided view row by row. */
static void gather(const struct safetensors_tensor *t, const struct pt2_file_view *v,
                   const char *from, char *to)
{
    size_t each = safetensors_dtype_size(t->dtype);
    int64_t at[SAFETENSORS_MAX_DIMS] = {0}, place = 0;

    for (uint64_t done = 0; done < t->size; done += each) {
        memcpy(to + done, from + (size_t)place * each, each);
        for (int d = t->ndim - 1; d >= 0; d--) {
            place += v->stride[d];
            if (++at[d] < t->dims[d])
                break;
            place -= at[d] * v->stride[d];
            at[d] = 0;
        }
    }
}

int pt2_file_read(const struct pt2_file *p, const struct safetensors_tensor *t,
                  void *data, struct strbuf *why)
{
    const struct pt2_file_view *v = &p->view[t - p->tensor];
    uint64_t each = safetensors_dtype_size(t->dtype), last;
    char *storage;
    int rc;

    if (!t->size || !extent(t, v, &last))
        return 0;
    storage = xmalloc((size_t)((last + 1) * each));
    rc = zip_entry_read(&p->in, p->zip, (uint64_t)v->entry, (uint64_t)v->offset * each,
                        (last + 1) * each, storage, why);
    if (!rc)
        gather(t, v, storage, data);
    free(storage);
    return rc;
}

/* True if both are the same elements with the same dims. */
static bool same(const struct pt2_file *p, size_t i, size_t k)
{
    const struct pt2_file_view *a = &p->view[i], *b = &p->view[k];
    const struct safetensors_tensor *s = &p->tensor[i], *t = &p->tensor[k];

    return a->entry == b->entry && a->offset == b->offset && s->dtype == t->dtype &&
           s->ndim == t->ndim && s->size && s->size == t->size &&
           !memcmp(s->dims, t->dims, (size_t)s->ndim * sizeof(*s->dims)) &&
           !memcmp(a->stride, b->stride, (size_t)s->ndim * sizeof(*a->stride));
}

/* True if the ranges from the first to the last element of two tensors overlap. */
static bool overlap(const struct pt2_file *p, size_t i, size_t k)
{
    const struct pt2_file_view *a = &p->view[i], *b = &p->view[k];
    uint64_t last_a, last_b;

    return a->entry == b->entry && p->tensor[i].size && p->tensor[k].size &&
           extent(&p->tensor[i], a, &last_a) && extent(&p->tensor[k], b, &last_b) &&
           (uint64_t)a->offset <= (uint64_t)b->offset + last_b &&
           (uint64_t)b->offset <= (uint64_t)a->offset + last_a;
}

const struct safetensors_tensor *pt2_file_shared(const struct pt2_file *p,
                                                 const struct safetensors_tensor **other)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = i + 1; k < p->n; k++)
            if (overlap(p, i, k) && !same(p, i, k)) {
                *other = &p->tensor[k];
                return &p->tensor[i];
            }
    return NULL;
}

const char *pt2_file_tied(const struct pt2_file *p, const struct safetensors_tensor *t)
{
    size_t k = (size_t)(t - p->tensor);

    for (size_t i = 0; i < k; i++)
        if (same(p, i, k))
            return p->tensor[i].name;
    return NULL;
}
