#include "io/pth_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "io/zip_entry.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

enum { PICKLE_MAX = 64 << 20 };

/* ---- the zip archive ---- */

static int64_t find_entry(const struct pth_file *f, const char *name)
{
    char *full = xasprintf("%s%s", f->folder, name);
    int64_t i = zip_entry_find(f->zip, full);

    free(full);
    return i;
}

uint64_t pth_file_limit(const struct pth_file *f)
{
    return PTH_FILE_TIMES * f->in.size + ((uint64_t)64 << 20);
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len >= n && !strcmp(name + len - n, end);
}

/* Refuses a zip archive without a pickle, and describes it by its file names. */
static int refuse_zip(const struct pth_file *f, zip_int64_t n, struct strbuf *why)
{
    static const struct {
        const char *end, *what;
    } kinds[] = {
        {".npy", "arrays of NumPy (.npz)"},
        {"model.weights.h5", "a model of Keras"},
        {".pth", "unpack it"},
        {".pt", "unpack it"},
        {".bin", "unpack it"},
        {".safetensors", "unpack it"},
    };

    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(f->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);

        for (size_t k = 0; name && k < sizeof(kinds) / sizeof(kinds[0]); k++)
            if (ends_with(name, kinds[k].end))
                return input_refuse(&f->in, why, "a zip archive with '%s' in it: %s",
                                    name, kinds[k].what);
    }
    return input_refuse(&f->in, why, "a zip archive without data.pkl, not of PyTorch");
}

/* Sets f->folder to the folder of data.pkl, which contains all entries. */
static int find_folder(struct pth_file *f, struct strbuf *why)
{
    static const char end[] = "data.pkl";
    zip_int64_t n = zip_get_num_entries(f->zip, 0);

    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(f->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        size_t len = name ? strlen(name) : 0, folder = len - (sizeof(end) - 1);

        if (len < sizeof(end) - 1 || strcmp(name + folder, end) != 0 ||
            (folder && name[folder - 1] != '/'))
            continue;
        f->folder = xstrndup(name, folder);
        return 0;
    }
    return refuse_zip(f, n, why);
}

static int check_zip(const struct pth_file *f, struct strbuf *why)
{
    int64_t order = find_entry(f, "byteorder");
    char text[8] = "";

    if (find_entry(f, "constants.pkl") >= 0)
        return input_refuse(&f->in, why,
                            "a TorchScript program: torch.save(model."
                            "state_dict(), ...) makes a file to read");
    if (order < 0)
        return 0;
    if (zip_entry_size(&f->in, f->zip, order) < sizeof(text) &&
        zip_entry_read(&f->in, f->zip, (uint64_t)order, 0,
                       zip_entry_size(&f->in, f->zip, order), text, why))
        return -1;
    return strcmp(text, "little") != 0
               ? input_refuse(&f->in, why, "its byte order is '%s', not little", text)
               : 0;
}

/* f->zip: as it was opened, or NULL. */
static int open_zip(struct pth_file *f, struct strbuf *why)
{
    int64_t pos;
    uint64_t size;
    char *text;
    int rc;

    if (!f->zip)
        return -1;
    if (find_folder(f, why) || check_zip(f, why))
        return -1;
    pos = find_entry(f, "data.pkl");
    size = zip_entry_size(&f->in, f->zip, pos);
    if (size > PICKLE_MAX)
        return input_refuse(&f->in, why, "a pickle of %" PRIu64 " bytes", size);
    text = xmalloc((size_t)size + 1);
    rc = zip_entry_read(&f->in, f->zip, (uint64_t)pos, 0, size, text, why);
    if (!rc) {
        struct strbuf wrong = STRBUF_INIT;

        if (pickle_read(&f->object, text, (size_t)size, &wrong))
            rc = input_refuse(&f->in, why, "%s", wrong.buf);
        strbuf_release(&wrong);
    }
    free(text);
    return rc;
}

static int place_in_zip(struct pth_file *f, const char *key, struct pth_storage *s,
                        struct strbuf *why)
{
    char *name = xasprintf("data/%s", key);
    int64_t i = find_entry(f, name);
    uint64_t want = (uint64_t)s->n * safetensors_dtype_size(s->dtype);
    int rc = 0;

    if (i >= 0)
        f->inflated += zip_entry_inflated(f->zip, i);
    if (i < 0)
        rc = input_refuse(&f->in, why, "%s is missing", name);
    else if (f->inflated > pth_file_limit(f))
        rc = input_refuse(
            &f->in, why, "its compressed storages would take more than %d times its size",
            PTH_FILE_TIMES);
    else if (zip_entry_size(&f->in, f->zip, i) < want)
        rc = input_refuse(&f->in, why, "%s has %" PRIu64 " bytes instead of %" PRIu64,
                          name, zip_entry_size(&f->in, f->zip, i), want);
    s->offset = (uint64_t)i;
    free(name);
    return rc;
}

/* ---- the stream of pickles ---- */

struct stream {
    char *text; /* start of the file */
    size_t len, pos;
};

/* Reads the next pickle of the stream. The caller releases p, also after a failure. */
static int next_pickle(const struct pth_file *f, struct stream *s, struct pickle *p,
                       struct strbuf *why)
{
    struct strbuf wrong = STRBUF_INIT;
    int rc = pickle_read(p, s->text + s->pos, s->len - s->pos, &wrong);

    s->pos += p->used;
    if (rc)
        (void)input_refuse(&f->in, why, "%s", wrong.buf);
    strbuf_release(&wrong);
    return rc;
}

/* Checks the first three pickles of the old format: magic number, version, and
 * machine. */
static int check_stream(const struct pth_file *f, struct stream *s, struct strbuf *why)
{
    static const char magic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    struct pickle p[3] = {0};
    const struct pickle_value *v;
    int rc = 0;

    rc = next_pickle(f, s, &p[0], why);
    v = p[0].root;
    if (!rc && (v->kind != PICKLE_LONG || v->text.len != sizeof(magic) - 1 ||
                memcmp(v->text.s, magic, sizeof(magic) - 1) != 0))
        rc = input_refuse(&f->in, why,
                          "a pickle of Python, but not of torch.save: "
                          "torch.save(model.state_dict(), ...) makes a file to read");
    for (int i = 1; i < 3 && !rc; i++)
        rc = next_pickle(f, s, &p[i], why);
    v = p[1].root;
    if (!rc && (v->kind != PICKLE_INT || v->number != 1001))
        rc = input_refuse(&f->in, why, "an unknown version of torch.save's format");
    v = pickle_get(p[2].root, "little_endian");
    if (!rc && (!v || v->kind != PICKLE_BOOL || !v->number))
        rc = input_refuse(&f->in, why, "its byte order is not little");
    for (int i = 0; i < 3; i++)
        pickle_release(&p[i]);
    return rc;
}

static int place_in_stream(const struct pth_file *f, const struct pickle_value *keys,
                           uint64_t pos, uint64_t size, struct strbuf *why)
{
    const struct pickle_value *key;

    for (size_t i = 0; (key = pickle_item(keys, i)); i++) {
        const char *name = pickle_text(key);
        struct pth_storage *s = name ? strmap_get(&f->storage, name) : NULL;
        int64_t n = 0;
        uint64_t bytes;

        if (!s)
            return input_refuse(&f->in, why, "a storage that no tensor has");
        if (input_read(&f->in, &n, sizeof(n), pos, why))
            return -1;
        if (n != s->n)
            return input_refuse(&f->in, why,
                                "storage %s has %" PRId64 " elements instead of %" PRId64,
                                name, n, s->n);
        s->offset = pos + sizeof(n); /* within the file, since n was read */
        bytes = (uint64_t)s->n * safetensors_dtype_size(s->dtype);
        if (!checked_within(s->offset, bytes, size))
            return input_refuse(&f->in, why, "the file ends in storage %s", name);
        pos = s->offset + bytes;
    }
    for (size_t i = 0; i < f->storage.n; i++)
        if (!((const struct pth_storage *)f->storage.entry[i].value)->offset)
            return input_refuse(&f->in, why, "storage %s is missing",
                                f->storage.entry[i].key);
    return 0;
}

/* ---- both ---- */

static const struct {
    const char *name;
    enum safetensors_dtype dtype;
} storage_type[] = {
    {"FloatStorage", SAFETENSORS_F32},        {"HalfStorage", SAFETENSORS_F16},
    {"BFloat16Storage", SAFETENSORS_BF16},    {"DoubleStorage", SAFETENSORS_F64},
    {"LongStorage", SAFETENSORS_I64},         {"IntStorage", SAFETENSORS_I32},
    {"ShortStorage", SAFETENSORS_I16},        {"CharStorage", SAFETENSORS_I8},
    {"ByteStorage", SAFETENSORS_U8},          {"BoolStorage", SAFETENSORS_BOOL},
    {"ComplexFloatStorage", SAFETENSORS_C64}, {"UntypedStorage", SAFETENSORS_U8},
};

/* Parses a persistent id, ('storage', type, key, device, elements, view). Returns false
 * if it is not a storage of a known type. */
static bool parse_ref(const struct pickle_value *ref, const char **key,
                      struct pth_storage *s)
{
    const struct pickle_value *id = pickle_item(ref, 0), *n = pickle_item(id, 4);
    const char *what = pickle_text(pickle_item(id, 0));
    const char *type = pickle_global(pickle_item(id, 1));
    const char *name = type ? strchr(type, ' ') : NULL;

    *key = pickle_text(pickle_item(id, 2));
    if (!what || strcmp(what, "storage") != 0 || !name ||
        strncmp(type, "torch", 5) != 0 || !*key || !n || n->kind != PICKLE_INT ||
        n->number < 0)
        return false;
    for (size_t i = 0; i < sizeof(storage_type) / sizeof(storage_type[0]); i++)
        if (!strcmp(storage_type[i].name, name + 1)) {
            *s = (struct pth_storage){.dtype = storage_type[i].dtype, .n = n->number};
            s->untyped = !strcmp(name + 1, "UntypedStorage");
            return s->n <= (int64_t)1 << 40;
        }
    return false;
}

/* Collects the storages that the pickle refers to, except those of unknown types. */
static int list_storages(struct pth_file *f, struct strbuf *why)
{
    for (size_t i = 0; i < f->object.nref; i++) {
        struct pth_storage s, *known;
        const char *key;

        if (!parse_ref(f->object.ref[i], &key, &s))
            continue;
        known = strmap_get(&f->storage, key);
        if (known && (known->dtype != s.dtype || known->n != s.n))
            return input_refuse(&f->in, why, "storage %s has two types or sizes", key);
        if (known)
            continue;
        known = xmemdup(&s, sizeof(s));
        strmap_put(&f->storage, key, known);
        if (f->zip && place_in_zip(f, key, known, why))
            return -1;
    }
    return 0;
}

static int open_stream(struct pth_file *f, struct strbuf *why)
{
    uint64_t size = f->in.size;
    struct stream s = {.len = size < PICKLE_MAX ? (size_t)size : PICKLE_MAX};
    struct pickle keys = {0};
    int rc;

    s.text = xmalloc(s.len);
    rc = input_read(&f->in, s.text, s.len, 0, why);
    if (!rc)
        rc = check_stream(f, &s, why);
    if (!rc)
        rc = next_pickle(f, &s, &f->object, why);
    if (!rc)
        rc = list_storages(f, why);
    if (!rc)
        rc = next_pickle(f, &s, &keys, why);
    if (!rc)
        rc = place_in_stream(f, keys.root, s.pos, size, why);
    pickle_release(&keys);
    free(s.text);
    return rc;
}

int pth_file_open(struct pth_file *f, const char *path, struct strbuf *why)
{
    char start[8] = "";

    *f = (struct pth_file){0};
    if (input_open(&f->in, path, why) || input_read(&f->in, start, sizeof(start), 0, why))
        return -1;
    if (!input_is_torch(start))
        return input_refuse(&f->in, why, "not a PyTorch file");
    if (*start != 'P')
        return open_stream(f, why);
    f->zip = zip_entry_open(&f->in, why);
    return open_zip(f, why) || list_storages(f, why) ? -1 : 0;
}

int pth_file_open_bytes(struct pth_file *f, const char *path, void *data, uint64_t size,
                        struct strbuf *why)
{
    *f = (struct pth_file){.in = {.path = xstrdup(path), .fd = -1, .size = size}};
    f->zip = zip_entry_open_bytes(&f->in, data, size, why);
    return open_zip(f, why) || list_storages(f, why) ? -1 : 0;
}

void pth_file_close(struct pth_file *f)
{
    if (f->zip)
        zip_discard(f->zip);
    input_close(&f->in);
    for (size_t i = 0; i < f->storage.n; i++)
        free(f->storage.entry[i].value);
    strmap_release(&f->storage);
    pickle_release(&f->object);
    free(f->folder);
    *f = (struct pth_file){0};
}

struct pth_storage *pth_file_storage(const struct pth_file *f,
                                     const struct pickle_value *ref, int64_t *first)
{
    const struct pickle_value *view = pickle_item(pickle_item(ref, 0), 5),
                              *offset = pickle_item(view, 1);
    struct pth_storage s;
    const char *key;

    *first = 0;
    if (!ref || ref->kind != PICKLE_REF || !parse_ref(ref, &key, &s))
        return NULL;
    if (view && view->kind == PICKLE_TUPLE) {
        if (!offset || offset->kind != PICKLE_INT)
            return NULL;
        *first = offset->number;
    }
    return strmap_get(&f->storage, key);
}

int pth_file_read(const struct pth_file *f, const struct pth_storage *s, uint64_t offset,
                  uint64_t size, void *data, struct strbuf *why)
{
    return f->zip ? zip_entry_read(&f->in, f->zip, s->offset, offset, size, data, why)
                  : input_read(&f->in, data, size, s->offset + offset, why);
}
