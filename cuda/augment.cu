/*
 * flip, color_jitter, and erase on bytes. flip uses a thread per pixel. The others use a
 * block per image: each thread keeps its pixels while colors change, and all threads fill
 * one erased box after the other. Bytes: x and y once, and once more for each color step,
 * mostly from the cache.
 */
#include "ops/augment.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/table.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { BLOCK = 256 };

struct augment_table {
    int derived; /* erase: struct erase_levels in step->derived */
};

static const char *augment_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *dev)
{
    auto *st = (struct augment_table *)region_state(r);

    if (n->op != &op_flip && n->op != &op_color_jitter && n->op != &op_erase)
        return "no augmentation";
    if (tensor_len(n->out[0]) / n->out[0]->dim[IMAGE_N] > INT32_MAX)
        return "images of more than 2^31 bytes";

    region_claim_node(r, n);
    if (n->op != &op_flip)
        region_inplace(r, 0, AUGMENT_X);
    if (n->op == &op_erase) {
        auto *a = (const struct erase_attrs *)n->attrs;
        struct erase_levels levels = {};

        erase_levels_init(&levels, a->mean, a->std);
        st->derived = cuda_table(r, dev, &levels, sizeof(levels));
    }
    return nullptr;
}

__global__ void __launch_bounds__(BLOCK)
    flip_pixels(const uint8_t *x, const struct augment_key *key, uint8_t *y, int64_t pixels,
                augment_dims d, struct augment_flips flips)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, n = i / ((int64_t)d.h * d.w);
    int64_t start = i;

    if (i >= pixels)
        return;
    if (key[n].sample >= 0 && augment_flip(&key[n], &flips))
        start = i - i % d.w + d.w - 1 - i % d.w;
    for (int c = 0; c < d.c; c++)
        y[i * d.c + c] = x[start * d.c + c];
}

__device__ static inline int gray_at(const uint8_t *p, int channels)
{
    return channels == 1 ? p[0] : augment_gray(p[0], p[1], p[2]);
}

struct strengths {
    double value[3];
};

/* The block's image; a thread only reads pixels that it has written. */
__global__ void __launch_bounds__(BLOCK)
    jitter_images(const uint8_t *x, const struct augment_key *key, uint8_t *y,
                  augment_dims d, strengths s)
{
    __shared__ unsigned long long shared[BLOCK / 32];
    int64_t len = (int64_t)d.h * d.w * d.c;
    struct augment_key k = key[blockIdx.x];
    struct augment_jitter j = augment_jitter(&k, s.value);

    x += blockIdx.x * len;
    y += blockIdx.x * len;
    for (int64_t i = (int64_t)threadIdx.x * d.c; i < len; i += (int64_t)BLOCK * d.c)
        for (int c = 0; c < d.c; c++)
            y[i + c] = x[i + c];
    for (int step = 0; step < 3 && k.sample >= 0; step++) {
        int what = j.order[step], towards = 0;
        float f = j.factor[what];

        if (!(s.value[what] > 0))
            continue;
        if (what == 1) {
            unsigned long long sum = 0;

            for (int64_t i = (int64_t)threadIdx.x * d.c; i < len;
                 i += (int64_t)BLOCK * d.c)
                sum += (unsigned long long)gray_at(y + i, d.c);
            sum = block_sum<BLOCK>(sum, shared);
            towards = augment_mean(sum, (uint64_t)d.h * d.w);
        }
        for (int64_t i = (int64_t)threadIdx.x * d.c; i < len;
             i += (int64_t)BLOCK * d.c) {
            if (what == 2)
                towards = gray_at(y + i, d.c);
            for (int c = 0; c < d.c; c++)
                y[i + c] = augment_blend(towards, y[i + c], f);
        }
    }
}

struct erase_rule {
    double probability;
    int mode, count;
};

/* A box of the image at y; `region`: its index among the boxes that fit. */
__device__ static inline void erase_rect(const struct erase_levels *levels, int mode,
                                         const struct augment_key *k, uint32_t region,
                                         const struct augment_box *b, augment_dims d,
                                         uint8_t *y)
{
    for (int64_t i = threadIdx.x; i < (int64_t)b->w * b->h; i += BLOCK) {
        int row = (int)(i / b->w), col = (int)(i % b->w);
        int64_t pos = ((int64_t)(b->y + row) * d.w + b->x + col) * d.c;

        for (int c = 0; c < d.c; c++) {
            uint64_t draw = 0;

            if (mode == ERASE_PIXEL)
                draw = erase_row_draw(b->w, row) + (uint64_t)(3 * col + c) / 8;

            struct philox r = erase_noise(k, region, draw);

            y[pos + c] = erase_value(levels, mode, &r, 3 * col + c);
        }
    }
}

__global__ void __launch_bounds__(BLOCK)
    erase_images(const uint8_t *x, const struct augment_key *key,
                 const struct erase_levels *levels, uint8_t *y, augment_dims d,
                 erase_rule rule)
{
    int64_t len = (int64_t)d.h * d.w * d.c;
    struct augment_key k = key[blockIdx.x];
    int n = k.sample < 0 ? 0 : erase_tries(&k, rule.probability, rule.count);
    uint32_t found = 0;
    struct augment_box b;

    x += blockIdx.x * len;
    y += blockIdx.x * len;
    for (int64_t i = threadIdx.x; i < len && x != y; i += BLOCK)
        y[i] = x[i];
    for (int i = 0; i < n; i++) {
        if (!erase_box(&k, d.w, d.h, n, i, &b))
            continue; /* the same for all threads */
        __syncthreads();
        erase_rect(levels, rule.mode, &k, found++, &b, d, y);
    }
}

static void augment_run(struct step *s, struct device *dev)
{
    const struct node *n = s->node;
    const struct tensor *t = n->out[0];
    augment_dims d = augment_dims_of(t);
    auto *x = (const uint8_t *)s->in[AUGMENT_X];
    auto *key = (const struct augment_key *)s->in[AUGMENT_KEYS];
    auto *y = (uint8_t *)s->out[0];
    unsigned images = (unsigned)t->dim[IMAGE_N];
    int64_t pixels = tensor_len(t) / d.c;

    if (n->op == &op_flip) {
        LAUNCH(dev, flip_pixels, cuda_blocks(pixels, BLOCK, 1), BLOCK, 0, x, key, y, pixels,
               d, ((const struct flip_attrs *)n->attrs)->flips);
    } else if (n->op == &op_color_jitter) {
        auto *a = (const struct color_jitter_attrs *)n->attrs;
        strengths strength = {{a->strength[0], a->strength[1], a->strength[2]}};

        LAUNCH(dev, jitter_images, images, BLOCK, 0, x, key, y, d, strength);
    } else {
        auto *a = (const struct erase_attrs *)n->attrs;
        int table = ((const struct augment_table *)s->state)->derived;

        LAUNCH(dev, erase_images, images, BLOCK, 0, x, key,
               (const struct erase_levels *)s->derived[table], y, d,
               (erase_rule{a->probability, a->mode, a->count}));
    }
}

extern const struct kernel cuda_augment = {
    .name = "cuda augment",
    .claim = augment_claim,
    .run = augment_run,
    .state_size = sizeof(struct augment_table),
};
