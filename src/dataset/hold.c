#include "dataset/hold.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct hold_item {
    size_t len;
    uint8_t data[];
};

struct hold {
    int64_t n, limit;
    atomic_llong used, count;
    _Atomic(struct hold_item *) *item; /* images, then label maps */
};

struct hold *hold_new(int64_t n, int64_t bytes)
{
    struct hold *h = xcalloc(1, sizeof(*h));

    h->n = n;
    h->limit = bytes;
    h->item = xcalloc((size_t)(2 * n), sizeof(*h->item));
    return h;
}

void hold_free(struct hold *h)
{
    if (!h)
        return;
    for (int64_t i = 0; i < 2 * h->n; i++)
        free(atomic_load(&h->item[i]));
    free(h->item);
    free(h);
}

bool hold_get(const struct hold *h, int64_t i, bool label_map, int64_t limit,
              struct dataset_bytes *out)
{
    struct hold_item *item =
        atomic_load_explicit(&h->item[label_map ? h->n + i : i], memory_order_acquire);

    if (!item || (int64_t)item->len > limit)
        return false;
    dataset_bytes_view(out, item->data, item->len);
    return true;
}

void hold_put(struct hold *h, int64_t i, bool label_map, const struct dataset_bytes *b)
{
    struct hold_item *item, *none = NULL;
    long long size = (long long)(sizeof(*item) + b->len);

    if (atomic_fetch_add(&h->used, size) + size > h->limit) {
        atomic_fetch_sub(&h->used, size);
        return;
    }
    item = xmalloc((size_t)size);
    item->len = b->len;
    memcpy(item->data, b->data, b->len);
    if (atomic_compare_exchange_strong(&h->item[label_map ? h->n + i : i], &none, item)) {
        atomic_fetch_add(&h->count, !label_map);
        return;
    }
    atomic_fetch_sub(&h->used, size);
    free(item);
}

int64_t hold_used(const struct hold *h)
{
    return atomic_load(&h->used);
}

int64_t hold_count(const struct hold *h)
{
    return atomic_load(&h->count);
}
