/*
 * expr: an interpreter. The program is a kernel argument, so it lies in constant memory,
 * and each of its switches goes one way for all threads. A thread computes WIDTH
 * neighboring elements in registers that it indexes: local memory, which the L1 cache
 * holds.
 */
#include "ops/expr.h"

#include "cuda/divide.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/expr_registers.h"

enum { BLOCK = 128, WIDTH = 4, FEW = 12, MANY = EXPR_INPUTS + EXPR_INSTRUCTIONS };

struct input {
    const void *x;
    bool full; /* stored as the result is */
    bool f32;   /* a parameter; otherwise of the kernel's type */
    int64_t stride[TENSOR_DIMS];
};

struct arguments {
    struct expr_program program;
    struct input in[EXPR_INPUTS];
    void *out[EXPR_OUTPUTS];
    int loops;
    int64_t n;
    struct divider len[TENSOR_DIMS];
};

static const char *expr_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    bool inplace = false;

    if (!node_is_expr(n))
        return "not an expr";
    if (tensor_len(n->out[0]) > INT32_MAX)
        return "fewer than 2^31 elements only";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype && n->in[i]->dtype != DTYPE_F32)
            return "one type for all but parameters";

    region_claim_node(r, n);
    expr_assign_registers(n, (struct expr_program *)region_state(r));
    for (int i = n->nin - 1; i >= 0 && !inplace; i--) { /* dy, rather than x or y */
        inplace = tensor_same(n->in[i], n->out[0]) && n->in[i]->dtype == n->out[0]->dtype;
        if (inplace)
            region_inplace(r, 0, i);
    }
    return nullptr;
}

__device__ static inline int64_t offset_of(const arguments &a, const input &x, unsigned i)
{
    int64_t pos = 0;

    for (int d = a.loops - 1; d >= 0; d--) {
        unsigned rest = divide(a.len[d], i);

        pos += (int64_t)(i - rest * a.len[d].divisor) * x.stride[d];
        i = rest;
    }
    return pos;
}

template <class T>
__device__ static inline float fetch(const arguments &a, const input &x, int64_t i)
{
    int64_t pos = x.full ? i : offset_of(a, x, (unsigned)i);

    return x.f32 ? ((const float *)x.x)[pos] : to_float(((const T *)x.x)[pos]);
}

template <class T, int REGISTERS>
__global__ void __launch_bounds__(BLOCK) interpret(const __grid_constant__ arguments a)
{
    int64_t first = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * WIDTH;
    int n = a.n - first < WIDTH ? (int)(a.n - first) : (int)WIDTH;
    float value[REGISTERS][WIDTH];

    if (first >= a.n)
        return;
    for (int k = 0; k < a.program.nin; k++)
        for (int e = 0; e < n; e++)
            value[a.program.in[k]][e] = fetch<T>(a, a.in[k], first + e);
    for (int k = 0; k < a.program.n; k++) {
        struct expr_code x = a.program.code[k];

        for (int e = 0; e < n; e++)
            value[x.dst][e] = expr_value(x.opcode, value[x.a][e], value[x.b][e],
                                        value[x.c][e], x.m);
    }
    for (int k = 0; k < a.program.nout; k++)
        for (int e = 0; a.out[k] && e < n; e++)
            ((T *)a.out[k])[first + e] = from_float<T>(value[a.program.out[k]][e]);
}

static void fill_arguments(arguments *a, struct step *s)
{
    struct expr_loops loops;

    a->program = *(const struct expr_program *)s->state;
    a->n = tensor_len(s->out_tensor[0]);
    expr_loops(s->node, &loops);
    a->loops = loops.n;
    for (int d = 0; d < loops.n; d++)
        a->len[d] = divider_of((unsigned)loops.len[d]);
    for (int i = 0; i < s->nin; i++) {
        a->in[i].x = s->in[i];
        a->in[i].full = tensor_same(s->in_tensor[i], s->out_tensor[0]);
        a->in[i].f32 = s->in_tensor[i]->dtype == DTYPE_F32;
        for (int d = 0; d < loops.n; d++)
            a->in[i].stride[d] = loops.stride[i][d];
    }
    for (int k = 0; k < s->nout; k++)
        a->out[k] = s->out[k];
}

static void expr_run(struct step *s, struct device *dev)
{
    arguments a = {};
    unsigned grid = cuda_blocks(tensor_len(s->out_tensor[0]), BLOCK, WIDTH);

    fill_arguments(&a, s);
    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        if (a.program.registers <= FEW)
            LAUNCH(dev, (interpret<T, FEW>), grid, BLOCK, 0, a);
        else
            LAUNCH(dev, (interpret<T, MANY>), grid, BLOCK, 0, a);
    });
}

extern const struct kernel cuda_expr = {
    .name = "cuda expr",
    .claim = expr_claim,
    .run = expr_run,
    .state_size = sizeof(struct expr_program),
};
