/*
 * resize for images of different sizes. A first launch computes the weights, one thread
 * per output of each axis. In a second one a thread computes a pixel: the rows under its
 * taps, each rounded to bytes as Pillow does, and their weighted sum. The rows of
 * neighbors overlap in the cache; resizing 500x375 to 224x224 reads each pixel six times.
 */
#include "ops/resize.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { BLOCK = 256 };

/* The taps of an output, starting at pixel `first` of the slot. */
struct resize_line {
    int32_t first, n, weight[RESIZE_TAPS];
};

struct resize_dims {
    int w, h, c;
    int64_t images, place; /* bytes per slot */
};

static const char *resize_claim(struct region *r, struct graph *, struct node *n,
                                struct device *)
{
    if (n->op != &op_resize)
        return "no resize";

    auto *a = (const struct resize_attrs *)n->attrs;

    region_claim_node(r, n);
    region_workspace(r, (size_t)n->out[0]->dim[IMAGE_N] * (size_t)(a->width + a->height) *
                            sizeof(struct resize_line));
    return nullptr;
}

__global__ void __launch_bounds__(BLOCK)
    resize_weights(const struct resize_job *jobs, resize_dims d, struct resize_line *line)
{
    int64_t t = (int64_t)blockIdx.x * BLOCK + threadIdx.x, image = t / (d.w + d.h);
    int pos = (int)(t % (d.w + d.h)), o, lo, hi;
    bool along_x = pos < d.w;

    if (image >= d.images || !jobs[image].resize)
        return;

    const struct resize_job *j = &jobs[image];
    const struct resize_axis *a = along_x ? &j->x : &j->y;
    struct resize_line *dst = &line[t];
    double sum = 0;

    o = pos - (along_x ? j->dst_x : d.w + j->dst_y);
    if (o < 0 || o >= a->n) {
        dst->n = 0; /* outside the image */
        return;
    }
    o = a->first + (along_x && j->flip ? a->n - 1 - o : o);
    resize_taps(a, j->filter, o, &lo, &hi);
    hi = hi - lo < RESIZE_TAPS ? hi : lo + RESIZE_TAPS;
    for (int i = lo; i < hi; i++)
        sum += resize_raw_weight(a, j->filter, o, i);
    dst->first = lo - (along_x ? j->src_x : j->src_y);
    dst->n = hi - lo;
    for (int i = lo; i < hi; i++) {
        double w = sum == 0 ? i == lo : resize_raw_weight(a, j->filter, o, i) * (1 / sum);

        dst->weight[i - lo] = resize_fixed(w);
    }
}

__global__ void __launch_bounds__(BLOCK)
    resize_pixels(const uint8_t *x, const struct resize_job *jobs,
                  const struct resize_line *line, uint8_t *y, resize_dims d)
{
    int64_t t = (int64_t)blockIdx.x * BLOCK + threadIdx.x, plane = (int64_t)d.w * d.h;
    int64_t image = t / plane;

    if (image >= d.images)
        return;

    int row = (int)(t % plane / d.w), col = (int)(t % d.w);
    const struct resize_job *j = &jobs[image];
    const uint8_t *src = x + image * d.place;
    const struct resize_line *lx = &line[image * (d.w + d.h) + col];
    const struct resize_line *ly = &line[image * (d.w + d.h) + d.w + row];

    for (int c = 0; c < d.c; c++) {
        uint32_t sum = 0;

        if (!j->resize) {
            y[t * d.c + c] = src[t % plane * d.c + c];
            continue;
        }
        for (int v = 0; v < ly->n && lx->n; v++) {
            const uint8_t *source =
                src + ((int64_t)(ly->first + v) * j->src_w + lx->first) * d.c + c;
            uint32_t across = 0;

            for (int u = 0; u < lx->n; u++)
                across += (uint32_t)lx->weight[u] * source[u * d.c];
            sum += (uint32_t)ly->weight[v] * resize_byte(across);
        }
        y[t * d.c + c] = ly->n && lx->n ? resize_byte(sum) : (uint8_t)0;
    }
}

static void resize_run(struct step *s, struct device *dev)
{
    auto *a = (const struct resize_attrs *)s->node->attrs;
    int64_t images = s->node->out[0]->dim[IMAGE_N];
    resize_dims d = {a->width, a->height, a->channels, images,
                     resize_place(a->width, a->height, a->channels)};
    auto *jobs = (const struct resize_job *)s->in[RESIZE_JOBS];
    auto *line = (struct resize_line *)s->workspace;

    LAUNCH(dev, resize_weights, cuda_blocks(images * (d.w + d.h), BLOCK, 1), BLOCK, 0,
           jobs, d, line);
    LAUNCH(dev, resize_pixels, cuda_blocks(images * d.w * d.h, BLOCK, 1), BLOCK, 0,
           (const uint8_t *)s->in[RESIZE_X], jobs, line, (uint8_t *)s->out[0], d);
}

extern const struct kernel cuda_resize = {
    .name = "cuda resize",
    .claim = resize_claim,
    .run = resize_run,
};
