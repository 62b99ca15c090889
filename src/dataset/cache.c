#include "dataset/cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "dataset/cache_file.h"

struct cache_item {
    uint64_t sum;   /* checksum of all that follows; 0 (not checked) in private memory */
    uint64_t stamp; /* hash of the sample's files when the item was written */
    uint64_t bytes; /* size of the item, including this header */
    int w, h, channels;
    int padding;
    size_t label;    /* offset of the labels in `pixel`; 0: no labels */
    uint8_t pixel[]; /* followed by IMAGE_SLACK bytes */
};

struct cache {
    int64_t n, limit;
    atomic_llong used, held;
    _Atomic(struct cache_item *) *item;

    struct cache_file *file; /* NULL: items are in memory */
    const struct dataset *data;
    int channels;       /* channels of the images */
    atomic_uchar *good; /* per sample: nonzero once this process has checked the item in
                         * the file */
};

struct cache *cache_new(int64_t n, int64_t bytes)
{
    struct cache *c = xcalloc(1, sizeof(*c));

    c->n = n;
    c->limit = bytes;
    c->item = xcalloc((size_t)n, sizeof(*c->item));
    return c;
}

struct cache *cache_share(const struct dataset *d, const char *path, int channels,
                          int64_t bytes, struct strbuf *why)
{
    struct cache_file *file = cache_file_open(path, d->n, bytes, why);
    struct cache *c;

    if (!file)
        return NULL;
    c = xcalloc(1, sizeof(*c));
    c->n = d->n;
    c->file = file;
    c->data = d;
    c->channels = channels;
    c->good = xcalloc((size_t)d->n, sizeof(*c->good));
    return c;
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    for (int64_t i = 0; c->item && i < c->n; i++)
        free(atomic_load(&c->item[i]));
    if (c->file)
        cache_file_close(c->file);
    free(c->item);
    free(c->good);
    free(c);
}

static uint64_t stamp_of(const struct dataset *d, int64_t sample)
{
    struct strbuf s = STRBUF_INIT;
    bool is = dataset_stamp(d, sample, &s);
    uint64_t stamp;

    if (dataset_has_labels(d))
        is = dataset_stamp_label(d, sample, &s) && is;
    stamp = is ? XXH3_64bits(s.buf, s.len) : 0;
    strbuf_release(&s);
    return stamp;
}

static uint64_t sum_of(const struct cache_item *item)
{
    return XXH3_64bits(&item->stamp, item->bytes - offsetof(struct cache_item, stamp));
}

/* True if each of n labels is a class or is ignored. */
static bool labels_are_sound(const struct cache *c, const uint8_t *label, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (label[i] >= c->data->nclass && label[i] != LABEL_IGNORE)
            return false;
    return true;
}

/* Validates an item in a file. The checksum does not prove who wrote it, so every field
 * may hold any value. */
static bool is_sound(const struct cache *c, int64_t sample, const struct cache_item *item)
{
    uint64_t area, pixels, bytes;

    if (item->bytes < sizeof(*item) ||
        item->bytes > cache_file_bytes_from(c->file, item) || item->sum != sum_of(item) ||
        item->w < 1 || item->h < 1 || item->channels != c->channels || !item->stamp ||
        item->stamp != stamp_of(c->data, sample))
        return false;
    if (!checked_mul((uint64_t)item->w, (uint64_t)item->h, &area) ||
        !checked_mul(area, (uint64_t)item->channels, &pixels) ||
        !checked_add(pixels, IMAGE_SLACK, &pixels) ||
        !checked_add(pixels, sizeof(*item), &bytes))
        return false;
    if (!dataset_has_labels(c->data))
        return !item->label && bytes <= item->bytes;
    return item->label == pixels && bytes <= item->bytes && item->bytes - bytes == area &&
           labels_are_sound(c, item->pixel + pixels, area);
}

static struct cache_item *item_at(struct cache *c, int64_t sample)
{
    struct cache_item *item;

    if (!c->file)
        return atomic_load_explicit(&c->item[sample], memory_order_acquire);
    item = cache_file_get(c->file, sample, sizeof(*item));
    if (!item || atomic_load(&c->good[sample]))
        return item;
    if (!is_sound(c, sample, item))
        return NULL;
    atomic_store(&c->good[sample], 1);
    return item;
}

bool cache_get(struct cache *c, int64_t sample, struct image *img, const uint8_t **label)
{
    struct cache_item *item = item_at(c, sample);

    if (!item)
        return false;
    *img = (struct image){.w = item->w,
                          .h = item->h,
                          .channels = item->channels,
                          .stride = (size_t)item->w * (size_t)item->channels,
                          .pixel = item->pixel};
    *label = item->label ? item->pixel + item->label : NULL;
    return true;
}

/* Returns memory for an item, or NULL if the cache is full. */
static struct cache_item *item_room(struct cache *c, size_t bytes)
{
    long long size = (long long)bytes;

    if (c->file)
        return cache_file_alloc(c->file, bytes);
    if (atomic_fetch_add(&c->used, size) + size > c->limit) {
        atomic_fetch_sub(&c->used, size);
        return NULL;
    }
    return xcalloc(1, bytes);
}

static void item_publish(struct cache *c, int64_t sample, struct cache_item *item)
{
    struct cache_item *none = NULL;

    if (c->file) {
        const void *old = cache_file_get(c->file, sample, 1);

        item->stamp = stamp_of(c->data, sample);
        item->sum = sum_of(item);
        if (cache_file_publish(c->file, sample, old, item))
            atomic_store(&c->good[sample], 1);
        return;
    }
    if (atomic_compare_exchange_strong(&c->item[sample], &none, item)) {
        atomic_fetch_add(&c->held, 1);
        return;
    }
    atomic_fetch_sub(&c->used, (long long)item->bytes);
    free(item);
}

void cache_put(struct cache *c, int64_t sample, const struct image *img,
               const uint8_t *label)
{
    size_t row = (size_t)img->w * (size_t)img->channels,
           n = (size_t)img->w * (size_t)img->h;
    size_t pixels = row * (size_t)img->h + IMAGE_SLACK;
    size_t bytes = sizeof(struct cache_item) + pixels + (label ? n : 0);
    struct cache_item *item = item_room(c, bytes);

    if (!item)
        return;
    item->bytes = bytes;
    item->w = img->w;
    item->h = img->h;
    item->channels = img->channels;
    for (int y = 0; y < img->h; y++)
        memcpy(item->pixel + (size_t)y * row, img->pixel + (size_t)y * img->stride, row);
    item->label = label ? pixels : 0; /* memory in a file may not be zero */
    if (label)
        memcpy(item->pixel + pixels, label, n);
    item_publish(c, sample, item);
}

int64_t cache_used(struct cache *c)
{
    return c->file ? cache_file_used(c->file) : atomic_load(&c->used);
}

int64_t cache_limit(struct cache *c)
{
    return c->file ? cache_file_limit(c->file) : c->limit;
}

int64_t cache_count(struct cache *c)
{
    return c->file ? cache_file_count(c->file) : atomic_load(&c->held);
}
