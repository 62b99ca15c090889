#include "dataset/folder_index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/log.h"
#include "image/image.h"

enum { YOUNG = 2 }; /* seconds */

/* Followed by times, labels, and NUL-terminated strings: the folders, the first file that
 * is not an image, and the images. */
struct index_head {
    char magic[8];
    uint64_t sum; /* checksum of all that follows */
    int64_t classes, dirs, files, other;
    uint64_t text; /* size of the strings in bytes */
};

struct index_time {
    int64_t sec, nsec;
};

static const char index_magic[8] = "trnfold1";

/* Pointers to the parts of an index in memory. */
struct index_view {
    const struct index_head *head;
    const struct index_time *time;
    const int32_t *label;
    const char *text;
};

struct keep_paths folder_index_paths(const struct dataset_source *s)
{
    struct strbuf text = STRBUF_INIT;
    uint64_t key;

    strbuf_addf(&text, "folder 2 %s ", s->split); /* 2: skips entries of operating
                                                   * systems */
    image_add_extensions(&text);
    key = XXH3_64bits(text.buf, text.len);
    strbuf_release(&text);
    return keep_paths(&(struct keep){.data = s->path, .dir = s->keep}, "index", key, "");
}

/* True if the size and the number of strings match the head, and all labels are in
 * range. */
static bool index_sound(struct index_view *v, const char *data, size_t len)
{
    const struct index_head *h = (const struct index_head *)data;
    uint64_t rest = len - sizeof(*h), times, labels, parts, zeros = 0;

    if (len < sizeof(*h) || memcmp(h->magic, index_magic, sizeof(h->magic)) != 0 ||
        h->sum != XXH3_64bits(&h->classes, len - offsetof(struct index_head, classes)))
        return false;
    if (!checked_mul((uint64_t)h->dirs, sizeof(*v->time), &times) ||
        !checked_mul((uint64_t)h->files, sizeof(*v->label), &labels) ||
        !checked_add(times, labels, &parts) || !checked_add(parts, h->text, &parts) ||
        parts != rest || h->other < 0 || h->files < 1)
        return false;
    v->head = h;
    v->time = (const struct index_time *)(data + sizeof(*h));
    v->label = (const int32_t *)&v->time[h->dirs];
    v->text = (const char *)&v->label[h->files];
    for (uint64_t i = 0; i < h->text; i++)
        zeros += v->text[i] == '\0';
    for (int64_t i = 0; i < h->files; i++)
        if (v->label[i] < 0 || v->label[i] >= h->classes)
            return false;
    return h->text > 0 && v->text[h->text - 1] == '\0' &&
           zeros == (uint64_t)(h->dirs + 1 + h->files);
}

static const char *next(const char *text)
{
    return text + strlen(text) + 1;
}

/* Returns the string after the folders if the number of classes is the same and no folder
 * has been modified since the index was written, else NULL. */
static const char *index_is_of(const struct index_view *v, const struct folder *f)
{
    const char *text = v->text;
    bool same = v->head->classes == f->files->base.nclass;

    for (int64_t i = 0; same && i < v->head->dirs; i++, text = next(text)) {
        struct stat st;

        same = fstatat(f->files->fd, text, &st, 0) == 0 &&
               st.st_mtim.tv_sec == v->time[i].sec &&
               st.st_mtim.tv_nsec == v->time[i].nsec;
    }
    return same ? text : NULL;
}

bool folder_index_load(struct folder *f, const char *path)
{
    struct index_view v;
    const char *text;
    size_t len;
    char *data = path ? file_read(path, &len) : NULL;

    if (!data)
        return false;
    if (!index_sound(&v, data, len)) {
        log_warning("'%s' is damaged: rebuilding the index", path);
        free(data);
        return false;
    }
    text = index_is_of(&v, f);
    if (!text) {
        free(data);
        return false;
    }
    f->files->text = data;
    f->other = v.head->other;
    f->other_first = text;
    for (int64_t i = 0; i < v.head->files; i++)
        class_files_add(f->files, text = next(text), v.label[i]);
    folder_warn_other(f);
    return true;
}

static bool is_young(const struct folder *f)
{
    time_t now = time(NULL);

    for (int64_t i = 0; i < f->ndir; i++)
        if (now - f->dir[i].changed.tv_sec < YOUNG)
            return true;
    return false;
}

static void add_text(struct strbuf *out, const char *text)
{
    strbuf_add(out, text, strlen(text) + 1);
}

void folder_index_save(const struct folder *f, const struct keep_paths *paths)
{
    const struct dataset *d = &f->files->base;
    struct index_head h = {
        .classes = d->nclass, .dirs = f->ndir, .files = d->n, .other = f->other};
    struct strbuf all = STRBUF_INIT;
    size_t text;

    if (is_young(f))
        return;
    memcpy(h.magic, index_magic, sizeof(h.magic));
    strbuf_add(&all, &h, sizeof(h));
    for (int64_t i = 0; i < f->ndir; i++) {
        const struct timespec *t = &f->dir[i].changed;

        strbuf_add(&all, &(struct index_time){t->tv_sec, t->tv_nsec},
                   sizeof(struct index_time));
    }
    for (int64_t i = 0; i < d->n; i++)
        strbuf_add(&all, &f->files->file[i].label, sizeof(f->files->file[i].label));
    text = all.len;
    for (int64_t i = 0; i < f->ndir; i++)
        add_text(&all, f->dir[i].path);
    add_text(&all, f->other_first ? f->other_first : "");
    for (int64_t i = 0; i < d->n; i++)
        add_text(&all, f->files->file[i].path);
    h.text = all.len - text;
    memcpy(all.buf, &h, sizeof(h));
    h.sum = XXH3_64bits(all.buf + offsetof(struct index_head, classes),
                        all.len - offsetof(struct index_head, classes));
    memcpy(all.buf, &h, sizeof(h));
    keep_write(paths, all.buf, all.len);
    strbuf_release(&all);
}
