/* What picks elements by constant positions: indices, windows, flips, padding by copies. */
#include <string.h>

#include "ops/gather.h"
#include "pt2/place.h"
#include "pt2/positions.h"
#include "pt2/table.h"

/* Picks along the dims [first, first + count) of x, which are stored next to each other
 * afterwards. The order of the other dims stays. */
static struct pt2_value picked(struct pt2_import *c, const struct pt2_value *self,
                               int first, int count, const struct pt2_positions *p)
{
    struct pt2_value x = *self, y = {.kind = PT2_VALUE_TENSOR, .ndim = 3};
    struct gather_attrs a = {.extent = p->extent, .n = p->n, .index = p->index};
    int order[PT2_DIMS], real[PT2_DIMS], n = 0, place = 0;
    int64_t inner = 1;

    if (c->why->len)
        return x;
    if (!pt2_value_order(&x, order))
        for (int d = 0; d < x.ndim; d++)
            order[d] = d;
    for (int i = 0; i < x.ndim; i++) { /* the picked dims where the first of them is */
        int d = order[i];

        if (d == first)
            for (int k = 0; k < count; k++)
                real[n++] = first + k;
        if (d == first)
            place = n;
        if (d < first || d >= first + count)
            real[n++] = d;
    }
    if (!pt2_store(c, &x, real))
        return x;
    for (int i = place; i < x.ndim; i++)
        inner *= x.dim[real[i]];
    a.inner = inner;
    a.outer = pt2_value_len(&x) / (p->extent * inner);
    a.layer = pt2_layer(c);
    y.t = gather_(c->b, x.t, &a);
    /* The dims of the result, in the order in which they are stored: those of x with the
     * picked ones joined to n. */
    y.ndim = 0;
    for (int d = 0; d < x.ndim; d++)
        if (d <= first || d >= first + count)
            y.dim[y.ndim++] = d == first ? p->n : x.dim[d];
    n = 0;
    for (int i = 0; i < x.ndim; i++) {
        int d = real[i];

        if (d <= first || d >= first + count)
            order[n++] = d <= first ? d : d - (count - 1);
    }
    pt2_value_store(&y, order);
    if (!pt2_value_view(&y, p->ndim, p->dim))
        pt2_refuse(c, "its result cannot be seen in its shape");
    return y;
}

static void pick(struct pt2_import *c, const struct pt2_value *x, int first, int count,
                 const struct pt2_positions *p)
{
    struct pt2_value y = picked(c, x, first, count, p);

    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_index(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, pt2_has(c, "weight") ? "weight" : "self");
    struct pt2_positions p;
    int first = 0;
    const struct pt2_arg *list = NULL;

    for (int i = 0; i < c->node->nin; i++)
        if (!strcmp(c->node->in[i].name, "indices"))
            list = &c->node->in[i].arg;
    pt2_ignore(c, "scale_grad_by_freq");
    if (pt2_has(c, "padding_idx") && pt2_int(c, "padding_idx", -1) >= 0)
        pt2_refuse(c, "a padding index, whose gradient is 0");
    pt2_ignore(c, "padding_idx");
    pt2_ignore(c, "sparse");
    if (c->why->len || !pt2_positions(c, x, &p))
        return;
    if (list && list->kind == PT2_TENSORS) {
        int count = 0;

        while (!list->names[first])
            first++;
        for (int i = first; i < list->n && list->names[i]; i++)
            count++;
        pick(c, x, first, count, &p);
    } else {
        pick(c, x, pt2_dim(c, pt2_int(c, "dim", 0), x->ndim), 1, &p);
    }
}

/* Windows of a dim, which become a new last dim. */
void pt2_map_unfold(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    int d = pt2_dim(c, pt2_int(c, "dimension", 0), x->ndim);
    int64_t size = pt2_int(c, "size", 0), step = pt2_int(c, "step", 0), n;
    struct pt2_positions p;
    struct pt2_value y;
    int src[PT2_DIMS];

    if (!c->why->len && (size < 1 || step < 1 || size > x->dim[d] || x->ndim == PT2_DIMS))
        pt2_refuse(c, "windows that do not fit");
    if (c->why->len)
        return;
    n = (x->dim[d] - size) / step + 1;
    p = pt2_positions_along(c, x, d, 1, n * size);
    for (int64_t i = 0; i < p.n && !c->why->len; i++)
        p.index[i] = (int32_t)(i / size * step + i % size);
    p.ndim++;
    memmove(&p.dim[d + 1], &p.dim[d], (size_t)(p.ndim - 1 - d) * sizeof(*p.dim));
    p.dim[d] = n;
    p.dim[d + 1] = size;
    y = picked(c, x, d, 1, &p);
    if (c->why->len)
        return;
    for (int k = 0; k < y.ndim; k++)
        src[k] = k == y.ndim - 1 ? d + 1 : k <= d ? k : k + 1;
    pt2_value_permute(&y, src);
    pt2_result(c, y);
}

/* x[..., from the end] of some dims. */
void pt2_map_flip(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self");
    int64_t dims[PT2_DIMS];
    int n = pt2_ints(c, "dims", dims);

    if (n != 1)
        pt2_refuse(c, "a flip of %d dims", n);
    if (!c->why->len) {
        int d = pt2_dim(c, dims[0], x.ndim);
        struct pt2_positions p = pt2_positions_along(c, &x, d, 1, x.dim[d]);

        for (int64_t i = 0; i < p.n && !c->why->len; i++)
            p.index[i] = (int32_t)(p.n - 1 - i);
        pick(c, &x, d, 1, &p);
    }
}

/* Repeats each position of a dim. */
void pt2_map_repeat_interleave(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    int64_t times = pt2_int(c, "repeats", 1);
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
    struct pt2_positions p;

    pt2_ignore(c, "output_size");
    if (!pt2_has(c, "dim") || times < 1 || times > PT2_MOST)
        pt2_refuse(c, "repeats without a dim");
    if (c->why->len)
        return;
    p = pt2_positions_along(c, x, d, 1, x->dim[d] * times);
    for (int64_t i = 0; i < p.n && !c->why->len; i++)
        p.index[i] = (int32_t)(i / times);
    pick(c, x, d, 1, &p);
}

/* Repeats whole dims; new ones come first. */
void pt2_map_repeat(struct pt2_import *c)
{
    const struct pt2_value *self = pt2_tensor(c, "self");
    struct pt2_value x = *self;
    int64_t repeats[PT2_DIMS], seen[PT2_DIMS];
    bool tile = pt2_has(c, "dims");
    int n = pt2_ints(c, tile ? "dims" : "repeats", repeats), k = 0, more;

    for (; tile && n < x.ndim; n++) { /* tile repeats the last dims */
        memmove(repeats + 1, repeats, (size_t)n * sizeof(*repeats));
        repeats[0] = 1;
    }
    more = n - x.ndim;

    if (more < 0)
        pt2_refuse(c, "fewer repeats than dims");
    for (int d = 0; d < n && !c->why->len; d++) { /* dims [by, dim] where by > 1 */
        if (repeats[d] < 1 || repeats[d] > PT2_MOST)
            pt2_refuse(c, "%lld repeats", (long long)repeats[d]);
        seen[d] = repeats[d] * (d < more ? 1 : x.dim[d - more]);
        k += (repeats[d] > 1) + (d >= more);
    }
    if (k > PT2_DIMS)
        pt2_refuse(c, "more than %d dims", PT2_DIMS);
    if (c->why->len)
        return;
    x.ndim = 0;
    for (int d = 0; d < n; d++) {
        if (repeats[d] > 1) {
            x.dim[x.ndim] = repeats[d];
            x.stride[x.ndim++] = 0;
        }
        if (d >= more) {
            x.dim[x.ndim] = self->dim[d - more];
            x.stride[x.ndim++] = self->stride[d - more];
        }
    }
    if (!pt2_value_view(&x, n, seen) &&
        (!pt2_store(c, &x, (const int[]){0, 1, 2, 3, 4, 5, 6, 7}) ||
         !pt2_value_view(&x, n, seen)))
        return;
    pt2_result(c, x);
}

/* Returns the position that position i, which may be outside, repeats; -1 for another mode. */
static int64_t repeated(int64_t i, int64_t len, const char *mode)
{
    if (!strcmp(mode, "reflect"))
        return i < 0 ? -i : i >= len ? 2 * len - 2 - i : i;
    if (!strcmp(mode, "replicate"))
        return i < 0 ? 0 : i >= len ? len - 1 : i;
    return !strcmp(mode, "circular") ? (i + len) % len : -1;
}

void pt2_pad_with_copies(struct pt2_import *c, struct pt2_value x, const int64_t *before,
                         const int64_t *after, const char *mode)
{
    for (int d = 0; d < x.ndim && !c->why->len; d++) {
        int64_t n = before[d] + x.dim[d] + after[d];
        struct pt2_positions p;

        if (n == x.dim[d])
            continue;
        p = pt2_positions_along(c, &x, d, 1, n);
        for (int64_t i = 0; i < p.n && !c->why->len; i++) {
            int64_t pos = repeated(i - before[d], x.dim[d], mode);

            if (pos < 0 || pos >= x.dim[d])
                pt2_refuse(c, "padding '%s', or more of it than elements", mode);
            p.index[i] = (int32_t)pos;
        }
        x = picked(c, &x, d, 1, &p);
    }
    if (!c->why->len)
        pt2_result(c, x);
}

/* ---- windows of images ---- */

struct windows {
    int kernel[2], stride[2], pad[2], dilation[2];
    int64_t in[2], out[2];
};

static bool read_windows(struct pt2_import *c, struct windows *w)
{
    *w = (struct windows){.stride = {1, 1}, .dilation = {1, 1}};
    (void)pt2_pair(c, "kernel_size", w->kernel);
    (void)pt2_pair(c, "stride", w->stride);
    (void)pt2_pair(c, "padding", w->pad);
    (void)pt2_pair(c, "dilation", w->dilation);
    for (int i = 0; i < 2; i++)
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1)
            pt2_refuse(c, "windows without size, stride, or dilation");
    return !c->why->len;
}

/* Sets out[]; refuses windows that do not fit. */
static bool fit(struct pt2_import *c, struct windows *w)
{
    for (int i = 0; i < 2; i++) {
        int64_t room = w->in[i] + 2 * (int64_t)w->pad[i] -
                       w->dilation[i] * ((int64_t)w->kernel[i] - 1) - 1;

        if (room < 0)
            pt2_refuse(c, "windows that do not fit");
        w->out[i] = room / w->stride[i] + 1;
    }
    if ((double)w->kernel[0] * w->kernel[1] * (double)w->out[0] * (double)w->out[1] > 1e8)
        pt2_refuse(c, "too many windows");
    return !c->why->len;
}

/* The pixel of each place of each window, [kernel h, kernel w, out h, out w]. */
static void set_pixels(const struct windows *w, int32_t *index)
{
    int64_t i = 0, pos[2], place[2];

    for (pos[0] = 0; pos[0] < w->kernel[0]; pos[0]++)
        for (pos[1] = 0; pos[1] < w->kernel[1]; pos[1]++)
            for (int64_t k = 0; k < w->out[0] * w->out[1]; k++) {
                bool inside = true;

                for (int d = 0; d < 2; d++) {
                    int64_t window = d ? k % w->out[1] : k / w->out[1];

                    place[d] =
                        window * w->stride[d] - w->pad[d] + pos[d] * w->dilation[d];
                    inside = inside && place[d] >= 0 && place[d] < w->in[d];
                }
                index[i++] = inside ? (int32_t)(place[0] * w->in[1] + place[1]) : -1;
            }
}

/* Images [N,C,H,W] as columns [N, C kernel, windows]. */
void pt2_map_im2col(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    struct pt2_positions p;
    struct pt2_value y;
    struct windows w;
    int64_t kernel;

    if (!read_windows(c, &w) || x->ndim != 4) {
        pt2_refuse(c, "its operand is not an image");
        return;
    }
    w.in[0] = x->dim[2];
    w.in[1] = x->dim[3];
    if (!fit(c, &w))
        return;
    p = pt2_positions_along(c, x, 2, 2,
                            (int64_t)w.kernel[0] * w.kernel[1] * w.out[0] * w.out[1]);
    if (c->why->len)
        return;
    set_pixels(&w, p.index);
    kernel = (int64_t)w.kernel[0] * w.kernel[1];
    y = picked(c, x, 2, 2, &p);
    if (pt2_store(c, &y, (const int[]){0, 1, 2}) &&
        pt2_value_view(
            &y, 3, (const int64_t[]){x->dim[0], x->dim[1] * kernel, w.out[0] * w.out[1]}))
        pt2_result(c, y);
}

/* Columns [N, C kernel, windows] summed up to images: the gradient of im2col. */
void pt2_map_col2im(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self"), y = {.kind = PT2_VALUE_TENSOR};
    struct gather_attrs a = {.layout = LAYOUT_IMAGE, .ndim = 4};
    int side[2] = {0, 0};
    struct windows w;
    int64_t kernel, channels;
    int32_t *index;

    (void)pt2_pair(c, "output_size", side);
    if (!read_windows(c, &w))
        return;
    w.in[0] = side[0];
    w.in[1] = side[1];
    if (!fit(c, &w))
        return;
    kernel = (int64_t)w.kernel[0] * w.kernel[1];
    if (x.ndim != 3 || x.dim[1] % kernel || x.dim[2] != w.out[0] * w.out[1]) {
        pt2_refuse(c, "its operand does not fit its windows");
        return;
    }
    channels = x.dim[1] / kernel;
    a.n = kernel * x.dim[2];
    /* [N, C, kernel, windows], stored as [N, kernel, windows, C] */
    if (!pt2_value_view(&x, 4, (const int64_t[]){x.dim[0], channels, kernel, x.dim[2]}) &&
        (!pt2_store(c, &x, (const int[]){0, 1, 2}) ||
         !pt2_value_view(&x, 4, (const int64_t[]){x.dim[0], channels, kernel, x.dim[2]})))
        return;
    if (!pt2_store(c, &x, (const int[]){0, 2, 3, 1}))
        return;
    index = arena_new(&c->b->g->arena, (size_t)a.n * sizeof(*index));
    set_pixels(&w, index);
    a.index = index;
    a.outer = x.dim[0];
    a.inner = channels;
    a.extent = w.in[0] * w.in[1];
    a.layer = pt2_layer(c);
    memcpy(a.dim, (const int64_t[]){x.dim[0], channels, w.in[0], w.in[1]},
           4 * sizeof(*a.dim));
    y.t = node(c->b, &op_gather_grad, a.layer, &a, &x.t, 1);
    pt2_result_tensor(c, y.t);
}
