/*
 * DATA.DATASET zip: SPLIT.zip and, for classes, SPLIT_map.txt in the same folder, as in
 * Swin: each line is "PATH<tab>CLASS", where PATH is a member's name. The samples are
 * then those of the map, in its order. Without a map, members are used as in a tar
 * (members.h). Backslashes in names, which some Windows tools write, count as slashes.
 *
 * libarchive returns the offsets of members; libzip, which does not, returns their
 * compression and CRC-32. Both read the archive's directory once. Members are then read
 * by any number of threads (libzip allows only one): stored ones directly, deflated ones
 * with zlib. Other compression methods are errors.
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/strmap.h"
#include "base/utf8.h"
#include "base/utf8_names.h"
#include "dataset/list_file.h"
#include "dataset/members.h"
#include "dataset/raw_file.h"

/* Block size of libarchive's reads, around each header. */
enum { ZIP_BLOCK = 4096 };

/* Flag in sample_part.at: the member is deflated. `len` is its inflated size. */
#define ZIP_DEFLATED ((uint64_t)1 << 63)

/* Inflates the member at byte `pos` into `len` bytes. Its deflated bytes, and perhaps a
 * few more, are read into the same buffer, after the result. */
static int zip_inflate(const struct raw_file *f, uint64_t pos, size_t len,
                       struct dataset_bytes *out, struct strbuf *why)
{
    uint64_t rest = pos < f->size ? f->size - pos : 0;
    size_t max = len + len / 1000 + 64, n = rest < max ? (size_t)rest : max;
    z_stream z = {.avail_in = (uInt)n, .avail_out = (uInt)len};
    int rc, end;

    dataset_bytes_reserve(out, len + n);
    out->len = len;
    rc = raw_file_get(f, pos, out->data + len, n, why);
    if (rc < 0)
        return rc;
    z.next_in = out->data + len;
    z.next_out = out->data;
    end = inflateInit2(&z, -MAX_WBITS);
    if (end == Z_OK)
        end = inflate(&z, Z_FINISH);
    (void)inflateEnd(&z);
    if (end == Z_STREAM_END && z.total_out == out->len)
        return 0;
    strbuf_addf(why, "damaged: %s", z.msg ? z.msg : "its deflated bytes end too early");
    return end == Z_MEM_ERROR ? FAILURE_MACHINE : FAILURE_DATA;
}

static int zip_unpack(const struct raw_file *f, const struct sample_part *part,
                      int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    uint64_t pos = part->offset & ~ZIP_DEFLATED;

    if (!(part->offset & ZIP_DEFLATED))
        return raw_file_read(f, pos, part->len, limit, out, why);
    if (part->len > (uint64_t)limit || part->len > UINT32_MAX / 2) {
        strbuf_addf(why, "%llu bytes, more than the limit of %lld",
                    (unsigned long long)part->len, (long long)limit);
        return FAILURE_DATA;
    }
    return zip_inflate(f, pos, (size_t)part->len, out, why);
}

static int zip_part(void *file, const struct sample_part *part, int64_t limit,
                    struct dataset_bytes *out, struct strbuf *why)
{
    int rc = zip_unpack(file, part, limit, out, why);

    if (rc == 0 && crc32_z(0, out->data, out->len) != part->sum) {
        strbuf_addstr(why, "damaged: wrong checksum");
        rc = FAILURE_DATA;
    }
    return rc;
}

/* Adds a member's compression and CRC-32 to *part. Returns -1 and a reason on failure. */
static int zip_describe(const struct zip_stat *st, struct sample_part *part,
                        struct strbuf *why)
{
    if (st->encryption_method != ZIP_EM_NONE) {
        strbuf_addf(why, "'%s' is encrypted", st->name);
        return -1;
    }
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE) {
        strbuf_addf(why,
                    "'%s' uses compression method %d: only stored and deflated members "
                    "are supported",
                    st->name, st->comp_method);
        return -1;
    }
    if (st->comp_method == ZIP_CM_DEFLATE)
        part->offset |= ZIP_DEFLATED;
    part->sum = st->crc;
    return 0;
}

/* libzip's information on members, indexed by the names that libarchive returns: raw
 * bytes, with slashes for backslashes. */
struct zip_directory {
    zip_t *zip;
    struct strmap index; /* name -> first index + 1 not yet found */
    zip_uint64_t *next;  /* per index: next index + 1 of the same name; 0: none */
};

static void use_slashes(char *name)
{
    for (; *name; name++)
        if (*name == '\\')
            *name = '/';
}

static void zip_directory_add(struct zip_directory *d, const char *name, zip_uint64_t i)
{
    char *key = xstrdup(name);

    use_slashes(key);
    d->next[i] = (zip_uint64_t)(uintptr_t)strmap_get(&d->index, key);
    strmap_put(&d->index, key, (void *)(uintptr_t)(i + 1));
    free(key);
}

/* Returns libzip's next index of a member, or -1 if there is none of that name. */
static zip_int64_t zip_directory_find(struct zip_directory *d, const char *name)
{
    uintptr_t pos = (uintptr_t)strmap_get(&d->index, name);

    if (!pos)
        return -1;
    strmap_put(&d->index, name, (void *)(uintptr_t)d->next[pos - 1]);
    return (zip_int64_t)pos - 1;
}

/* Returns position and compression of libarchive's current entry in *part. Replaces a
 * name that is not UTF-8. Returns -1 and a reason on failure. */
static int zip_place(struct archive *a, struct archive_entry *e, struct zip_directory *d,
                     char **name, struct sample_part *part, struct strbuf *why)
{
    struct zip_stat st;
    zip_int64_t i = zip_directory_find(d, *name);

    *part = (struct sample_part){.offset = (uint64_t)archive_filter_bytes(a, 0),
                                 .len = (uint64_t)archive_entry_size(e)};
    if (i < 0 || zip_stat_index(d->zip, (zip_uint64_t)i, 0, &st) < 0) {
        strbuf_addf(why, "'%s' is not in the archive's central directory", *name);
        return -1;
    }
    if (!utf8_valid(*name) && st.name) { /* code page 437, from Windows tools */
        free(*name);
        *name = xstrdup(st.name);
        use_slashes(*name);
    }
    return zip_describe(&st, part, why);
}

/* Of members with the same name, the first is found first. */
static void zip_directory_read(struct zip_directory *d)
{
    zip_int64_t n = zip_get_num_entries(d->zip, 0);

    d->next = xcalloc((size_t)(n > 0 ? n : 0) + 1, sizeof(*d->next));
    for (zip_int64_t i = n - 1; i >= 0; i--) {
        const char *name = zip_get_name(d->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);

        if (name)
            zip_directory_add(d, name, (zip_uint64_t)i);
    }
}

/* Returns -1 and a reason on failure; zip_directory_close() is then not needed. */
static int zip_directory_open(struct zip_directory *d, const char *path,
                              struct strbuf *why)
{
    int code = 0;
    zip_error_t e;

    d->zip = zip_open(path, ZIP_RDONLY, &code);
    if (d->zip) {
        zip_directory_read(d);
        return 0;
    }
    zip_error_init_with_code(&e, code);
    strbuf_addf(why, "%s", zip_error_strerror(&e));
    zip_error_fini(&e);
    return -1;
}

static void zip_directory_close(struct zip_directory *d)
{
    zip_discard(d->zip);
    strmap_release(&d->index);
    free(d->next);
}

/* Called for each member that is a file. */
typedef int zip_adder(void *arg, const char *name, const struct sample_part *part,
                      struct strbuf *why);

/* Calls add() for libarchive's current entry. Returns -1 and a reason on failure. */
static int zip_entry(struct archive *a, struct archive_entry *e, struct zip_directory *d,
                     struct samples *left, zip_adder *add, void *arg, struct strbuf *why)
{
    const char *found = members_name(left, e);
    char *name = found ? xstrdup(found) : NULL;
    struct sample_part part;
    int rc = 0;

    if (!name)
        return 0;
    use_slashes(name);
    if (name[strlen(name) - 1] != '/') /* a folder from Windows tools */
        rc = zip_place(a, e, d, &name, &part, why) < 0 ? -1 : add(arg, name, &part, why);
    free(name);
    return rc;
}

/* Implements zip_for_each_member() for non-empty archives; libarchive rejects empty ones. */
static int zip_walk(struct zip_directory *d, const struct raw_file *f,
                    struct samples *left, zip_adder *add, void *arg, struct strbuf *why)
{
    struct archive *a = archive_read_new();
    struct archive_entry *e;
    int rc, bad = 0;

    archive_read_support_format_zip_seekable(a);
    rc = archive_read_open_filename(a, f->path, ZIP_BLOCK);
    while (rc == ARCHIVE_OK && !bad) {
        rc = archive_read_next_header(a, &e);
        if (rc == ARCHIVE_WARN) /* a name that is not UTF-8 */
            rc = ARCHIVE_OK;
        if (rc == ARCHIVE_OK)
            bad = zip_entry(a, e, d, left, add, arg, why);
    }
    if (!bad && rc != ARCHIVE_EOF) {
        strbuf_addf(why, "%s", archive_error_string(a));
        bad = -1;
    }
    archive_read_free(a);
    return bad;
}

/* Calls add() for each member. Other entries are counted in `left` (unless NULL). Returns
 * -1 and a reason on failure. */
static int zip_for_each_member(const struct raw_file *f, struct samples *left,
                               zip_adder *add, void *arg, struct strbuf *why)
{
    locale_t before = utf8_names_begin();
    struct zip_directory d = {0};
    int rc = zip_directory_open(&d, f->path, why);

    if (rc == 0) {
        rc = zip_get_num_entries(d.zip, 0) ? zip_walk(&d, f, left, add, arg, why) : 0;
        zip_directory_close(&d);
    }
    utf8_names_end(before);
    return rc;
}

static int zip_add_member(void *arg, const char *name, const struct sample_part *part,
                          struct strbuf *why)
{
    return members_add(arg, name, part, why);
}

/* Positions of members by name. */
struct zip_names {
    struct strmap index; /* name -> index + 1 in `part` */
    struct sample_part *part;
    size_t n, cap;
};

static int zip_add_name(void *arg, const char *name, const struct sample_part *part,
                        struct strbuf *why)
{
    struct zip_names *z = arg;

    (void)why;
    GROW(z->part, z->n, z->cap);
    z->part[z->n++] = *part;
    strmap_put(&z->index, strncmp(name, "./", 2) == 0 ? name + 2 : name,
               (void *)(uintptr_t)z->n);
    return 0;
}

/* Adds the sample of a line of the map, "n01440764/n01440764_18.JPEG<tab>0". */
static int zip_add_line(struct samples *s, const struct zip_names *z,
                        const struct list_file *l, const struct line *line,
                        struct strbuf *why)
{
    char *tab = strchr(line->text, '\t');
    const char *end = tab ? tab + 1 : "";
    struct sample *dst;
    size_t i;
    uint64_t label;

    if (tab)
        *tab = '\0';
    if (!checked_number(&end, INT32_MAX, &label) || (*end && *end != '\t')) {
        if (tab)
            *tab = '\t';
        strbuf_addf(why, "%s:%d: expected 'PATH<tab>CLASS', not '%s'", l->path,
                    line->number, line->text);
        return -1;
    }
    use_slashes(line->text);
    i = (size_t)(uintptr_t)strmap_get(&z->index, line->text);
    if (i == 0) {
        strbuf_addf(why, "%s:%d: '%s' is not in the archive", l->path, line->number,
                    line->text);
        return -1;
    }
    dst = samples_add(s, line->text);
    dst->image = z->part[i - 1];
    dst->label = (int32_t)label;
    return 0;
}

static int zip_list_map(struct raw_file *f, struct samples *s, const struct list_file *l,
                        struct strbuf *why)
{
    struct zip_names z = {0};
    int rc = zip_for_each_member(f, NULL, zip_add_name, &z, why);

    for (int i = 0; rc == 0 && i < l->n; i++)
        rc = zip_add_line(s, &z, l, &l->line[i], why);
    strmap_release(&z.index);
    free(z.part);
    return rc;
}

static int zip_list(void *file, struct samples *s, struct strbuf *why)
{
    struct raw_file *f = file;
    char *map = samples_companion(s->type, f->path, 0);
    struct list_file l = {0};
    int rc;

    if (!s->label_maps && list_file_read(&l, "", map)) {
        rc = zip_list_map(f, s, &l, why);
    } else {
        struct members m = members_begin(s, f, zip_part);
        int end;

        rc = zip_for_each_member(f, s, zip_add_member, &m, why);
        end = members_end(&m, why);
        rc = rc ? rc : end;
    }
    list_file_release(&l);
    free(map);
    return rc;
}

static int zip_read(void *file, const struct sample *sample, bool label_map,
                    int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    return zip_part(file, label_map ? &sample->label_map : &sample->image, limit, out,
                    why);
}

const struct container container_zip = {
    .name = "zip",
    .ending = ".zip",
    .companion = {"_map.txt"},
    .open = raw_file_open,
    .list = zip_list,
    .read = zip_read,
    .close = raw_file_close,
};

static const char *const zip_reads[] = {"DATA.CACHE_MODE",
                                        "DATA.LABELS",
                                        "DATA.LABEL_MAP",
                                        "DATA.REDUCE_ZERO_LABEL",
                                        "DATA.CLASS_COLORS",
                                        "DATA.IGNORED_COLORS",
                                        "DATA.CLASS_SET",
                                        "DATA.CLASS_NAMES",
                                        "DATA.SHUFFLE_SHARDS",
                                        "DATA.FIRST_CLASS",
                                        NULL};

CONTAINER_STORAGE_READS(
    zip,
    "Swin's zip files, SPLIT.zip with SPLIT_map.txt, 'PATH<tab>CLASS' "
    "on each line; without it members named as in a tar",
    zip_reads);
