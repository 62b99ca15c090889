#include "session/shares.h"

#include "image/label.h"
#include "session/build.h"
#include "session/inflight.h"

/* Returns the weight of the labels of images that count; with mixing, both partners must
 * be valid. `class_weight` may be NULL. */
static double weigh_images(const struct tensor *labels, const int32_t *label, bool mixes,
                           const float *class_weight)
{
    int64_t n = labels->dim[0];
    double count = 0;

    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0 && (!mixes || label[n - 1 - i] >= 0))
            count += class_weight ? (double)class_weight[label[i]] : 1;
    return count;
}

/* Counts the labels at the centers of squares of `factor` pixels, in one label map that
 * is mirrored first if `flipped` (ops/label_down.h). */
static void count_map(const uint8_t *map, int64_t h, int64_t w, int factor, bool flipped,
                      int64_t count[LABEL_IGNORE + 1])
{
    for (int64_t y = factor / 2; y < h; y += factor) {
        const uint8_t *row = map + y * w;

        for (int64_t x = factor / 2; x < w; x += factor)
            count[row[flipped ? w - 1 - x : x]]++;
    }
}

static void count_maps(const struct build *t, const struct plan *p, int factor,
                       const struct lent_batch *b, int64_t count[LABEL_IGNORE + 1])
{
    const struct augment_key *key = t->keys && p->augment.flips ? b->keys : NULL;
    int64_t h = t->labels->dim[1], w = t->labels->dim[2];

    for (int64_t i = 0; i < t->labels->dim[0]; i++)
        count_map((const uint8_t *)b->labels + i * h * w, h, w, factor,
                  key && key[i].sample >= 0 &&
                      augment_flip(&key[i], &p->augment.flip.flips),
                  count);
}

/* Returns the weight of label maps at 1 / factor of their resolution. */
static double weigh_maps(const struct build *t, const struct plan *p, int factor,
                         const float *class_weight, const struct lent_batch *b)
{
    int64_t count[LABEL_IGNORE + 1] = {0};
    double sum = 0;

    count_maps(t, p, factor, b, count);
    for (int k = 0; k < LABEL_IGNORE; k++)
        if (count[k])
            sum += (double)count[k] * (class_weight ? (double)class_weight[k] : 1);
    return sum;
}

void shares_weights(const struct build *t, const struct plan *p, bool mixes,
                    const struct lent_batch *b, double weight[SHARES])
{
    bool maps = p->model->family->task == MODEL_SEGMENT;

    weight[SHARE_LOG] = maps ? weigh_maps(t, p, 1, p->class_weight, b)
                             : weigh_images(t->labels, b->labels, false, NULL);
    for (int i = 0; i < LOSSES_MAX; i++) {
        const float *class_weight =
            i < p->nloss && p->loss[i].loss->weighted ? p->loss[i].o.class_weight : NULL;

        weight[i] = i >= p->nloss ? 1
                    : maps        ? weigh_maps(t, p, t->factor[i], class_weight, b)
                           : weigh_images(t->labels, b->labels, mixes, class_weight);
    }
}

void shares_of(const double weight[SHARES], const double mean[SHARES],
               float share[SHARES])
{
    for (int i = 0; i < LOSSES_MAX; i++)
        share[i] = mean[i] > 0 ? (float)(weight[i] / mean[i]) : 0;
    share[SHARE_LOG] =
        weight[SHARE_LOG] > 0 ? (float)(mean[SHARE_LOG] / weight[SHARE_LOG]) : 0;
}
