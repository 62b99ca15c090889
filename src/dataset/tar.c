/*
 * DATA.DATASET tar: samples as WebDataset names them (members.h).
 *
 * libarchive reads the headers, once; images are then read from where they lie, so the
 * archive must not be compressed (images are).
 */
#include <archive.h>
#include <archive_entry.h>

#include "base/failure.h"
#include "base/log.h"
#include "base/utf8_names.h"
#include "dataset/members.h"
#include "dataset/raw_file.h"
#include "image/image.h"

static int tar_part(void *file, const struct sample_part *part, int64_t limit,
                    struct dataset_bytes *out, struct strbuf *why)
{
    return raw_file_read(file, part->at, part->len, limit, out, why);
}

/* The member that `e` is the header of; where it is cut off, *cut, and its sample is
 * damaged. -1 and a reason. */
static int tar_member(struct archive *a, struct archive_entry *e, struct raw_file *f,
                      struct members *m, bool *cut, struct strbuf *why)
{
    struct sample_part part = {.at = (uint64_t)archive_filter_bytes(a, 0),
                               .len = (uint64_t)archive_entry_size(e)};
    const char *name = members_name(e);
    int rc = 0;

    *cut = part.at > f->size || part.len > f->size - part.at;
    if (name && *cut && !image_has_extension(name)) {
        members_lose(m, name);
        return 0;
    }
    if (name)
        rc = members_add(m, name, &part, why);
    if (*cut && rc == 0)
        members_lose(m, NULL);
    return rc;
}

/* A header is damaged, or the end is cut off: libarchive goes on with the next header if
 * there is one. */
static void tar_lose(struct archive *a, struct raw_file *f, struct members *m)
{
    long long at = (long long)archive_read_header_position(a); /* < 0: at the end */
    char name[48] = "its end";

    if (at >= 0)
        (void)snprintf(name, sizeof(name), "byte %lld", at);
    log_warning("'%s': %s: %s", f->path, name, archive_error_string(a));
    members_lose(m, name);
}

/* Does the file end in zeros, as an archive does that is whole? A failure and a
 * reason. */
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

/* All members. ARCHIVE_WARN is of names that are no UTF-8. */
static int tar_members(struct archive *a, struct raw_file *f, struct samples *s,
                       struct strbuf *why)
{
    struct members m = {.samples = s, .file = f, .read = tar_part, .label = -1};
    struct archive_entry *e;
    bool some = false, lost = false, cut = false, whole;
    int rc, bad = 0;

    do {
        rc = archive_read_next_header(a, &e);
        if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN) {
            bad = tar_member(a, e, f, &m, &cut, why);
            some = true;
            lost = false;
        } else if (rc != ARCHIVE_EOF && (!some || failure_passes(archive_errno(a)))) {
            strbuf_addf(why, "%s", archive_error_string(a));
            bad = -1;
        } else if (rc != ARCHIVE_EOF && !lost) {
            tar_lose(a, f, &m);
            lost = true;
        }
    } while (!bad && !cut && rc != ARCHIVE_EOF && rc != ARCHIVE_FATAL);
    if (!bad && rc == ARCHIVE_EOF)
        bad = tar_is_whole(f, &whole, why);
    if (!bad && rc == ARCHIVE_EOF && !whole)
        members_lose(&m, NULL);
    members_end(&m);
    return bad;
}

static int tar_list(void *file, struct samples *s, struct strbuf *why)
{
    struct raw_file *f = file;
    locale_t before = utf8_names_begin();
    struct archive *a = archive_read_new();
    int rc = -1;

    archive_read_support_format_tar(a);
    if (archive_read_open_filename(a, f->path, 1 << 16) != ARCHIVE_OK)
        strbuf_addf(why, "%s", archive_error_string(a));
    else
        rc = tar_members(a, f, s, why);
    archive_read_free(a);
    utf8_names_end(before);
    if (rc < 0)
        (void)raw_file_gzipped(f, why);
    return rc;
}

static int tar_read(void *file, const struct sample *at, bool label_map, int64_t limit,
                    struct dataset_bytes *out, struct strbuf *why)
{
    const struct sample_part *part = label_map ? &at->label_map : &at->image;
    int rc = tar_part(file, part, limit, out, why);

    if (rc == 0 && at->label == SAMPLE_DAMAGED) {
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
