/* See dataset/decoded.h. */
#include "dataset/decoded.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "pack/file.h"
#include "pack/format.h"

struct decoded {
    struct pack_file out;
    struct decoded_row *row;
    size_t n, cap;
};

static void *decoded_create(const char *dir, const char *stem, int64_t first)
{
    struct decoded *d = xcalloc(1, sizeof(*d));
    struct decoded_head none = {.n = 0};

    (void)first;
    pack_file_open(&d->out, dir, stem, ".decoded");
    pack_file_add(&d->out, &none, sizeof(none));
    return d;
}

static struct decoded_part part(struct decoded *d, const void *data, size_t len)
{
    struct decoded_part p;

    pack_file_pad(&d->out, DECODED_ALIGN);
    p = (struct decoded_part){d->out.size, len, XXH3_64bits(data, len)};
    pack_file_add(&d->out, data, len);
    return p;
}

static void decoded_add(void *file, const struct pack_sample *s)
{
    struct decoded *d = file;
    struct decoded_row row = {.label = s->label};

    row.image = part(d, s->image, s->len);
    if (s->label_map)
        row.label_map = part(d, s->label_map, s->label_map_len);
    GROW(d->row, d->n, d->cap);
    d->row[d->n++] = row;
}

static void decoded_finish(void *file)
{
    struct decoded *d = file;
    struct decoded_head head = {.n = d->n};
    size_t bytes = d->n * sizeof(*d->row);

    memcpy(head.magic, DECODED_MAGIC, sizeof(head.magic));
    pack_file_pad(&d->out, DECODED_ALIGN);
    head.rows = d->out.size;
    head.sum = XXH3_64bits(d->row, bytes);
    pack_file_add(&d->out, d->row, bytes);
    pack_file_head(&d->out, &head, sizeof(head));
    pack_file_close(&d->out);
    free(d->row);
    free(d);
}

const struct pack_format pack_decoded = {
    .name = "decoded",
    .help = "pixels, ready to be mapped into memory",
    .ending = ".decoded",
    .decodes = true,
    .create = decoded_create,
    .add = decoded_add,
    .finish = decoded_finish,
};
