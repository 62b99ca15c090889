#include "ops/resize.h"

#include <string.h>

#include "graph/kernel.h"
#include "ops/image.h"

_Static_assert(sizeof(struct resize_job) % sizeof(int32_t) == 0, "jobs are words");

struct tensor *resize_(struct builder *b, struct tensor *x, struct tensor *jobs,
                       const struct resize_attrs *a)
{
    struct tensor *in[] = {[RESIZE_X] = x, [RESIZE_JOBS] = jobs};

    return node(b, &op_resize, a->layer, a, in, 2);
}

static const char *resize_shape(struct node *n)
{
    const struct resize_attrs *a = n->attrs;
    const struct tensor *x = n->in[RESIZE_X], *jobs = n->in[RESIZE_JOBS];
    int64_t dim[] = {x->dim[0], a->channels, a->height, a->width};

    if (a->height < 1 || a->width < 1 || a->channels < 1)
        return "a size below 1";
    if (x->dtype != DTYPE_U8 || x->ndim != 2 ||
        x->dim[1] != resize_place(a->width, a->height, a->channels))
        return "x has not resize_place() bytes for each image";
    if (jobs->dtype != DTYPE_I32 || jobs->ndim != 2 || jobs->dim[0] != x->dim[0] ||
        jobs->dim[1] != RESIZE_JOB_WORDS)
        return "not a job for each image";
    tensor_plain(n->out[0], DTYPE_U8, 4, dim);
    n->out[0]->layout = LAYOUT_IMAGE;
    return NULL;
}

/* The taps of an output, from source pixel `first` on. */
struct taps {
    int first, n;
    int32_t weight[RESIZE_TAPS];
};

static void fill_taps(struct taps *t, const struct resize_axis *a, int filter, int o)
{
    double weight[RESIZE_TAPS], sum = 0;
    int lo, hi;

    resize_taps(a, filter, o, &lo, &hi);
    t->first = lo;
    t->n = hi - lo < RESIZE_TAPS ? hi - lo : RESIZE_TAPS;
    for (int i = 0; i < t->n; i++)
        sum += weight[i] = resize_raw_weight(a, filter, o, lo + i);
    if (sum == 0) /* a single tap at the edge of the kernel */
        weight[0] = sum = 1;
    sum = 1 / sum;
    for (int i = 0; i < t->n; i++)
        t->weight[i] = resize_fixed(weight[i] * sum);
}

/* Computes one output from taps along a line of the source, `step` bytes between pixels. */
static uint8_t filter_at(const struct taps *t, const uint8_t *src, int64_t step)
{
    uint32_t sum = 0;

    for (int i = 0; i < t->n; i++)
        sum += (uint32_t)t->weight[i] * src[(t->first + i) * step];
    return resize_byte(sum);
}

size_t resize_scratch(const struct resize_attrs *a)
{
    size_t mid = (size_t)RESIZE_ROWS * (size_t)a->height * (size_t)a->width *
                 (size_t)a->channels;

    return (mid + 63) / 64 * 64;
}

/* Computes the requested columns of all rows of the source. */
static void along_x(const struct resize_job *j, const uint8_t *src, int channels,
                    uint8_t *mid)
{
    struct taps t;

    for (int x = 0; x < j->x.n; x++) {
        fill_taps(&t, &j->x, j->filter, j->x.first + (j->flip ? j->x.n - 1 - x : x));
        t.first -= j->src_x;
        for (int y = 0; y < j->src_h; y++)
            for (int c = 0; c < channels; c++)
                mid[((int64_t)y * j->x.n + x) * channels + c] = filter_at(
                    &t, src + (int64_t)y * j->src_w * channels + c, channels);
    }
}

static void along_y(const struct resize_job *j, const uint8_t *mid, int channels,
                    int width, uint8_t *dst)
{
    int64_t row = (int64_t)j->x.n * channels;
    struct taps t;

    for (int y = 0; y < j->y.n; y++) {
        uint8_t *out = dst + ((int64_t)(j->dst_y + y) * width + j->dst_x) * channels;

        fill_taps(&t, &j->y, j->filter, j->y.first + y);
        t.first -= j->src_y;
        for (int64_t i = 0; i < row; i++)
            out[i] = filter_at(&t, mid + i, row);
    }
}

void resize_image(const struct step *s, int64_t i, void *scratch)
{
    const struct resize_attrs *a = s->node->attrs;
    const struct resize_job *j = (const struct resize_job *)s->in[RESIZE_JOBS] + i;
    int64_t size = (int64_t)a->height * a->width * a->channels;
    const uint8_t *src = (const uint8_t *)s->in[RESIZE_X] +
                         i * resize_place(a->width, a->height, a->channels);
    uint8_t *dst = (uint8_t *)s->out[0] + i * size;

    if (!j->resize) {
        memcpy(dst, src, (size_t)size);
        return;
    }
    if (j->x.n < a->width || j->y.n < a->height)
        memset(dst, 0, (size_t)size);
    along_x(j, src, a->channels, scratch);
    along_y(j, scratch, a->channels, a->width, dst);
}

static size_t resize_ref_scratch(const struct node *n)
{
    return resize_scratch(n->attrs);
}

static void resize_ref(const struct step *s)
{
    for (int64_t i = 0; i < s->node->out[0]->dim[IMAGE_N]; i++)
        resize_image(s, i, s->workspace);
}

const struct op op_resize = {
    .name = "resize",
    .attrs_size = sizeof(struct resize_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = resize_shape,
    .ref = resize_ref,
    .ref_scratch = resize_ref_scratch,
};
