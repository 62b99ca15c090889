#include "dataset/decoded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "dataset/pairs.h"
#include "dataset/raw_file.h"
#include "dataset/samples.h"

struct decoded {
    const uint8_t *data;
    size_t size;
};

static const struct decoded_row *decoded_rows(const struct decoded *f, uint64_t *n)
{
    const struct decoded_head *h = (const struct decoded_head *)f->data;

    *n = h->n;
    return (const struct decoded_row *)(f->data + h->rows);
}

/* Returns NULL if head and rows are valid, all parts are within the file, and all labels
 * are in range. Otherwise returns the reason. */
static const char *decoded_fault(const struct decoded *f)
{
    const struct decoded_head *h = (const struct decoded_head *)f->data;
    const struct decoded_row *row;
    uint64_t n;

    if (f->size < sizeof(*h) || memcmp(h->magic, DECODED_MAGIC, sizeof(h->magic)) != 0)
        return "it is not a file of decoded images";
    if (h->rows % DECODED_ALIGN != 0 || h->rows > f->size ||
        !checked_items(h->n, sizeof(*row), f->size - h->rows))
        return "it is truncated";
    row = decoded_rows(f, &n);
    if (XXH3_64bits(row, n * sizeof(*row)) != h->sum)
        return "its table has a wrong checksum";
    for (uint64_t i = 0; i < n; i++) {
        if (!checked_within(row[i].image.offset, row[i].image.len, h->rows) ||
            !checked_within(row[i].label_map.offset, row[i].label_map.len, h->rows))
            return "its table points outside the file";
        if (row[i].label < SAMPLE_NO_LABEL || row[i].label > INT32_MAX)
            return "its table has a label that is not a class";
    }
    return NULL;
}

static void decoded_close(void *file)
{
    struct decoded *f = file;

    munmap((void *)(uintptr_t)f->data, f->size);
    free(f);
}

static void *decoded_open(const char *path, struct strbuf *why)
{
    struct raw_file *raw = raw_file_open(path, why);
    struct decoded *f;
    const char *fault;
    void *data;

    if (!raw)
        return NULL;
    data = mmap(NULL, raw->size ? raw->size : 1, PROT_READ, MAP_SHARED, raw->fd, 0);
    if (data == MAP_FAILED) {
        strbuf_addf(why, "cannot be mapped: %s", strerror(errno));
        raw_file_close(raw);
        return NULL;
    }
    f = xcalloc(1, sizeof(*f));
    f->data = data;
    f->size = raw->size;
    raw_file_close(raw);
    fault = decoded_fault(f);
    if (!fault)
        return f;
    strbuf_addstr(why, fault);
    decoded_close(f);
    return NULL;
}

static int decoded_list(void *file, struct samples *s, struct strbuf *why)
{
    uint64_t n;
    const struct decoded_row *row = decoded_rows(file, &n);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        char name[24];
        struct sample *dst;

        snprintf(name, sizeof(name), "%llu", (unsigned long long)i);
        dst = samples_add(s, name);
        dst->image = (struct sample_part){.offset = i, .len = row[i].image.len};
        dst->label_map = (struct sample_part){.offset = i, .len = row[i].label_map.len};
        dst->label = (int32_t)row[i].label;
    }
    return 0;
}

static int decoded_read(void *file, const struct sample *sample, bool label_map,
                        int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    const struct decoded *f = file;
    uint64_t n;
    const struct decoded_row *row = decoded_rows(f, &n);
    const struct decoded_part *part;

    if (sample->image.offset >= n) { /* a forged sample index */
        strbuf_addf(why, "it has no sample %llu",
                    (unsigned long long)sample->image.offset);
        return -1;
    }
    part = label_map ? &row[sample->image.offset].label_map
                     : &row[sample->image.offset].image;
    if (part->len > (uint64_t)limit) {
        strbuf_addf(why, "%llu bytes, more than the limit of %lld",
                    (unsigned long long)part->len, (long long)limit);
        return -1;
    }
    if (XXH3_64bits(f->data + part->offset, part->len) != part->sum) {
        strbuf_addstr(why, "its pixels have a wrong checksum");
        return -1;
    }
    dataset_bytes_view(out, f->data + part->offset, (size_t)part->len);
    return 0;
}

const struct container container_decoded = {
    .name = "decoded",
    .ending = ".decoded",
    .open = decoded_open,
    .list = decoded_list,
    .read = decoded_read,
    .close = decoded_close,
};

CONTAINER_STORAGE(decoded, "pixels that trainc pack has decoded, SPLIT.decoded or "
                           "SPLIT-*.decoded: mapped into memory and shared by processes");
