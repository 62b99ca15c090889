#include "image/augment_list.h"

#include <math.h>

/* Returns the item's random numbers; *applied: false if its probability leaves it out. */
static struct augment_words begin(const struct augment_list *l,
                                  const struct augment_key *k, int i, bool *applied,
                                  uint32_t *filter)
{
    struct augment_words r = augment_words_of(k, i);

    *applied = augment_share(&r) < l->item[i].p;
    *filter = augment_word(&r);
    return r;
}

void augment_list_apply(const struct augment_list *l, const struct augment_key *k,
                        struct policy_canvas *c, enum resize_filter filter,
                        bool filter_random)
{
    for (int i = 0; i < l->n; i++) {
        const struct augment_item *item = &l->item[i];
        double m[9];
        uint32_t bits;
        bool applied;
        struct augment_words r = begin(l, k, i, &applied, &bits);
        bool bicubic = filter_random ? bits & 1 : filter == RESIZE_BICUBIC;

        if (!applied)
            continue;
        if (item->op->apply) {
            item->op->apply(item, &r, c);
            continue;
        }
        item->op->map(item, &r, c->w, c->h, m);
        warp_projective(c->warp, c->pixel, c->w, c->h, m,
                        bicubic ? WARP_BICUBIC : WARP_BILINEAR, c->fill);
    }
}

void augment_list_maps(const struct augment_list *l, const struct augment_key *k, int w,
                       int h, struct augment_maps *maps)
{
    maps->n = 0;
    for (int i = 0; i < l->n; i++) {
        const struct augment_item *item = &l->item[i];
        uint32_t bits;
        bool applied;
        struct augment_words r = begin(l, k, i, &applied, &bits);

        if (applied && item->op->map)
            item->op->map(item, &r, w, h, maps->m[maps->n++]);
    }
}

bool augment_maps_source(const struct augment_maps *maps, int w, int h, int *x, int *y)
{
    for (int i = maps->n - 1; i >= 0; i--) {
        const double *m = maps->m[i];
        double u = *x + 0.5, v = *y + 0.5, d = m[6] * u + m[7] * v + m[8];
        double sx = (m[0] * u + m[1] * v + m[2]) / d;
        double sy = (m[3] * u + m[4] * v + m[5]) / d;

        if (!(sx >= 0 && sx < w && sy >= 0 && sy < h))
            return false;
        *x = (int)sx;
        *y = (int)sy;
    }
    return true;
}
