/* Converts bytes to normalized values, with the optional cast to bf16. */
#include "ops/normalize.h"

#include "cpu/kernels.h"
#include "cpu/rows.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/pointwise.h"

/* For rows_of(): a common multiple of the channels and of two vectors. */
enum { LANES = 16, WIDTH = NORMALIZE_CHANNELS * 2 * LANES };

struct normalize_state {
    struct rows rows;
    float scale[WIDTH], shift[WIDTH];
};

struct job {
    const struct device *dev;
    struct step *s;
    bool streamed;
};

static const char *normalize_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct normalize_state *st = region_state(r);
    struct node *cast = n->op == &op_cast ? n : NULL;
    const struct normalize_attrs *a;

    if (cast)
        n = sole_producer(g, cast->in[CAST_X], &op_normalize);
    if (!n || n->op != &op_normalize || !node_free(n))
        return "not a normalize, nor a cast directly after one";
    if (!cpu_dtype(cast ? cast->out[0] : n->out[0]))
        return "fp32 and bf16 only";

    a = n->attrs;
    st->rows = rows_of(n->in[NORMALIZE_X], dev);
    for (int64_t c = 0; c < st->rows.channels; c++) {
        rows_repeat(&st->rows, st->scale, c, normalize_scale(a->std[c]));
        rows_repeat(&st->rows, st->shift, c, normalize_shift(a->mean[c], a->std[c]));
    }
    region_claim(r, n);
    if (cast)
        region_claim(r, cast);
    (void)region_read(r, n->in[NORMALIZE_X]);
    (void)region_write(r, cast ? cast->out[0] : n->out[0]);
    return NULL;
}

static void normalize_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct normalize_state *st = j->s->state;
    enum dtype t = j->s->out_tensor[0]->dtype;

    j->dev->loops->normalize_bytes(t, (const uint8_t *)j->s->in[0] + lo,
                                   cpu_out(j->s->out[0], t, lo), hi - lo, st->rows.width,
                                   st->scale, st->shift, j->streamed);
}

static void normalize_run(struct step *s, struct device *dev)
{
    const struct normalize_state *st = s->state;
    struct job j = {dev, s, cpu_streams(dev, s, 0)};

    cpu_for(dev, st->rows.n, st->rows.width, normalize_part, &j);
}

const struct kernel cpu_normalize = {
    .name = "cpu normalize",
    .claim = normalize_claim,
    .run = normalize_run,
    .state_size = sizeof(struct normalize_state),
};
