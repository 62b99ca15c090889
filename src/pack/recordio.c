/* See dataset/recordio.h. */
#include "dataset/recordio.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "pack/file.h"
#include "pack/format.h"

struct recordio {
    struct pack_file images, index, labels;
    char *dir, *stem;
    bool label_maps; /* `labels` is open */
};

static void *recordio_create(const char *dir, const char *stem, int64_t first)
{
    struct recordio *f = xcalloc(1, sizeof(*f));

    (void)first;
    f->dir = xstrdup(dir);
    f->stem = xstrdup(stem);
    pack_file_open(&f->images, dir, stem, ".rec");
    pack_file_open(&f->index, dir, stem, ".idx");
    return f;
}

static void part(struct pack_file *out, enum record_kind kind, const void *data,
                 size_t len)
{
    uint32_t head[2] = {RECORD_MAGIC,
                        (uint32_t)kind << RECORD_LENGTH_BITS | (uint32_t)len};

    if (len >> RECORD_LENGTH_BITS)
        die("cannot write '%s': a record of %zu bytes, more than the format has room for",
            out->path, len);
    pack_file_add(out, head, sizeof(head));
    pack_file_add(out, data, len);
    pack_file_pad(out, 4);
}

/* A record is split where the magic number is at a multiple of 4 bytes; the number is
 * omitted, and the reader restores it between the parts. */
static void record(struct pack_file *out, const struct record_head *h, const void *data,
                   size_t len)
{
    size_t n = sizeof(*h) + len, start = 0;
    uint8_t *all = xmalloc(n);

    memcpy(all, h, sizeof(*h));
    memcpy(all + sizeof(*h), data, len);
    for (size_t pos = 0; pos + 4 <= n; pos += 4) {
        uint32_t word;

        memcpy(&word, all + pos, sizeof(word));
        if (word != RECORD_MAGIC)
            continue;
        part(out, start ? RECORD_MIDDLE : RECORD_FIRST, all + start, pos - start);
        start = pos + 4;
    }
    part(out, start ? RECORD_LAST : RECORD_WHOLE, all + start, n - start);
    free(all);
}

static void recordio_add(void *file, const struct pack_sample *s)
{
    struct recordio *f = file;
    struct record_head h = {.label = (float)s->label, .id = (uint64_t)s->number};
    char line[48];
    int n = snprintf(line, sizeof(line), "%lld\t%llu\n", (long long)s->number,
                     (unsigned long long)f->images.size);

    pack_file_add(&f->index, line, (size_t)n);
    record(&f->images, &h, s->image, s->len);
    if (!s->label_map)
        return;
    if (!f->label_maps)
        pack_file_open(&f->labels, f->dir, f->stem, ".labels.rec");
    f->label_maps = true;
    record(&f->labels, &h, s->label_map, s->label_map_len);
}

static void recordio_finish(void *file)
{
    struct recordio *f = file;

    pack_file_close(&f->images);
    pack_file_close(&f->index);
    if (f->label_maps)
        pack_file_close(&f->labels);
    free(f->dir);
    free(f->stem);
    free(f);
}

const struct pack_format pack_recordio = {
    .name = "recordio",
    .help = "MXNet's image records, with their index",
    .ending = ".rec",
    .create = recordio_create,
    .add = recordio_add,
    .finish = recordio_finish,
};
