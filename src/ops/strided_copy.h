/*
 * strided_copy: the elements of x in another order, or some of them: y in row-major order
 * over the lengths len[0 .. n - 1] is
 *
 *   y[i0, i1, ...] = x[offset + i0 stride[0] + i1 stride[1] + ...]
 *
 * with x as it is stored. It copies what a view cannot show: permutations, slices with
 * gaps, and, where a stride is 0, repeated elements.
 *
 *   y = strided_copy(&b, x, "blocks.0.permute", .n = 3, .len = {2, 5, 4},
 *                    .stride = {20, 1, 5})
 *
 * y is plain with the dims len, the last of which are joined if there are more than
 * TENSOR_DIMS. The gradient puts each element of dy back, sums those that were repeated,
 * and is 0 elsewhere; elements must not be read at two places otherwise. As a forward op,
 * the gradient pads with zeros.
 */
#ifndef OPS_STRIDED_COPY_H
#define OPS_STRIDED_COPY_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { STRIDED_COPY_DIMS = 8 };

struct strided_copy_attrs {
    const char *layer;
    int n; /* 0: a single element */
    int64_t len[STRIDED_COPY_DIMS], stride[STRIDED_COPY_DIMS], offset;
    int layout, ndim; /* set by the builder: of x, which the gradient restores */
    int64_t dim[TENSOR_DIMS];
};

enum { STRIDED_COPY_X };
enum { STRIDED_COPY_GRAD_DY };

#define strided_copy(b, x, ...)                                                          \
    strided_copy_((b), (x), &(const struct strided_copy_attrs){.layer = __VA_ARGS__})
struct tensor *strided_copy_(struct builder *b, struct tensor *x,
                             const struct strided_copy_attrs *a);

/*
 * The loops as kernels want them: lengths of 1 are left out, loops that continue each other
 * in x are joined. Returns their number; the last one is the innermost.
 */
int strided_copy_loops(const struct strided_copy_attrs *a, int64_t len[STRIDED_COPY_DIMS],
                       int64_t stride[STRIDED_COPY_DIMS]);

/* Returns the place in x of element i of y under these loops, without the offset. */
static inline int64_t strided_copy_place(const int64_t *len, const int64_t *stride, int n,
                                         int64_t i)
{
    int64_t place = 0;

    for (int d = n - 1; d >= 0; d--) {
        place += i % len[d] * stride[d];
        i /= len[d];
    }
    return place;
}

/* True if no element of x is read twice. */
bool strided_copy_is_unique(const struct strided_copy_attrs *a);

extern const struct op op_strided_copy, op_strided_copy_grad;

#ifdef __cplusplus
}
#endif

#endif
