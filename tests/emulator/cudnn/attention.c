/*
 * Attention as the fused engines support it: exactly these operations, with every tensor
 * between the GEMMs virtual, except those that one kernel of the gradient passes to the
 * next. From NVIDIA's cudnn-frontend, whose graphs NVIDIA's library supports.
 *
 *   s = q k^T;  s = scale s;  m = max s;  e = exp(s - m);  z = sum e;
 *   y = (e / z) v;  stats = m + log z
 *
 *   delta = 1 sum(dy y);  s = scale (q k^T), masked or not;  p = exp(s - stats);
 *   dv = p^T dy;  ds = scale (p (dy v^T - delta));  dk = ds^T q;  dq = ds k
 */
#include <math.h>

#include "tests/emulator/cudnn/graph.h"

#define KIND(k) ((int)CUDNN_BACKEND_OPERATION_##k##_DESCRIPTOR)
#define MODE(m) ((int)CUDNN_POINTWISE_##m)

/* Matches from results back to their inputs; `used` marks matched operations. */
struct match {
    const struct graph *g;
    bool used[OPS_MAX];
    const char *why;
    int q, k, v, y, dy, stats, queries, keys; /* tensors, or -1 */
};

static int count(const struct graph *g, int kind)
{
    int n = 0;

    for (int i = 0; i < g->nop; i++)
        n += g->op[i].kind == kind;
    return n;
}

bool graph_is_attention(const struct graph *g)
{
    return count(g, KIND(MATMUL)) > 1;
}

bool attention_is_gradient(const struct graph *g)
{
    return graph_is_attention(g) && count(g, KIND(RESHAPE)) > 0;
}

static int fail(struct match *m, const char *why)
{
    if (!m->why)
        m->why = why;
    return -1;
}

/* Returns the operation that writes tensor t if it has this kind and mode (-1: any), else
 * NULL. */
static const struct op *made_by(struct match *m, int t, int kind, int mode,
                                const char *why)
{
    for (int i = 0; t >= 0 && i < m->g->nop; i++) {
        const struct op *op = &m->g->op[i];

        for (int s = 0; s < SLOTS_MAX; s++)
            if (op->slot[s] == t && graph_writes(op, s) && op->kind == kind &&
                (mode < 0 || op->mode == mode)) {
                m->used[i] = true;
                return op;
            }
    }
    (void)fail(m, why);
    return NULL;
}

static const struct op *pointwise(struct match *m, int t, int mode, const char *why)
{
    return made_by(m, t, KIND(POINTWISE), mode, why);
}

/* Returns the index of an operation that reads t in that slot, or -1. */
static int read_by(const struct match *m, int t, int kind, int slot)
{
    for (int i = 0; t >= 0 && i < m->g->nop; i++)
        if (m->g->op[i].kind == kind && m->g->op[i].slot[slot] == t)
            return i;
    return -1;
}

static int expect_tensor(struct match *m, int *expected, int t, const char *why)
{
    if (*expected < 0)
        *expected = t;
    return *expected == t ? t : fail(m, why);
}

static bool number(const struct match *m, int t)
{
    return t >= 0 && m->g->tensor[t].by_value && m->g->tensor[t].type == CUDNN_DATA_FLOAT;
}

/* Matches t = scale (q k^T). */
static void scores(struct match *m, int t)
{
    const struct op *scale = pointwise(m, t, MODE(MUL), "scores that are not scaled");
    const struct op *dot =
        scale ? made_by(m, scale->slot[PW_X], KIND(MATMUL), -1, "scores of no GEMM")
              : NULL;

    if (!dot)
        return;
    if (!number(m, scale->slot[PW_B]))
        (void)fail(m, "a scale that is no number by value");
    m->q = dot->slot[MM_A];
    m->k = dot->slot[MM_B];
    m->queries = dot->slot[MM_M];
    m->keys = dot->slot[MM_N];
}

/* All tensors in memory are of one 16-bit type with contiguous features. */
static void check_features(struct match *m)
{
    int type = m->q < 0 ? -1 : m->g->tensor[m->q].type;

    if (type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
        (void)fail(m, "attention of neither half nor bfloat16");
    for (int i = 0; i < m->g->ntensor; i++) {
        const struct tensor *t = &m->g->tensor[i];
        bool transposed = i == m->k || (m->dy >= 0 && i == m->v);

        if (!t->real || t->by_value || t->type == CUDNN_DATA_FLOAT ||
            t->type == CUDNN_DATA_INT32)
            continue;
        if (t->type != type || t->rank != 4)
            (void)fail(m, "features of different types");
        else if (t->strides[transposed ? 2 : 3] != 1 || t->dims[transposed ? 2 : 3] % 8 ||
                 t->dims[transposed ? 2 : 3] > 256)
            (void)fail(m, "features that are not contiguous or not a multiple of 8");
    }
}

/* Engines before 9.26 read it as packed, regardless of its strides. */
static void check_stats(struct match *m, int t)
{
    const struct tensor *x = t < 0 ? NULL : &m->g->tensor[t];

    if (!x || !x->real || x->type != CUDNN_DATA_FLOAT)
        (void)fail(m, "statistics that are not floats in memory");
    else if (x->strides[0] != x->dims[1] * x->dims[2] || x->strides[1] != x->dims[2] ||
             x->strides[2] != 1)
        (void)fail(m, "statistics that are not packed");
}

static void check_all_used(struct match *m)
{
    for (int i = 0; i < m->g->nop; i++) {
        const struct op *op = &m->g->op[i];

        if (!m->used[i])
            (void)fail(m, "an operation that is no part of attention");
        if (op->kind == KIND(MATMUL) && op->sums != CUDNN_DATA_FLOAT)
            (void)fail(m, "GEMMs that are not summed in float");
    }
}

/* A virtual factor of a GEMM: 16-bit if it is the left one. */
static void check_factor(struct match *m, int t, bool half)
{
    if (t >= 0 && (m->g->tensor[t].type != CUDNN_DATA_FLOAT) != half)
        (void)fail(m, half ? "a factor that is not rounded" : "a factor that is rounded");
}

static void match_stats(struct match *m, int max, int sum)
{
    for (int i = 0; i < m->g->nop; i++) {
        const struct op *add = &m->g->op[i], *log;

        if (add->kind != KIND(POINTWISE) || add->mode != MODE(ADD))
            continue;
        m->used[i] = true;
        log = pointwise(m, add->slot[PW_B], MODE(LOG), "statistics without a logarithm");
        if (!log || add->slot[PW_X] != max || log->slot[PW_X] != sum)
            (void)fail(m, "statistics of something else");
        m->stats = add->slot[PW_Y];
        check_stats(m, m->stats);
    }
}

static void match_forward(struct match *m)
{
    const struct op *out = NULL, *div, *exp, *sub, *max, *sum;

    for (int i = 0; i < m->g->nop; i++)
        if (m->g->op[i].kind == KIND(MATMUL) &&
            m->g->tensor[m->g->op[i].slot[MM_C]].real) {
            out = &m->g->op[i];
            m->used[i] = true;
        }
    div = out ? pointwise(m, out->slot[MM_A], MODE(DIV), "weights of no division") : NULL;
    exp = div ? pointwise(m, div->slot[PW_X], MODE(EXP), "weights of no exponential")
              : NULL;
    sum = div ? made_by(m, div->slot[PW_B], KIND(REDUCTION), CUDNN_REDUCE_TENSOR_ADD,
                        "no sum of weights")
              : NULL;
    sub = exp ? pointwise(m, exp->slot[PW_X], MODE(SUB), "no maximum subtracted") : NULL;
    max = sub ? made_by(m, sub->slot[PW_B], KIND(REDUCTION), CUDNN_REDUCE_TENSOR_MAX,
                        "no maximum of scores")
              : NULL;
    if (!max || !sum) {
        (void)fail(m, "no softmax");
        return;
    }
    if (max->slot[RED_X] != sub->slot[PW_X] || sum->slot[RED_X] != exp->slot[PW_Y])
        (void)fail(m, "a softmax of different scores");
    scores(m, sub->slot[PW_X]);
    m->v = out->slot[MM_B];
    m->y = out->slot[MM_C];
    check_factor(m, out->slot[MM_A], true);
    match_stats(m, max->slot[RED_Y], sum->slot[RED_Y]);
}

/* Matches: the index along an axis is less than a length. */
static void match_inside(struct match *m, int t, int scored, int axis, int length)
{
    const struct op *less = pointwise(m, t, MODE(CMP_LT), "a mask of no comparison");
    const struct op *index =
        less ? pointwise(m, less->slot[PW_X], MODE(GEN_INDEX), "a mask of no index")
             : NULL;

    if (index && (index->axis != axis || index->slot[PW_X] != scored ||
                  less->slot[PW_B] != length || length < 0))
        (void)fail(m, "a mask along another axis, or of other lengths");
    if (less &&
        (m->g->tensor[t].type != CUDNN_DATA_BOOLEAN || less->sums != CUDNN_DATA_BOOLEAN))
        (void)fail(m, "a mask that is not boolean");
}

/* Matches p = exp(scores - stats), through the mask if there is one. */
static void match_weights(struct match *m, int p)
{
    const struct op *exp = pointwise(m, p, MODE(EXP), "weights of no exponential");
    const struct op *sub =
        exp ? pointwise(m, exp->slot[PW_X], MODE(SUB), "no statistics subtracted") : NULL;
    int s = sub ? sub->slot[PW_X] : -1, chosen = -1, both = -1;

    if (!sub)
        return;
    m->stats = sub->slot[PW_B];
    check_stats(m, m->stats);
    for (int i = 0; i < m->g->nop; i++)
        if (m->g->op[i].kind == KIND(POINTWISE) && m->g->op[i].slot[PW_Y] == s &&
            m->g->op[i].mode == MODE(BINARY_SELECT)) {
            m->used[i] = true;
            chosen = m->g->op[i].slot[PW_X];
            both = m->g->op[i].slot[PW_T];
            if (!number(m, m->g->op[i].slot[PW_B]))
                (void)fail(m, "a mask's value that is no number by value");
        }
    scores(m, chosen >= 0 ? chosen : s);
    if (chosen >= 0) {
        const struct op *and = pointwise(m, both, MODE(LOGICAL_AND), "half a mask");

        if (and&&(
                m->g->tensor[both].type != CUDNN_DATA_BOOLEAN || and->sums !=
                                                                     CUDNN_DATA_BOOLEAN))
            (void)fail(m, "a mask that is not boolean");
        if (and)
            match_inside(m, and->slot[PW_X], chosen, 2, m->queries);
        if (and)
            match_inside(m, and->slot[PW_B], chosen, 3, m->keys);
    } else if (m->queries >= 0 || m->keys >= 0) {
        (void)fail(m, "lengths without a mask");
    }
}

/* delta = 1 sum(dy y) */
static void match_delta(struct match *m, int t)
{
    const struct op *one = pointwise(m, t, MODE(MUL), "delta that is not scaled");
    const struct op *sum = one ? made_by(m, one->slot[PW_X], KIND(REDUCTION),
                                         CUDNN_REDUCE_TENSOR_ADD, "delta of no sum")
                               : NULL;
    const struct op *mul =
        sum ? pointwise(m, sum->slot[RED_X], MODE(MUL), "delta of no products") : NULL;

    check_stats(m, t);
    if (!mul)
        return;
    if (!number(m, one->slot[PW_B]))
        (void)fail(m, "delta's factor is no number by value");
    (void)expect_tensor(m, &m->dy, mul->slot[PW_X], "delta of another gradient");
    m->y = mul->slot[PW_B];
}

static void lengths(struct match *m, const struct op *op, int rows, int columns, int k)
{
    if (op->slot[MM_M] != rows || op->slot[MM_N] != columns || op->slot[MM_K] != k)
        (void)fail(m, "a GEMM of other lengths than the mask's");
}

/* Matches ds = scale (p (dy v^T - delta)); returns p. */
static int match_scores_gradient(struct match *m, int ds)
{
    const struct op *scale = pointwise(m, ds, MODE(MUL), "ds is not scaled");
    const struct op *mul =
        scale ? pointwise(m, scale->slot[PW_X], MODE(MUL), "ds is no product") : NULL;
    const struct op *sub =
        mul ? pointwise(m, mul->slot[PW_X], MODE(SUB), "no delta subtracted") : NULL;
    const struct op *dot =
        sub ? made_by(m, sub->slot[PW_X], KIND(MATMUL), -1, "dp of no GEMM") : NULL;

    if (!dot)
        return -1;
    if (!number(m, scale->slot[PW_B]))
        (void)fail(m, "ds's scale is no number by value");
    m->dy = dot->slot[MM_A];
    m->v = dot->slot[MM_B];
    match_delta(m, sub->slot[PW_B]);
    match_weights(m, mul->slot[PW_B]);
    lengths(m, dot, m->queries, m->keys, -1);
    return mul->slot[PW_B];
}

/* Matches x^T times `operand`, whose result is stored. */
static void match_transposed(struct match *m, int x, int operand)
{
    int view = read_by(m, x, KIND(RESHAPE), RED_X);
    int t = view < 0 ? -1 : m->g->op[view].slot[RED_Y];
    int pos = read_by(m, t, KIND(MATMUL), MM_A);

    if (pos < 0) {
        (void)fail(m, "nothing of a transposed factor");
        return;
    }
    m->used[view] = m->used[pos] = true;
    check_factor(m, t, true);
    lengths(m, &m->g->op[pos], m->keys, -1, m->queries);
    if (m->g->op[pos].slot[MM_B] != operand ||
        !m->g->tensor[m->g->op[pos].slot[MM_C]].real)
        (void)fail(m, "a transposed factor times something else");
}

static void match_gradient(struct match *m)
{
    int view = -1, pos, p, ds, sum;

    for (int i = 0; i < m->g->nop; i++) /* k, the only transposed tensor in memory */
        if (m->g->op[i].kind == KIND(RESHAPE) &&
            m->g->tensor[m->g->op[i].slot[RED_X]].real)
            view = i;
    pos = view < 0 ? -1 : read_by(m, m->g->op[view].slot[RED_Y], KIND(MATMUL), MM_B);
    if (pos < 0) {
        (void)fail(m, "no gradient of q");
        return;
    }
    m->used[view] = m->used[pos] = true;
    ds = m->g->op[pos].slot[MM_A];
    sum = m->g->op[pos].slot[MM_C];
    p = match_scores_gradient(m, ds);
    if (m->g->op[view].slot[RED_X] != m->k)
        (void)fail(m, "the gradient of q is of another k");
    lengths(m, &m->g->op[pos], m->queries, -1, m->keys);
    check_factor(m, ds, false);
    match_transposed(m, p, m->dy);
    match_transposed(m, ds, m->q);
    if (m->g->tensor[sum].type == CUDNN_DATA_FLOAT) {
        int last = read_by(m, sum, KIND(POINTWISE), PW_X);

        if (last < 0 || m->g->op[last].mode != MODE(IDENTITY) || !m->g->tensor[sum].real)
            (void)fail(m, "sums of dq that nobody rounds");
        else
            m->used[last] = true;
    }
}

static struct match match(const struct graph *g)
{
    struct match m = {g, {0}, NULL, -1, -1, -1, -1, -1, -1, -1, -1};

    if (attention_is_gradient(g))
        match_gradient(&m);
    else
        match_forward(&m);
    check_features(&m);
    check_all_used(&m);
    return m;
}

const char *attention_unsupported(const struct graph *g)
{
    return match(g).why;
}

bool attention_adds_up(const struct graph *g)
{
    for (int i = 0; i < g->nop; i++) {
        const struct tensor *c = &g->tensor[g->op[i].slot[MM_C]];

        if (g->op[i].kind == KIND(MATMUL) && c->real && c->type == CUDNN_DATA_FLOAT)
            return true;
    }
    return false;
}

/*
 * Known bugs of the real library that its support checks do not report: 9.10.0 and
 * 9.10.1; until 9.15.1 a gradient without a mask if the keys are not a multiple of 128;
 * 64 keys in the last 128. In these cases the whole gradient is NaN here.
 */
bool attention_loses(const struct graph *g, int version)
{
    struct match m = match(g);
    int64_t keys = m.k < 0 ? 0 : g->tensor[m.k].dims[3];

    if (version == 91000 || version == 91001)
        return true;
    return attention_is_gradient(g) &&
           ((version <= 91500 && keys % 128 && m.keys < 0) || keys % 128 == 64);
}
