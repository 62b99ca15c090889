#include "dataset/sample_index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/log.h"

enum { YOUNG = 2 }; /* seconds */

struct index_head {
    char magic[8];
    uint64_t sum; /* checksum of all that follows */
    int64_t n;
    uint64_t names; /* size in bytes of all NUL-terminated strings, which follow the rows:
                     * name and text of each sample, then the first name of each left[] */
    int64_t left[LEFT_REASONS];
};

struct index_row {
    struct sample_part image, label_map;
    int32_t label, file;
};

static const char index_magic[8] = "trncidx3";

static void add_stamp(const char *path, const struct stat *st, struct strbuf *text)
{
    strbuf_addf(text, "%s %lld %lld.%09ld\n", path_basename(path), (long long)st->st_size,
                (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

/* Appends stamps of a file's companions that exist. Returns false if one was modified
 * just now. */
static bool add_companions(const struct samples *s, const char *file, time_t now,
                           struct strbuf *text)
{
    bool good = true;
    char *path;

    for (int k = 0; good && (path = samples_companion(s->type, file, k)) != NULL; k++) {
        struct stat st;

        if (stat(path, &st) == 0) {
            add_stamp(path, &st, text);
            good = now - st.st_mtim.tv_sec >= YOUNG;
        }
        free(path);
    }
    return good;
}

struct keep_paths sample_index_paths(const struct samples *s, const struct keep *k)
{
    struct strbuf text = STRBUF_INIT;
    time_t now = time(NULL);
    struct keep_paths paths = {0};
    bool good = true;

    strbuf_addf(&text, "%s %d\n", s->type->name, s->label_maps);
    for (int i = 0; good && i < s->nfile; i++) {
        struct stat st;
        char *inner = path_join(s->path[i], "data.mdb"); /* an LMDB that is a folder */

        good = (stat(inner, &st) == 0 || stat(s->path[i], &st) == 0) &&
               now - st.st_mtim.tv_sec >= YOUNG;
        free(inner);
        if (good)
            add_stamp(s->path[i], &st, &text);
        good = good && add_companions(s, s->path[i], now, &text);
    }
    if (good)
        paths = keep_paths(k, "index", XXH3_64bits(text.buf, text.len), "");
    strbuf_release(&text);
    return paths;
}

static const char *next(const char *text)
{
    return text + strlen(text) + 1;
}

/* True if all labels are valid, and those that are texts have a text. `text`: the first
 * sample's name. */
static bool labels_sound(const struct index_row *row, int64_t n, const char *text)
{
    for (int64_t i = 0; i < n; i++, text = next(text)) {
        bool is_text = row[i].label == SAMPLE_TEXT || row[i].label == SAMPLE_REMARK;

        text = next(text);
        if (row[i].label < SAMPLE_REMARK || (is_text && !*text))
            return false;
    }
    return true;
}

/* True if the index is consistent and is for these containers. Positions of samples are
 * checked by read(). */
static bool index_sound(const struct samples *s, const char *text, size_t len)
{
    const struct index_head *h = (const struct index_head *)text;
    const struct index_row *row = (const struct index_row *)(text + sizeof(*h));
    size_t rest, zeros = 0;

    if (len < sizeof(*h) || memcmp(h->magic, index_magic, sizeof(h->magic)) != 0)
        return false;
    rest = len - sizeof(*h);
    if (h->n < 1 || !checked_items((uint64_t)h->n, sizeof(*row), rest) ||
        rest - (size_t)h->n * sizeof(*row) != h->names ||
        h->sum != XXH3_64bits(&h->n, len - offsetof(struct index_head, n)))
        return false;
    for (size_t i = len - h->names; i < len; i++)
        zeros += text[i] == '\0';
    for (int64_t i = 0; i < h->n; i++)
        if (row[i].file < 0 || row[i].file >= s->nfile)
            return false;
    for (int r = 0; r < LEFT_REASONS; r++)
        if (h->left[r] < 0)
            return false;
    return zeros == 2 * (size_t)h->n + LEFT_REASONS && text[len - 1] == '\0' &&
           labels_sound(row, h->n, text + len - h->names);
}

bool sample_index_load(struct samples *s, const char *path)
{
    size_t len;
    char *text = path ? file_read(path, &len) : NULL;
    const struct index_head *h = (const struct index_head *)text;
    const struct index_row *row;
    const char *name;

    if (!text)
        return false;
    if (!index_sound(s, text, len)) {
        log_warning("'%s' is damaged: rebuilding the index", path);
        free(text);
        return false;
    }
    row = (const struct index_row *)(text + sizeof(*h));
    name = arena_copy(&s->mem, (const char *)&row[h->n], h->names);
    s->cap = (size_t)h->n;
    s->sample = xcalloc(s->cap, sizeof(*s->sample));
    for (int64_t i = 0; i < h->n; i++, name = next(name)) {
        const char *sample_name = name;

        name = next(name);
        s->sample[i] =
            (struct sample){row[i].image, row[i].label_map, row[i].label,
                            row[i].file,  sample_name,      *name ? name : NULL};
    }
    for (int r = 0; r < LEFT_REASONS; r++, name = next(name)) {
        s->left.n[r] = h->left[r];
        s->left.first[r] = name;
    }
    s->base.n = h->n;
    free(text);
    return true;
}

/* Stores NULL as an empty string. */
static void add_text(struct strbuf *out, const char *text)
{
    strbuf_add(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

void sample_index_save(const struct samples *s, const struct keep_paths *paths)
{
    struct index_head h = {.n = s->base.n};
    struct strbuf text = STRBUF_INIT;

    size_t names;

    memcpy(h.magic, index_magic, sizeof(h.magic));
    memcpy(h.left, s->left.n, sizeof(h.left));
    strbuf_add(&text, &h, sizeof(h));
    for (int64_t i = 0; i < s->base.n; i++) {
        const struct sample *sample = &s->sample[i];
        struct index_row row = {sample->image, sample->label_map, sample->label,
                                sample->file};

        strbuf_add(&text, &row, sizeof(row));
    }
    names = text.len;
    for (int64_t i = 0; i < s->base.n; i++) {
        add_text(&text, s->sample[i].name);
        add_text(&text, s->sample[i].text);
    }
    for (int r = 0; r < LEFT_REASONS; r++)
        add_text(&text, s->left.first[r]);
    h.names = text.len - names;
    memcpy(text.buf, &h, sizeof(h));
    h.sum = XXH3_64bits(text.buf + offsetof(struct index_head, n),
                        text.len - offsetof(struct index_head, n));
    memcpy(text.buf, &h, sizeof(h));
    keep_write(paths, text.buf, text.len);
    strbuf_release(&text);
}
