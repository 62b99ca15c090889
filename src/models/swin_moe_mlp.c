/* The mixture of experts of a Swin-MoE block: gate, routing, experts, and balance loss. */
#include <math.h>

#include "base/error.h"
#include "models/stages.h"
#include "models/swin_moe.h"
#include "ops/add.h"
#include "ops/add_noise.h"
#include "ops/all_to_all.h"
#include "ops/concat.h"
#include "ops/dropout.h"
#include "ops/expr.h"
#include "ops/linear.h"
#include "ops/matmul.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
#include "ops/reduce_sum.h"
#include "ops/softmax.h"
#include "ops/view.h"

enum { H = 1, W, C };

/* An MLP under construction. */
struct moe {
    struct swin *s;
    struct builder *b;
    const struct swin_moe_options *o;
    const char *layer, *gate; /* "...mlp._moe_layer", "...mlp._moe_layer.gates.0" */
    int64_t tokens, experts, capacity, top;
    const struct collective *shards; /* processes with a share of the experts; or NULL */
    int64_t local, rows; /* experts of this process, and rows that each of them gets */
    struct tensor *logits, *noisy, *scores; /* [N, H, W, experts], fp32 */
    struct node *route;
};

static const char *name_of(const struct moe *m, const char *suffix)
{
    return swin_name(m->s, m->gate, suffix);
}

static struct init normal(const struct moe *m)
{
    return (struct init){INIT_TRUNC_NORMAL, (float)m->o->init_std};
}

/* The sum of x over dim d. */
static struct tensor *sum_over(const struct moe *m, struct tensor *x, int d,
                               const char *layer)
{
    struct tensor like = *x;

    like.dim[d] = 1;
    return reduce_sum(m->b, x, &like, layer);
}

/* x / max(|x|, 1e-12), with the norm over dim d. */
static struct tensor *unit(const struct moe *m, struct tensor *x, int d,
                           const char *layer)
{
    struct expr e = expr_start(layer, 1, &x);
    struct tensor *square = expr_end(m->b, &e, expr_add(&e, EXPR_SQUARE, 0));
    struct tensor *in[] = {x, sum_over(m, square, d, layer)};
    int v;

    e = expr_start(layer, 2, in);
    v = expr_number(&e, EXPR_AT_LEAST, 1, 1e-24f);
    v = expr_add(&e, EXPR_RSQRT, v);
    return expr_end(m->b, &e, expr_add(&e, EXPR_MUL, 0, v));
}

/* x min(exp(t), 100), t being a parameter of one number. */
static struct tensor *times_exp(const struct moe *m, struct tensor *x, struct tensor *t)
{
    static const int64_t one[] = {1, 1, 1, 1};
    const char *layer = name_of(m, "scale");
    struct tensor *in[] = {x, view_plain(m->b, t, layer, x->ndim, one)};
    struct expr e = expr_start(layer, 2, in);
    int v = expr_number(&e, EXPR_AT_MOST, 1, logf(100));

    v = expr_add(&e, EXPR_EXP, v);
    return expr_end(m->b, &e, expr_add(&e, EXPR_MUL, 0, v));
}

/* The parameters come in the order of Tutel's state dict. */
static struct tensor *cosine_logits(const struct moe *m, struct tensor *x)
{
    int64_t one = 1, width = m->o->cosine_router_dim, dim[] = {width, m->experts};
    struct tensor *temperature = graph_param(
        m->b, m->gate, "temperature", LAYOUT_PLAIN, 1, &one,
        (struct init){INIT_CONSTANT, (float)-log(m->o->cosine_router_init_t)});
    struct tensor *sim = graph_param(m->b, m->gate, "sim_matrix", LAYOUT_PLAIN, 2, dim,
                                     (struct init){INIT_NORMAL, 0.01f});
    struct matmul_attrs a = {.layer = name_of(m, "cosine"),
                             .batch = {1, 1},
                             .rows = m->tokens,
                             .columns = m->experts,
                             .sums = width,
                             .ndim = 4,
                             .dim = {x->dim[0], x->dim[H], x->dim[W], m->experts}};

    x = linear(m->b, x, name_of(m, "cosine_projector"), .out = (int)width, .bias = 1,
               .init = m->s->init, .bias_init = INIT_RULE_ZERO);
    x = unit(m, x, C, name_of(m, "cosine_projector.norm"));
    sim = unit(m, sim, 0, name_of(m, "sim_matrix.norm"));
    matmul_order(a.a, (int64_t[]){1, 1, a.rows, a.sums});
    matmul_order(a.b, (int64_t[]){1, 1, a.sums, a.columns});
    matmul_order(a.y, (int64_t[]){1, 1, a.rows, a.columns});
    return times_exp(m, matmul(m->b, x, sim, &a), temperature);
}

/* The gates [tokens, top] of the chosen experts. */
static struct tensor *gates(const struct moe *m)
{
    const char *layer = name_of(m, "gate");
    struct tensor *gate =
        moe_pick(m->b, m->scores, m->route->out[MOE_ROUTE_SLOT], (int)m->capacity, layer);
    struct tensor *in[] = {gate, NULL};
    struct expr e;
    int v;

    if (m->top == 1 || !m->o->normalize_gate)
        return gate;
    in[1] = sum_over(m, gate, 1, layer);
    e = expr_start(layer, 2, in);
    v = expr_number(&e, EXPR_AT_LEAST, 1, 0x1p-23f);
    return expr_end(m->b, &e, expr_add(&e, EXPR_DIV, 0, v));
}

/* ---- balance loss ---- */

/* The square of the coefficient of variation of v [experts], from the sums of squares of
 * differences from the mean. */
static struct tensor *variation(const struct moe *m, struct tensor *v, const char *layer)
{
    float n = (float)m->experts;
    struct tensor *in[] = {v, sum_over(m, v, 0, layer)}, *square;
    struct expr e = expr_start(layer, 2, in);
    int x = expr_number(&e, EXPR_SCALE_BY, 1, 1 / n), y;

    x = expr_add(&e, EXPR_SUB, 0, x);
    square = expr_end(m->b, &e, expr_add(&e, EXPR_SQUARE, x));
    in[0] = sum_over(m, square, 0, layer);
    e = expr_start(layer, 2, in);
    x = expr_number(&e, EXPR_SCALE_BY, 0, 1 / (n - 1));
    y = expr_number(&e, EXPR_SCALE_BY, 1, 1 / n);
    y = expr_add(&e, EXPR_SQUARE, y);
    y = expr_number(&e, EXPR_ADD_BY, y, 1e-10f);
    return expr_end(m->b, &e, expr_add(&e, EXPR_DIV, x, y));
}

/* The noisy logit of the last chosen expert, [N, H, W, 1]. */
static struct tensor *threshold(const struct moe *m, const char *layer)
{
    const struct tensor *x = m->noisy;
    struct tensor *t =
        moe_pick(m->b, m->noisy, m->route->out[MOE_ROUTE_SLOT], (int)m->capacity, layer);
    struct slice_attrs last = {layer, 1, (int)m->top - 1, 1};

    if (m->top > 1)
        t = node(m->b, &op_slice, layer, &last, &t, 1);
    return view_plain(m->b, t, layer, 4,
                      (const int64_t[]){x->dim[0], x->dim[H], x->dim[W], 1});
}

/* Tutel's load_importance_loss. The probability that an expert would be chosen again has
 * its score, not its logit, as the mean. */
static struct tensor *importance_and_load(const struct moe *m, const char *layer)
{
    struct tensor *p = softmax(m->b, m->logits, layer);
    struct tensor *in[] = {p, threshold(m, layer)}, *part[2];
    const struct tensor vector = {.ndim = 1, .dim = {m->experts}};
    struct expr e = expr_start(layer, 2, in);
    int v = expr_add(&e, EXPR_SUB, 0, 1);

    v = expr_number(&e, EXPR_SCALE_BY, v, (float)((double)m->experts / m->o->gate_noise));
    in[1] = expr_end(m->b, &e, expr_add(&e, EXPR_NORMAL_CDF, v));
    for (int i = 0; i < 2; i++)
        part[i] = variation(m, reduce_sum(m->b, in[i], &vector, layer), layer);
    e = expr_start(layer, 2, part);
    v = expr_add(&e, EXPR_ADD, 0, 1);
    return expr_end(m->b, &e, expr_number(&e, EXPR_SCALE_BY, v, 0.5f));
}

static struct tensor *gshard(const struct moe *m, const char *layer)
{
    const struct tensor vector = {.ndim = 1, .dim = {m->experts}};
    double tokens = (double)m->tokens;
    struct tensor *in[] = {reduce_sum(m->b, m->scores, &vector, layer),
                           m->route->out[MOE_ROUTE_FIRST]};
    struct expr e = expr_start(layer, 2, in);
    int v = expr_add(&e, EXPR_MUL, 0, 1);

    v = expr_number(&e, EXPR_SCALE_BY, v, (float)((double)m->experts / tokens / tokens));
    return sum_over(m, expr_end(m->b, &e, v), 0, layer);
}

static void add_balance(const struct moe *m)
{
    const char *layer = name_of(m, "balance");
    struct model_stages *dst = m->s->common->stages;
    struct tensor *loss;

    if (!m->b->g->training || !dst || m->o->aux_loss_weight == 0)
        return;
    loss = m->o->is_gshard_loss ? gshard(m, layer) : importance_and_load(m, layer);
    dst->balance = dst->balance ? add(m->b, dst->balance, loss, layer) : loss;
    dst->balance_weight = m->o->aux_loss_weight;
}

/* ---- experts ---- */

/* y [own, rows, out] = x [own, rows, in] times the matrices w, which are [own, out, in], or
 * [own, in, out] if `transposed`. */
static struct tensor *each(const struct moe *m, struct tensor *x, struct tensor *w,
                           bool transposed, const char *layer)
{
    int64_t e = m->local, rows = m->rows, in = x->dim[2],
            out = w->dim[transposed ? 2 : 1];
    struct matmul_attrs a = {.layer = layer,
                             .batch = {e, 1},
                             .rows = rows,
                             .columns = out,
                             .sums = in,
                             .ndim = 3,
                             .dim = {e, rows, out}};

    matmul_order(a.a, (int64_t[]){e, 1, rows, in});
    matmul_order(a.b, (int64_t[]){e, 1, in, out});
    if (!transposed) {
        a.b[MATMUL_ROW] = 1;
        a.b[MATMUL_COLUMN] = in;
    }
    matmul_order(a.y, (int64_t[]){e, 1, rows, out});
    return matmul(m->b, x, w, &a);
}

/* x plus a row of `bias` per expert; then GELU if `act`. */
static struct tensor *plus(const struct moe *m, struct tensor *x, struct tensor *bias,
                           bool act, const char *layer)
{
    struct tensor *in[] = {
        x, view_plain(m->b, bias, layer, 3, (const int64_t[]){m->local, 1, x->dim[2]})};
    struct expr e = expr_start(layer, 2, in);
    int v = expr_add(&e, EXPR_ADD, 0, 1);

    return expr_end(m->b, &e, act ? expr_add(&e, EXPR_GELU, v) : v);
}

struct weights {
    struct tensor *w1, *w2, *b1, *b2;
};

/* A parameter with one item per expert. */
static struct tensor *of_experts(const struct moe *m, const char *name, int ndim,
                                 const int64_t *dim, struct init init)
{
    struct tensor *t = graph_param(m->b, swin_name(m->s, m->layer, "experts"), name,
                                   LAYOUT_PLAIN, ndim, dim, init);

    if (m->shards) {
        t->shards = m->shards->world;
        t->shard = m->shards->rank;
    }
    return t;
}

static struct weights weights_of(const struct moe *m, int64_t channels, int64_t hidden)
{
    int64_t dim[] = {m->local, hidden, channels}, out[] = {m->local, channels};
    const struct init zero = {INIT_ZERO, 0};
    struct weights w = {
        .w1 = of_experts(m, "batched_fc1_w", 3, dim, normal(m)),
        .w2 = of_experts(m, "batched_fc2_w", 3, dim, normal(m)),
        .b1 = of_experts(m, "batched_fc1_bias", 2, dim, zero),
        .b2 = of_experts(m, "batched_fc2_bias", 2, out, zero),
    };

    if (!m->o->mlp_fc2_bias) { /* Tutel has it always */
        w.b2->frozen = true;
        w.b2->trainable = w.b2->held = false;
    }
    return w;
}

static struct tensor *experts(const struct moe *m, struct tensor *x,
                              const struct weights *w)
{
    const char *layer = swin_name(m->s, m->layer, "experts");
    const char *fc1 = swin_name(m->s, layer, "fc1"), *fc2 = swin_name(m->s, layer, "fc2");

    if (m->shards)
        x = all_to_all(m->b, x, m->shards, false, swin_name(m->s, m->layer, "send"));
    x = plus(m, each(m, x, w->w1, false, fc1), w->b1, true, fc1);
    x = dropout(m->b, x, swin_name(m->s, layer, "drop"), .rate = (float)m->o->moe_drop);
    x = plus(m, each(m, x, w->w2, true, fc2), w->b2, false, fc2);
    if (m->shards)
        x = all_to_all(m->b, x, m->shards, true, swin_name(m->s, m->layer, "return"));
    return x;
}

/* ---- routing ---- */

/* The experts of the tokens x, and their places. */
static void choose_experts(struct moe *m, struct tensor *x)
{
    float deviation = (float)(m->o->gate_noise / (double)m->experts);

    m->logits = m->o->cosine_router ? cosine_logits(m, x)
                                    : linear(m->b, x, name_of(m, "wg"),
                                             .out = (int)m->experts, .init = m->s->init);
    m->noisy = add_noise(m->b, m->logits, deviation, name_of(m, "noise"));
    m->scores = softmax(m->b, m->noisy, name_of(m, "softmax"));
    m->route = moe_route(m->b, m->scores, name_of(m, "route"), .top = (int)m->top,
                         .capacity = (int)m->capacity, .prioritized = m->o->use_bpr);
}

/* Sets the sizes of an MLP for the tokens x [N, H, W, C]. */
static void set_sizes(struct moe *m, const struct tensor *x, const char *block)
{
    m->layer = swin_name(m->s, block, "mlp._moe_layer");
    m->gate = swin_name(m->s, m->layer, "gates.0");
    m->tokens = x->dim[0] * x->dim[H] * x->dim[W];
    m->experts = swin_moe_experts(m->o, m->s->common->processes);
    m->capacity = swin_moe_capacity(m->o, m->tokens, m->experts);
    m->top = m->o->top_value;
    m->shards = m->b->layer_prefix ? NULL : m->b->g->experts; /* a teacher has all */
    if (m->shards && m->experts % m->shards->world)
        usage("DIST.SHARD_EXPERTS: the number of experts (%lld) is not a multiple of the "
              "number of processes (%d); without it, every process has all experts",
              (long long)m->experts, m->shards->world);
    m->local = m->shards ? m->experts / m->shards->world : m->experts;
    m->rows = m->shards ? m->capacity * m->shards->world : m->capacity;
    if (m->capacity < 1)
        usage("MODEL.SWIN_MOE.CAPACITY_FACTOR %g leaves no token to the experts of %s: a "
              "batch has %lld tokens for %lld experts",
              m->o->capacity_factor, block, (long long)m->tokens, (long long)m->experts);
}

struct tensor *swin_moe_mlp(struct swin *s, struct tensor *x,
                            const struct swin_block *block)
{
    const struct swin_moe_options *o = (const struct swin_moe_options *)s->o;
    int64_t channels = x->dim[C],
            hidden = (int64_t)((double)channels * o->swin.mlp_ratio);
    struct moe m = {.s = s, .b = s->b, .o = o};
    struct moe_slots slots;
    struct tensor *gate, *y;
    struct weights w;

    set_sizes(&m, x, block->name);
    w = weights_of(&m, channels, hidden);
    choose_experts(&m, x);
    slots =
        (struct moe_slots){m.route->out[MOE_ROUTE_SLOT], m.route->out[MOE_ROUTE_TOKEN],
                           (int)m.experts, (int)m.capacity};
    gate = gates(&m);
    add_balance(&m);
    y = moe_dispatch(m.b, x, NULL, &slots, swin_name(s, m.layer, "dispatch"));
    y = experts(&m, y, &w);
    y = moe_combine(m.b, y, gate, &slots, swin_name(s, m.layer, "combine"));
    return view_like(m.b, y, x, swin_name(s, m.layer, "tokens"));
}
