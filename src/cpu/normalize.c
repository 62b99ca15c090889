/* Bytes to numbers, with the cast to bf16 that may stand behind. */
#include "ops/normalize.h"

#include "cpu/kernels.h"
#include "cpu/rows.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/pointwise.h"

enum { WIDTH = 4 * ROWS_WIDTH }; /* at least lcm(channels, lanes) and ROWS_WIDTH */

struct normalize_state {
    struct rows rows;
    float scale[WIDTH], shift[WIDTH];
};

struct job {
    const struct device *dev;
    struct step *s;
    bool past;
};

static const char *normalize_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct normalize_state *st = region_state(r);
    struct node *cast = n->op == &op_cast ? n : NULL;
    const struct normalize_attrs *a;

    if (cast)
        n = tensor_only_reader(g, cast->in[CAST_X]) ? cast->in[CAST_X]->producer : NULL;
    if (!n || n->op != &op_normalize || !node_free(n))
        return "not a normalize, nor a cast right behind one";
    if (!cpu_dtype(cast ? cast->out[0] : n->out[0]))
        return "fp32 and bf16 only";

    a = n->attrs;
    st->rows = rows_of(n->in[NORMALIZE_X], dev);
    for (int64_t c = 0; c < st->rows.channels; c++) {
        rows_repeat(&st->rows, st->scale, c, normalize_scale(a->std[c]));
        rows_repeat(&st->rows, st->shift, c, normalize_shift(a->mean[c], a->std[c]));
    }
    region_take(r, n);
    if (cast)
        region_take(r, cast);
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
                                   st->scale, st->shift, j->past);
}

static void normalize_run(struct step *s, struct device *dev)
{
    const struct normalize_state *st = s->state;
    struct job j = {dev, s, cpu_past(dev, s, 0)};

    cpu_for(dev, st->rows.n, st->rows.width, normalize_part, &j);
}

const struct kernel cpu_normalize = {
    .name = "cpu normalize",
    .claim = normalize_claim,
    .run = normalize_run,
    .state_size = sizeof(struct normalize_state),
};
