#include "dataset/cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct cache_item {
    int w, h;
    size_t label;    /* where the labels start; 0: there are none */
    uint8_t pixel[]; /* with IMAGE_SLACK behind */
};

struct cache {
    int64_t n, limit;
    atomic_llong used, held;
    _Atomic(struct cache_item *) *item;
};

struct cache *cache_new(int64_t n, int64_t bytes)
{
    struct cache *c = xcalloc(1, sizeof(*c));

    c->n = n;
    c->limit = bytes;
    c->item = xcalloc((size_t)n, sizeof(*c->item));
    return c;
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    for (int64_t i = 0; i < c->n; i++)
        free(atomic_load(&c->item[i]));
    free(c->item);
    free(c);
}

bool cache_get(struct cache *c, int64_t sample, struct image *img, const uint8_t **label)
{
    struct cache_item *item =
        atomic_load_explicit(&c->item[sample], memory_order_acquire);

    if (!item)
        return false;
    *img = (struct image){
        .w = item->w, .h = item->h, .stride = (size_t)item->w * 3, .pixel = item->pixel};
    *label = item->label ? item->pixel + item->label : NULL;
    return true;
}

void cache_put(struct cache *c, int64_t sample, const struct image *img,
               const uint8_t *label)
{
    size_t row = (size_t)img->w * 3, n = (size_t)img->w * (size_t)img->h;
    size_t pixels = row * (size_t)img->h + IMAGE_SLACK;
    size_t bytes = sizeof(struct cache_item) + pixels + (label ? n : 0);
    long long size = (long long)bytes;
    struct cache_item *item, *none = NULL;

    if (atomic_fetch_add(&c->used, size) + size > c->limit) {
        atomic_fetch_sub(&c->used, size);
        return;
    }
    item = xcalloc(1, bytes);
    item->w = img->w;
    item->h = img->h;
    for (int y = 0; y < img->h; y++)
        memcpy(item->pixel + (size_t)y * row, img->pixel + (size_t)y * img->stride, row);
    if (label) {
        item->label = pixels;
        memcpy(item->pixel + pixels, label, n);
    }
    if (atomic_compare_exchange_strong(&c->item[sample], &none, item)) {
        atomic_fetch_add(&c->held, 1);
        return;
    }
    atomic_fetch_sub(&c->used, size);
    free(item);
}

int64_t cache_used(struct cache *c)
{
    return atomic_load(&c->used);
}

int64_t cache_held(struct cache *c)
{
    return atomic_load(&c->held);
}
