/*
 * DATA.DATASET tar: members as samples (members.h). Hard and symbolic links to members of
 * the same file count as the files that they point to.
 *
 * libarchive reads the headers once. Images are then read directly at their offsets, so
 * the archive must not be compressed (images are).
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/utf8_names.h"
#include "dataset/members.h"
#include "dataset/raw_file.h"
#include "image/image.h"

static int tar_part(void *file, const struct sample_part *part, int64_t limit,
                    struct dataset_bytes *out, struct strbuf *why)
{
    return raw_file_read(file, part->offset, part->len, limit, out, why);
}

/* Positions of the files that the archive's links may point to. */
struct tar_links {
    bool met;            /* the archive has links */
    bool listing;        /* collects names instead of samples */
    struct strmap index; /* name -> index + 1 */
    struct sample_part *part;
    size_t n, cap;
};

struct tar {
    struct archive *a;
    struct raw_file *f;
    struct members m;
    struct tar_links *links;
};

/* Returns a path from the archive's root, "/a/b", without "." and "..", or NULL if it is
 * outside the archive. */
static char *tar_path(const char *dir, size_t ndir, const char *path)
{
    char *src = xasprintf("%.*s/%s", (int)ndir, dir, path);
    struct strbuf dst = STRBUF_INIT;
    bool inside = true;

    for (const char *cursor = src; inside && *cursor; cursor += strcspn(cursor, "/")) {
        size_t n = strcspn(cursor += strspn(cursor, "/"), "/");

        if (n == 2 && strncmp(cursor, "..", n) == 0) {
            char *slash = dst.len ? strrchr(dst.buf, '/') : NULL;

            inside = slash != NULL;
            dst.len = slash ? (size_t)(slash - dst.buf) : 0;
            if (slash)
                *slash = 0;
        } else if (n && !(n == 1 && *cursor == '.')) {
            strbuf_addch(&dst, '/');
            strbuf_add(&dst, cursor, n);
        }
    }
    free(src);
    if (inside && dst.len)
        return strbuf_detach(&dst);
    strbuf_release(&dst);
    return NULL;
}

/* Returns the member that a link points to, or NULL if it is not in the archive. */
static const struct sample_part *tar_target(const struct tar_links *l,
                                            struct archive_entry *e)
{
    const char *hard = archive_entry_hardlink(e), *soft = archive_entry_symlink(e);
    const char *name = archive_entry_pathname(e);
    size_t ndir = name ? (size_t)(path_basename(name) - name) : 0;
    char *path = hard                             ? tar_path("", 0, hard)
                 : !soft || !name || *soft == '/' ? NULL
                                                  : tar_path(name, ndir, soft);
    uintptr_t pos = path ? (uintptr_t)strmap_get(&l->index, path) : 0;

    free(path);
    return pos ? &l->part[pos - 1] : NULL;
}

/* Records a member as a target of links. */
static void tar_note(struct tar_links *l, const char *name,
                     const struct sample_part *part)
{
    char *path = tar_path("", 0, name);

    if (!path)
        return;
    GROW(l->part, l->n, l->cap);
    l->part[l->n++] = *part;
    strmap_put(&l->index, path, (void *)(uintptr_t)l->n);
    free(path);
}

/* Returns the entry's name if it is a file or a link to one, and sets *part to its
 * position; otherwise returns NULL. */
static const char *tar_name(struct tar *t, struct archive_entry *e,
                            struct sample_part *part)
{
    bool hard = archive_entry_hardlink(e) != NULL;
    const struct sample_part *dst;

    *part = (struct sample_part){.offset = (uint64_t)archive_filter_bytes(t->a, 0),
                                 .len = (uint64_t)archive_entry_size(e)};
    if (!hard && archive_entry_filetype(e) != AE_IFLNK)
        return members_name(t->links->listing ? NULL : t->m.samples, e);
    t->links->met = true;
    dst = tar_target(t->links, e);
    if (dst) {
        *part = *dst;
        archive_entry_set_hardlink(e, NULL);
        archive_entry_set_filetype(e, AE_IFREG);
    }
    return members_name(t->links->listing ? NULL : t->m.samples, e);
}

/* Adds the member with the header `e`. If it is truncated, sets *cut and marks its sample
 * as damaged. Returns a failure of the machine and a reason. */
static int tar_member(struct tar *t, struct archive_entry *e, bool *cut,
                      struct strbuf *why)
{
    struct sample_part part;
    const char *name = tar_name(t, e, &part);
    int rc = 0;

    *cut = !checked_within(part.offset, part.len, t->f->size);
    if (t->links->listing) {
        if (name && !*cut)
            tar_note(t->links, name, &part);
        return 0;
    }
    if (name && *cut && !image_has_extension(name))
        return members_drop(&t->m, name, why);
    if (name)
        rc = members_add(&t->m, name, &part, why);
    if (*cut && rc == 0)
        rc = members_drop(&t->m, NULL, why);
    return rc;
}

/* Handles a damaged header or a truncated end. libarchive continues with the next header
 * if there is one. */
static int tar_drop(struct tar *t, struct strbuf *why)
{
    long long pos = (long long)archive_read_header_position(t->a); /* < 0: at the end */
    char name[48] = "its end";

    if (t->links->listing)
        return 0;
    if (pos >= 0)
        (void)snprintf(name, sizeof(name), "byte %lld", pos);
    if (!t->links->n) /* otherwise already reported */
        log_warning("'%s': %s: %s", t->f->path, name, archive_error_string(t->a));
    return members_drop(&t->m, name, why);
}

/* Sets *whole if the file ends in zeros, as a complete archive does. Returns a failure
 * and a reason. */
static int tar_is_whole(const struct raw_file *f, bool *whole, struct strbuf *why)
{
    uint8_t end[512];
    size_t n = sizeof(end) < f->size ? sizeof(end) : (size_t)f->size;
    int rc = raw_file_get(f, f->size - n, end, n, why);

    *whole = true;
    for (size_t i = 0; rc == 0 && i < n; i++)
        *whole = *whole && end[i] == 0;
    return rc;
}

/* Adds all members. ARCHIVE_WARN means a name that is not UTF-8. */
static int tar_members(struct tar *t, struct strbuf *why)
{
    struct archive_entry *e;
    bool any = false, lost = false, cut = false, whole;
    int rc, bad = 0;

    do {
        rc = archive_read_next_header(t->a, &e);
        if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN) {
            bad = tar_member(t, e, &cut, why);
            any = true;
            lost = false;
        } else if (rc != ARCHIVE_EOF && (!any || failure_passes(archive_errno(t->a)))) {
            strbuf_addf(why, "%s", archive_error_string(t->a));
            bad = -1;
        } else if (rc != ARCHIVE_EOF && !lost) {
            bad = tar_drop(t, why);
            lost = true;
        }
    } while (!bad && !cut && rc != ARCHIVE_EOF && rc != ARCHIVE_FATAL);
    if (!bad && rc == ARCHIVE_EOF)
        bad = tar_is_whole(t->f, &whole, why);
    if (!bad && rc == ARCHIVE_EOF && !whole)
        bad = members_drop(&t->m, NULL, why);
    return bad;
}

static int tar_walk(struct raw_file *f, struct samples *s, struct tar_links *links,
                    struct strbuf *why)
{
    struct tar t = {.a = archive_read_new(),
                    .f = f,
                    .m = members_begin(s, f, tar_part),
                    .links = links};
    int rc = -1, end;

    archive_read_support_format_tar(t.a);
    if (archive_read_open_filename(t.a, f->path, 1 << 16) != ARCHIVE_OK)
        strbuf_addf(why, "%s", archive_error_string(t.a));
    else
        rc = tar_members(&t, why);
    end = members_end(&t.m, why);
    archive_read_free(t.a);
    return rc ? rc : end;
}

/* Reads the headers once. If there are links, reads them twice more, since a link may
 * precede its target. */
static int tar_list(void *file, struct samples *s, struct strbuf *why)
{
    struct raw_file *f = file;
    locale_t before = utf8_names_begin();
    struct tar_links links = {0};
    struct left_out left = s->left;
    int64_t first = s->base.n;
    int rc = tar_walk(f, s, &links, why);

    if (rc == 0 && links.met) {
        s->base.n = first;
        s->left = left;
        links.listing = true;
        rc = tar_walk(f, s, &links, why);
        links.listing = false;
        if (rc == 0)
            rc = tar_walk(f, s, &links, why);
    }
    strmap_release(&links.index);
    free(links.part);
    utf8_names_end(before);
    if (rc < 0)
        (void)raw_file_gzipped(f, why);
    return rc;
}

static int tar_read(void *file, const struct sample *sample, bool label_map,
                    int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    const struct sample_part *part = label_map ? &sample->label_map : &sample->image;
    int rc = tar_part(file, part, limit, out, why);

    if (rc == 0 && sample->label == SAMPLE_DAMAGED) {
        strbuf_addstr(why,
                      "a header of the archive is damaged, or what follows is cut off");
        rc = FAILURE_DATA;
    }
    return rc;
}

const struct container container_tar = {
    .name = "tar",
    .ending = ".tar",
    .open = raw_file_open,
    .list = tar_list,
    .read = tar_read,
    .close = raw_file_close,
};

CONTAINER_STORAGE(tar, "tar files of WebDataset, SPLIT.tar or SPLIT-*.tar: KEY.jpg with "
                       "KEY.cls, a class, or KEY.seg.png, a label map; or folders of "
                       "classes");
