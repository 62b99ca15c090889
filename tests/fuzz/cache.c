/* The cache file of decoded images: reads its header, then each item, and puts images.
 * Inputs of even size get the start of a valid header and valid checksums, otherwise no
 * fuzzed input would get past them; a size with its second bit set is a data set with
 * label maps. No file needs more than 1 MiB. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "dataset/cache.h"

enum { ITEMS = 4, CLASSES = 5, CHANNELS = 3, MAX_BYTES = 1 << 20 };

/* As in cache_file.c and cache.c. */
struct head {
    char magic[8];
    int64_t n;
    uint64_t max_bytes, used, size, held, item[ITEMS];
};

struct item {
    uint64_t sum, stamp, bytes;
};

static bool stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    (void)d, (void)i;
    strbuf_addstr(out, "x");
    return true;
}

static int read_nothing(const struct dataset *d, int64_t i, int64_t limit,
                        struct dataset_bytes *out, struct strbuf *why)
{
    (void)d, (void)i, (void)limit, (void)out;
    strbuf_addstr(why, "no file");
    return -1;
}

static const struct dataset_type images = {.stamp = stamp};
static const struct dataset_type label_maps = {
    .stamp = stamp, .stamp_label = stamp, .read_label = read_nothing};

static void make_right(uint8_t *file, size_t size, bool labels)
{
    struct head h;

    memcpy(&h, file, sizeof(h));
    memcpy(h.magic, "trncach1", sizeof(h.magic));
    h.n = ITEMS;
    memcpy(file, &h, sizeof(h));
    for (int i = 0; i < ITEMS; i++) {
        struct item item;

        if (h.item[i] > size || size - h.item[i] < sizeof(item))
            continue;
        memcpy(&item, file + h.item[i], sizeof(item));
        item.stamp = XXH3_64bits("xx", labels ? 2 : 1);
        memcpy(file + h.item[i], &item, sizeof(item));
        if (item.bytes >= sizeof(item) && item.bytes <= size - h.item[i])
            item.sum = XXH3_64bits(file + h.item[i] + 8, item.bytes - 8);
        memcpy(file + h.item[i], &item, sizeof(item));
    }
}

static void get(struct cache *c, int64_t i, bool labels)
{
    const uint8_t *label = NULL;
    struct image img;
    unsigned sum = 0;
    size_t n;

    if (!cache_get(c, i, &img, &label))
        return;
    fuzz_expect(img.w > 0 && img.h > 0 && img.channels == CHANNELS, "it is an image");
    fuzz_expect(labels == (label != NULL), "it has labels if the data set does");
    n = (size_t)img.w * (size_t)img.h;
    for (size_t k = 0; k < n * CHANNELS + IMAGE_SLACK; k++)
        sum += img.pixel[k];
    for (size_t k = 0; label && k < n; k++)
        fuzz_expect(label[k] < CLASSES || label[k] == LABEL_IGNORE, "labels are classes");
    fuzz_expect(sum <= 255u * (n * CHANNELS + IMAGE_SLACK), "sums are small");
}

static void use(struct cache *c, bool labels)
{
    uint8_t pixel[4 * 2 * CHANNELS + IMAGE_SLACK] = {1}, label[4 * 2] = {2};
    struct image img = {
        .w = 4, .h = 2, .channels = CHANNELS, .stride = 4 * CHANNELS, .pixel = pixel};

    for (int64_t i = 0; i < ITEMS; i++)
        get(c, i, labels);
    for (int64_t i = 0; i < ITEMS; i++) {
        cache_put(c, i, &img, labels ? label : NULL);
        get(c, i, labels);
    }
    (void)cache_used(c);
    (void)cache_limit(c);
    (void)cache_count(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool labels = size & 2;
    struct dataset d = {
        .type = labels ? &label_maps : &images, .n = ITEMS, .nclass = CLASSES};
    struct strbuf why = STRBUF_INIT;
    uint8_t *copy = xcalloc(1, size + sizeof(struct head));
    struct head *h = (struct head *)copy;
    struct cache *c;
    char *path;

    memcpy(copy, data, size);
    if (size % 2 == 0 && size >= sizeof(*h))
        make_right(copy, size, labels);
    h->max_bytes = h->max_bytes < MAX_BYTES ? h->max_bytes : MAX_BYTES;
    path = fuzz_train(".cache", copy, size);
    c = cache_share(&d, path, CHANNELS, 1 << 16, &why);
    fuzz_expect(c || why.len > 0, "what does not open has a reason");
    if (c)
        use(c, labels);
    cache_free(c);
    (void)unlink(path);
    free(path);
    free(copy);
    strbuf_release(&why);
    return 0;
}
