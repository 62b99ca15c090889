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
static const char flat[] =
    "serialized_exported_program.json"; /* of PyTorch 2.6 and 2.7 */

/* ---- members ---- */

/* Sets p->folder to the folder of the member `archive_format`, or to "" if there is none. */
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
    p->folder = xstrdup("");
    return zip_entry_find(p->zip, flat) >= 0;
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

/* Returns the bytes of a member and a NUL, or NULL with a reason. */
static char *read_member(const struct pt2_file *p, const char *name, uint64_t max,
                         uint64_t *size, struct strbuf *why)
{
    int64_t i = find_entry(p, name);
    char *data = NULL;

    *size = i < 0 ? 0 : zip_entry_size(&p->in, p->zip, i);
    if (i < 0)
        (void)input_refuse(&p->in, why,
                           "it has no '%s%s': export it with PyTorch 2.6 or later",
                           p->folder, name);
    else if (*size > max)
        (void)input_refuse(&p->in, why, "'%s' has %" PRIu64 " bytes", name, *size);
    else if (zip_entry_inflated(p->zip, i))
        (void)input_refuse(&p->in, why, "'%s' is compressed", name);
    else
        data = xcalloc(1, (size_t)*size + 1);
    if (data && zip_entry_read(&p->in, p->zip, (uint64_t)i, 0, *size, data, why)) {
        free(data);
        data = NULL;
    }
    return data;
}

int pt2_file_text(const struct pt2_file *p, const char *name, struct strbuf *text,
                  struct strbuf *why)
{
    uint64_t size;
    char *data = read_member(p, name, TEXT_MAX, &size, why);

    if (!data)
        return -1;
    strbuf_add(text, data, (size_t)size);
    free(data);
    return 0;
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

/* Returns the length of a number that JSON does not have at the start of the text, or 0. */
static size_t bare_word(const char *text, size_t len)
{
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (len >= strlen(words[i]) && !memcmp(text, words[i], strlen(words[i])))
            return strlen(words[i]);
    return 0;
}

/* Appends JSON with its bare words as texts. */
static void add_quoted(struct strbuf *dst, const char *text, size_t len)
{
    bool inside = false;

    for (size_t i = 0; i < len;) {
        size_t word = inside ? 0 : bare_word(text + i, len - i);
        size_t n = word ? word : inside && text[i] == '\\' && i + 1 < len ? 2 : 1;

        if (text[i] == '"')
            inside = !inside;
        if (word)
            strbuf_addstr(dst, "\"");
        strbuf_add(dst, text + i, n);
        if (word)
            strbuf_addstr(dst, "\"");
        i += n;
    }
}

int pt2_file_program(const struct pt2_file *p, struct strbuf *text, struct strbuf *why)
{
    struct strbuf raw = STRBUF_INIT;
    int rc;

    if (*p->folder)
        return pt2_file_text(p, "models/model.json", text, why);
    rc = pt2_file_text(p, flat, &raw, why);
    if (!rc)
        add_quoted(text, raw.buf, raw.len);
    strbuf_release(&raw);
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
static int sizes_of(const json_t *list, int64_t *dst)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list) || n > SAFETENSORS_MAX_DIMS)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!size_of(json_array_get(list, i), &dst[i]))
            return -1;
    return (int)n;
}

/* Sets *last to the index of a tensor's last element in its storage, relative to the
 * first. Returns false on overflow. */
static bool extent(const struct safetensors_tensor *t, const struct pt2_file_view *v,
                   uint64_t *last)
{
    uint64_t pos = 0, step;

    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] &&
            (!checked_mul((uint64_t)t->dims[i] - 1, (uint64_t)v->stride[i], &step) ||
             !checked_add(pos, step, &pos)))
            return false;
    *last = pos;
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

/* Lists the tensors of a member that is a file of torch.save. */
static int list_saved(struct pt2_file *p, const char *member, struct strbuf *why)
{
    uint64_t size;
    char *data = read_member(p, member, p->in.size, &size, why);

    if (!data || pth_open_bytes(&p->pth, p->in.path, data, size, why))
        return -1;
    p->tensor = xcalloc(p->pth.n + 1, sizeof(*p->tensor));
    p->view = xcalloc(p->pth.n + 1, sizeof(*p->view));
    for (; p->n < p->pth.n; p->n++) {
        const struct pth_view *v = &p->pth.view[p->n];
        struct safetensors_tensor *t = &p->tensor[p->n];

        *t = p->pth.tensor[p->n];
        t->name = xstrdup(t->name);
        strmap_put(&p->index, t->name, t);
        p->view[p->n].entry = (int64_t)v->storage->offset;
        p->view[p->n].offset = v->offset;
        memcpy(p->view[p->n].stride, v->stride, sizeof(v->stride));
    }
    return 0;
}

/* `part`: "weights" or "constants"; `saved`: the member of PyTorch 2.6. */
static int open_part(struct pt2_file *p, const char *path, const char *part,
                     const char *saved, struct strbuf *why)
{
    char *member;
    int rc;

    if (open_zip(p, path, why))
        return -1;
    if (!*p->folder)
        return list_saved(p, saved, why);
    if (check_text(p, mark, "pt2", why) || check_text(p, "byteorder", "little", why))
        return -1;
    member = xasprintf("data/%s/model.pt", part);
    rc = find_entry(p, member) >= 0 ? list_saved(p, member, why)
                                    : list_tensors(p, part, why);
    free(member);
    return rc;
}

int pt2_file_extra(const struct pt2_file *p, const char *name, struct strbuf *text,
                   struct strbuf *why)
{
    char *member = xasprintf("%s/%s", *p->folder ? "extra" : "extra_files", name);
    int rc = find_entry(p, member) < 0 ? 0 : pt2_file_text(p, member, text, why);

    free(member);
    return rc;
}

int pt2_file_open(struct pt2_file *p, const char *path, struct strbuf *why)
{
    struct strbuf classes = STRBUF_INIT;
    int rc = open_part(p, path, "weights", "serialized_state_dict.pt", why);

    if (!rc)
        rc = pt2_file_extra(p, "classes", &classes, why);
    if (!rc && classes.len)
        p->classes = xstrdup(classes.buf);
    strbuf_release(&classes);
    return rc;
}

int pt2_file_open_constants(struct pt2_file *p, const char *path, struct strbuf *why)
{
    return open_part(p, path, "constants", "serialized_constants.pt", why);
}

void pt2_file_close(struct pt2_file *p)
{
    if (p->zip)
        zip_discard(p->zip);
    input_close(&p->in);
    for (size_t i = 0; i < p->n; i++)
        free(p->tensor[i].name);
    strmap_release(&p->index);
    pth_close(&p->pth);
    free(p->tensor);
    free(p->view);
    free(p->folder);
    free(p->classes);
    *p = (struct pt2_file){0};
}

/* Copies the elements of a strided view row by row. */
static void gather(const struct safetensors_tensor *t, const struct pt2_file_view *v,
                   const char *src, char *dst)
{
    size_t each = safetensors_dtype_size(t->dtype);
    int64_t pos[SAFETENSORS_MAX_DIMS] = {0}, place = 0;

    for (uint64_t done = 0; done < t->size; done += each) {
        memcpy(dst + done, src + (size_t)place * each, each);
        for (int d = t->ndim - 1; d >= 0; d--) {
            place += v->stride[d];
            if (++pos[d] < t->dims[d])
                break;
            place -= pos[d] * v->stride[d];
            pos[d] = 0;
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
    if (p->pth.n)
        return pth_read(&p->pth, &p->pth.tensor[t - p->tensor], data, why);
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
