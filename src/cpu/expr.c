/*
 * expr: an interpreter over blocks of elements that stay in the L1 cache, one vector loop
 * for each instruction (simd/expr.inc).
 */
#include "ops/expr.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/scalar.h"
#include "graph/kernel.h"
#include "ops/expr_registers.h"

enum { BLOCK = 256 };

struct plan {
    struct expr_program program;
    struct expr_loops loops;
    bool full[EXPR_INPUTS]; /* stored as the result is */
};

struct job {
    const struct device *dev;
    struct step *s;
    const struct plan *plan;
    bool streamed;
};

/* Results that may be written over inputs: the first over the last, which is dy rather
 * than x or y; the second over the first. */
static void claim_memory(struct region *r, const struct node *n, const struct plan *plan)
{
    int last = n->nin - 1;

    while (last >= 0 && !(plan->full[last] && n->in[last]->dtype == n->out[0]->dtype))
        last--;
    if (last >= 0)
        region_inplace(r, 0, last);
    if (n->nout > 1 && last > 0 && plan->full[0] && n->in[0]->dtype == n->out[1]->dtype)
        region_inplace(r, 1, 0);
}

static const char *expr_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    struct plan *plan;

    (void)g;
    if (!node_is_expr(n))
        return "not an expr";
    if (!cpu_dtype(n->out[0]))
        return "fp32 and bf16 only";
    for (int i = 0; i < n->nin; i++)
        if (!cpu_dtype(n->in[i]))
            return "fp32 and bf16 only";

    region_claim_node(r, n);
    plan = region_state(r);
    expr_assign_registers(n, &plan->program);
    expr_loops(n, &plan->loops);
    for (int i = 0; i < n->nin; i++)
        plan->full[i] = tensor_same(n->in[i], n->out[0]);
    claim_memory(r, n, plan);
    region_workspace(r, (size_t)dev->threads * (size_t)plan->program.registers * BLOCK *
                            sizeof(float));
    return NULL;
}

/* Fills `dst` with n elements of a broadcast input from element i of the result on. */
static void gather(const struct job *j, int input, int64_t i, int64_t n, float *dst)
{
    const struct expr_loops *loops = &j->plan->loops;
    const void *src = j->s->in[input];
    enum dtype t = j->s->in_tensor[input]->dtype;
    int64_t inner = loops->len[loops->n - 1];
    int64_t stride = loops->stride[input][loops->n - 1];

    while (n > 0) {
        int64_t rest = i / inner, pos = i % inner * stride, run = inner - i % inner;

        for (int d = loops->n - 2; d >= 0; d--) {
            pos += rest % loops->len[d] * loops->stride[input][d];
            rest /= loops->len[d];
        }
        run = run < n ? run : n;
        for (int64_t k = 0; k < run; k++)
            dst[k] = scalar_get(src, t, pos + k * stride);
        dst += run, i += run, n -= run;
    }
}

/* Returns n elements of an input as fp32, in place or in `room`. */
static const float *fetch(const struct job *j, int input, int64_t i, int64_t n,
                          float *room)
{
    enum dtype t = j->s->in_tensor[input]->dtype;

    if (!j->plan->full[input])
        gather(j, input, i, n, room);
    else if (t == DTYPE_F32 && n == BLOCK)
        return (const float *)j->s->in[input] + i;
    else
        j->dev->loops->cast(t, DTYPE_F32, cpu_at(j->s->in[input], t, i), room, n, false);
    return room;
}

static void expr_block(const struct job *j, float *room, int64_t i, int64_t n)
{
    const struct expr_program *p = &j->plan->program;
    const float *value[EXPR_INPUTS + EXPR_INSTRUCTIONS];

    for (int r = 0; r < p->registers; r++)
        value[r] = room + (int64_t)r * BLOCK;
    for (int k = 0; k < p->nin; k++)
        value[p->in[k]] = fetch(j, k, i, n, room + (int64_t)p->in[k] * BLOCK);
    for (int k = 0; k < p->n; k++) {
        const struct expr_code *x = p->code + k;
        float *dst = room + (int64_t)x->dst * BLOCK;

        j->dev->loops->expr(j->s->out_tensor[0]->dtype, x->opcode, value[x->a],
                            value[x->b], value[x->c], x->m, dst, n);
        value[x->dst] = dst;
    }
    for (int k = 0; k < p->nout; k++) {
        enum dtype t = j->s->out_tensor[k]->dtype;

        if (j->s->out[k])
            j->dev->loops->cast(DTYPE_F32, t, value[p->out[k]],
                                cpu_out(j->s->out[k], t, i), n, j->streamed);
    }
}

static void expr_thread(void *arg, int thread)
{
    const struct job *j = arg;
    float *room =
        (float *)j->s->workspace + (int64_t)thread * j->plan->program.registers * BLOCK;
    int64_t lo, hi;

    cpu_part(tensor_len(j->s->out_tensor[0]), BLOCK, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i += BLOCK)
        expr_block(j, room, i, hi - i < BLOCK ? hi - i : BLOCK);
}

/* Single instructions: no copies to and from the cache. */
static void single_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct loops *loops = j->dev->loops;
    const struct expr_instruction *one = expr_single(j->s->node);
    enum dtype t = j->s->out_tensor[0]->dtype;
    const void *a = cpu_at(j->s->in[one->a], t, lo), *b = cpu_at(j->s->in[one->b], t, lo);
    void *dst = cpu_out(j->s->out[0], t, lo);

    switch (one->opcode) {
    case EXPR_RELU:
        loops->relu_forward(t, a, dst, hi - lo, one->m, j->streamed);
        break;
    case EXPR_RELU_GRAD:
        loops->relu_grad(t, a, b, dst, hi - lo, one->m, j->streamed);
        break;
    case EXPR_GELU:
    case EXPR_GELU_TANH:
        loops->gelu_forward(t, a, dst, hi - lo, one->opcode == EXPR_GELU_TANH,
                            j->streamed);
        break;
    case EXPR_GELU_GRAD:
    case EXPR_GELU_TANH_GRAD:
        loops->gelu_grad(t, a, b, dst, hi - lo, one->opcode == EXPR_GELU_TANH_GRAD,
                         j->streamed);
        break;
    case EXPR_SCALE_BY:
        loops->scale(t, a, one->m, dst, hi - lo, j->streamed);
        break;
    default:
        loops->pointwise(t, one->opcode, one->m, a, b, dst, hi - lo, j->streamed);
    }
}

/* True for an instruction of one operand or two that are stored as the result is. */
static bool is_pointwise(const struct step *s, const struct plan *plan)
{
    const struct expr_instruction *one = expr_single(s->node);

    for (int i = 0; i < s->nin; i++)
        if (!plan->full[i] || s->in_tensor[i]->dtype != s->out_tensor[0]->dtype)
            return false;
    return one && one->opcode != EXPR_SELECT;
}

/* The program of activation_lower(): a GELU's gradient, and the GELU. */
static bool is_gelu_both(const struct step *s, const struct plan *plan)
{
    const struct expr_attrs *a = s->node->attrs;
    const struct expr_instruction *x = a->code;

    if (a->n != 2 || s->nin != 2 || s->nout != 2 || !s->out[0] || !s->out[1])
        return false;
    if (x->a != 0 || x->b != 1 || x[1].a != 0 || a->out[0] != 2 || a->out[1] != 3)
        return false;
    for (int i = 0; i < 2; i++)
        if (!plan->full[i] || s->in_tensor[i]->dtype != s->out_tensor[0]->dtype ||
            s->in_tensor[i]->dtype != s->out_tensor[1]->dtype)
            return false;
    return (x->opcode == EXPR_GELU_GRAD && x[1].opcode == EXPR_GELU) ||
           (x->opcode == EXPR_GELU_TANH_GRAD && x[1].opcode == EXPR_GELU_TANH);
}

static void gelu_both_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct expr_attrs *a = s->node->attrs;
    enum dtype t = s->out_tensor[0]->dtype;

    j->dev->loops->gelu_both(t, cpu_at(s->in[0], t, lo), cpu_at(s->in[1], t, lo),
                             cpu_out(s->out[0], t, lo), cpu_out(s->out[1], t, lo),
                             hi - lo, a->code[1].opcode == EXPR_GELU_TANH);
}

static void expr_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s, s->state, s->nout == 1 && cpu_streams(dev, s, 0)};

    if (is_gelu_both(s, j.plan)) {
        cpu_for(dev, tensor_len(s->out_tensor[0]), 64, gelu_both_part, &j);
        return;
    }
    if (is_pointwise(s, j.plan)) {
        cpu_for(dev, tensor_len(s->out_tensor[0]), 64, single_part, &j);
        return;
    }
    cpu_parallel(dev, expr_thread, &j);
}

const struct kernel cpu_expr = {
    .name = "cpu expr",
    .claim = expr_claim,
    .run = expr_run,
    .state_size = sizeof(struct plan),
};
