/*
 * DATA.DATASET tar: samples as WebDataset names them (members.h).
 *
 * libarchive reads the headers, once; images are then read from where they lie, so the
 * archive must not be compressed (images are).
 */
#include <archive.h>
#include <archive_entry.h>

#include "dataset/members.h"
#include "dataset/raw_file.h"

static int tar_part(void *file, const struct sample_part *part, int64_t limit,
                    struct dataset_bytes *out, struct strbuf *why)
{
    return raw_file_read(file, part->at, part->len, limit, out, why);
}

/* All members; where one is cut off it is a sample that cannot be read. */
static int tar_members(struct archive *a, struct raw_file *f, struct samples *s,
                       struct strbuf *why)
{
    struct members m = {.samples = s, .file = f, .read = tar_part, .label = -1};
    struct archive_entry *e;
    int rc = ARCHIVE_OK, bad = 0;

    while (!bad && (rc = archive_read_next_header(a, &e)) == ARCHIVE_OK) {
        struct sample_part part = {.at = (uint64_t)archive_filter_bytes(a, 0),
                                   .len = (uint64_t)archive_entry_size(e)};
        const char *name = members_name(e);

        if (!name)
            continue;
        bad = members_add(&m, name, &part, why);
        if (!bad && part.at + part.len > f->size)
            break;
    }
    members_end(&m);
    if (!bad && rc != ARCHIVE_OK && rc != ARCHIVE_EOF) {
        strbuf_addf(why, "%s", archive_error_string(a));
        bad = -1;
    }
    return bad;
}

static int tar_list(void *file, struct samples *s, struct strbuf *why)
{
    struct raw_file *f = file;
    struct archive *a = archive_read_new();
    int rc = -1;

    archive_read_support_format_tar(a);
    if (archive_read_open_filename(a, f->path, 1 << 16) != ARCHIVE_OK)
        strbuf_addf(why, "%s", archive_error_string(a));
    else
        rc = tar_members(a, f, s, why);
    archive_read_free(a);
    if (rc < 0)
        (void)raw_file_gzipped(f, why);
    return rc;
}

static int tar_read(void *file, const struct sample *at, bool label_map, int64_t limit,
                    struct dataset_bytes *out, struct strbuf *why)
{
    return tar_part(file, label_map ? &at->label_map : &at->image, limit, out, why);
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
