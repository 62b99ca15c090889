#include "cuda/weights.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/cast.h"
#include "graph/flat.h"
#include "ops/cast.h"

struct half_state {
    struct device *dev;
    enum dtype half;
    int64_t len;
};

static void half_pack(void *dst, void *const *src, void *state)
{
    const struct half_state *st = state;

    cuda_cast(st->dev, dst, st->half, src[0], DTYPE_F32, st->len);
}

static int half_derive(struct region *r, struct graph *g, struct device *dev,
                       enum dtype half, bool written)
{
    struct half_state *st = xcalloc(1, sizeof(*st));

    *st = (struct half_state){dev, half, g->flat->param_len};
    return region_derive(r, &(const struct derive){
                                .size = (size_t)st->len * dtype_size(half),
                                .source = {g->flat->segment[0].tensor}, /* at offset 0 */
                                .nsource = 1,
                                .written = written,
                                .key = &half,
                                .key_len = sizeof(half),
                                .pack = half_pack,
                                .state = st,
                                .release = free,
                            });
}

int cuda_half_weights(struct region *r, struct graph *g, struct device *dev,
                      enum dtype half)
{
    return half_derive(r, g, dev, half, false);
}

int cuda_half_weights_written(struct region *r, struct graph *g, struct device *dev,
                              enum dtype half)
{
    return half_derive(r, g, dev, half, true);
}

struct tensor *cuda_weights_master(struct tensor *w)
{
    const struct node *cast = w->producer;

    if (cast && cast->op == &op_cast)
        w = cast->in[CAST_X];
    return w->kind == TENSOR_PARAM && w->memory == MEMORY_WEIGHTS && !w->constant ? w
                                                                                  : NULL;
}
