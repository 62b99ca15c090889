#include "cases/case_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/philox.h"
#include "cases/case_build.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "ops/control.h"
#include "ops/half_grads.h"
#include "ops/qlayer.h"
#include "ops/table.h"

/* Memories of plain fp32 that outlive a step. */
static const enum memory float_memory[] = {
    MEMORY_WEIGHTS, MEMORY_GRADS, MEMORY_GRADS_SUM, MEMORY_MOMENT1,
    MEMORY_MOMENT2, MEMORY_EMA,   MEMORY_STATS,     MEMORY_PENDING};

enum {
    FLOAT_MEMORIES = sizeof(float_memory) / sizeof(float_memory[0]),
    BENCH_DRAWN = 1 << 20
};

/* ---- building ---- */

static void add_backward(struct case_run *r, struct builder *b)
{
    struct tensor *y = r->build.out[0];

    if (r->row->no_gradient || r->options.forward_only)
        return;
    r->seed = graph_input(b, "dy", DTYPE_F32, y->layout, y->ndim, y->dim);
    autodiff(b, y, r->seed);
}

static void build(struct case_run *r)
{
    struct builder b = {0};
    const struct case_options *o = &r->options;
    struct case_size size = o->bench ? r->row->bench : r->row->small;

    r->graph = b.g = graph_new(&graph_ops_default, !r->row->inference);
    if (r->row->freeze)
        graph_freeze(r->graph, &r->row->freeze, 1);
    graph_share_norms(r->graph, r->row->norms);
    graph_share_batch(r->graph, r->row->batch, r->row->half);
    r->build = (struct case_build){.b = &b, .bench = o->bench};
    if (o->batch)
        size.dim[0] = o->batch;
    r->row->build(&r->build, r->row, &size);
    r->build.b = NULL;
    for (int i = 0; i < r->build.nout; i++)
        graph_output(r->graph, r->build.out[i]);
    graph_flatten(r->graph);
    add_backward(r, &b);
    if (r->row->update)
        case_update_phase(&b, r->row->update);
    if (o->dtype != DTYPE_F32)
        precision(r->graph, o->mixed ? AMP_O1 : AMP_O2, o->dtype);
}

/* ---- filling ---- */

static float rounded(float v, enum dtype d)
{
    if (d == DTYPE_F16)
        return fp16_to_float(fp16_from_float(v));
    return d == DTYPE_BF16 ? bf16_to_float(bf16_from_float(v)) : v;
}

/* Returns element i of n of the tensor with this id, except for labels and bytes. */
static float value(enum case_fill fill, uint64_t seed, int id, int64_t i, int64_t n)
{
    struct philox r = philox(seed, PHILOX_TEST, (uint64_t)id, (uint64_t)i);
    float u = philox_uniform(r.v[0]);
    int64_t step = n % 7 ? 7 : n % 11 ? 11 : 13; /* coprime with n: a cycle */

    switch (fill) {
    case CASE_SIGNED:
        return 2 * u - 1;
    case CASE_STEPS:
        return (u < 0.5f ? -0.1f : 0.1f) * ((float)philox_below(r.v[1], 12) + 0.5f);
    case CASE_DISTINCT:
        return (float)(i * step % n) * 8 / (float)n - 4;
    case CASE_TIES:
        return (const float[]){0, 1, -1, -0.0f, 2}[philox_below(r.v[1], 5)];
    case CASE_FAR:
        return 8 + u;
    default:
        return u;
    }
}

static int32_t label(const struct case_input *in, int64_t i)
{
    if (in->fill == CASE_NO_LABELS || (in->fill == CASE_HOLES && i % 3 == 1))
        return -1;
    return (int32_t)(i * 5 % in->classes);
}

/*
 * Returns how many leading elements of t are drawn. Large tensors of benchmarks repeat
 * them: drawing hundreds of millions on a GPU would take longer than timing.
 */
static int64_t drawn(const struct case_run *r, const struct tensor *t)
{
    int64_t n = tensor_len(t);

    return r->options.bench && n > BENCH_DRAWN ? BENCH_DRAWN : n;
}

static void repeat(const struct case_run *r, const struct tensor *t, char *cursor)
{
    size_t size = tensor_size(t), done = size / (size_t)tensor_len(t);

    for (done *= (size_t)drawn(r, t); done < size; done *= 2)
        memcpy(cursor + done, cursor, size - done < done ? size - done : done);
}

static void fill_floats(const struct case_run *r, const struct tensor *t,
                        enum case_fill fill, char *cursor)
{
    float *v = (float *)(void *)cursor;
    int64_t n = drawn(r, t);

    for (int64_t i = 0; i < n; i++)
        v[i] =
            rounded(value(fill, (uint64_t)r->row->seed, t->id, i, n), r->options.round);
    repeat(r, t, cursor);
}

static void fill_input(const struct case_run *r, const struct case_input *in,
                       char *cursor)
{
    int64_t n = drawn(r, in->tensor);

    if (in->make) {
        in->make(cursor, in->tensor, r->row);
        return;
    }
    if (tensor_is_float(in->tensor))
        fill_floats(r, in->tensor, in->fill, cursor);
    for (int64_t i = 0; i < n && in->tensor->dtype == DTYPE_I32; i++)
        ((int32_t *)(void *)cursor)[i] = label(in, i);
    for (int64_t i = 0; i < n && in->tensor->dtype == DTYPE_U8 && in->classes; i++)
        cursor[i] = (char)label(in, i); /* -1 becomes 255 */
    for (int64_t i = 0; i < n && in->tensor->dtype == DTYPE_U8 && !in->classes; i++)
        cursor[i] =
            (char)(philox(17, PHILOX_TEST, (uint64_t)in->tensor->id, (uint64_t)i).v[0]);
    repeat(r, in->tensor, cursor);
}

static void fill_nans(const struct op_case *row, const struct tensor *t, float *v)
{
    int64_t n = tensor_len(t), every = row->nan_every;

    for (int64_t i = 0; every && i < n; i += every)
        v[i] = i < n / 2 ? NAN : -NAN;
    if (!every)
        v[row->nan_last ? n - 1 : 0] = row->nan_last ? -NAN : NAN;
}

static void fill_inputs(struct case_run *r)
{
    char *host = xcalloc(1, program_need(r->program, MEMORY_INPUT));

    for (int i = 0; i < r->build.ninput; i++)
        fill_input(r, &r->build.input[i], host + r->build.input[i].tensor->offset);
    if (r->seed)
        fill_floats(r, r->seed, CASE_SIGNED, host + r->seed->offset);
    if (r->options.nan && r->build.ninput && tensor_is_float(r->build.input[0].tensor)) {
        const struct tensor *t = r->build.input[0].tensor;

        fill_nans(r->row, t, (float *)(void *)(host + t->offset));
    }
    r->backend->copy_in(r->dev, r->base[MEMORY_INPUT], host,
                        program_need(r->program, MEMORY_INPUT));
    free(host);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

/*
 * Scales and variances are in [0.5, 1.5), everything else in [-0.5, 0.5); but int8 scales
 * are small, and int8 weights are even numbers, which 7 bits hold, too.
 */
static float weight(const struct tensor *t, float u)
{
    bool positive = ends_with(t->name, "running_var") ||
                    (t->ndim == 1 && ends_with(t->name, "weight"));

    if (ends_with(t->name, QLAYER_WEIGHT_NAME))
        return 2 * rintf(127 * u - 63.5f);
    if (ends_with(t->name, "_scale") && t->ndim == 1)
        return (u + 0.5f) / 256;
    return u + (positive ? 0.5f : -0.5f);
}

static void fill_weights(struct case_run *r)
{
    const struct flat *f = r->graph->flat;
    size_t size = program_need(r->program, MEMORY_WEIGHTS);
    char *host = xcalloc(1, size);

    for (int s = 0; s < f->nsegment; s++) {
        const struct tensor *t = f->segment[s].tensor;
        float *v = (float *)(void *)(host + t->offset);

        for (int64_t i = 0; i < f->segment[s].len; i++)
            v[i] = rounded(weight(t, value(CASE_UNIT, (uint64_t)r->row->seed, t->id, i,
                                           f->segment[s].len)),
                           r->options.round) *
                   (r->row->signed_scales && t->ndim == 1 && i % 2 ? -1.0f : 1.0f);
    }
    r->backend->copy_in(r->dev, r->base[MEMORY_WEIGHTS], host, size);
    free(host);
}

static void fill_control(struct case_run *r)
{
    struct control c = {
        .step = 5,
        .micro = 7,
        .seed = 12345,
        .lr = 0.1,
        .ema_decay = 0.9,
        .updates = 4,
        .loss_scale = 8,
        .grad_multiplier = 0.125,
    };

    r->backend->copy_in(r->dev, r->base[MEMORY_CONTROL], &c, sizeof(c));
}

void case_run_build(struct case_run *r, const struct op_case *row,
                    const struct backend *backend, struct device *dev,
                    const struct case_options *o)
{
    memset(r, 0, sizeof(*r));
    r->row = row;
    r->backend = backend;
    r->dev = dev;
    r->options = *o;
    build(r);
}

void case_run_init(struct case_run *r, const struct op_case *row,
                   const struct backend *backend, struct device *dev,
                   const struct case_options *o)
{
    struct compile_options c = {.keep_declines = true, .redzones = !o->bench};

    case_run_build(r, row, backend, dev, o);
    r->program = program_compile(r->graph, backend, dev, &c);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(r->program, (enum memory)m))
            r->base[m] = backend->alloc(dev, program_need(r->program, (enum memory)m));
    program_bind(r->program, r->base);
    if (r->base[MEMORY_INPUT])
        fill_inputs(r);
    if (r->base[MEMORY_WEIGHTS])
        fill_weights(r);
    if (r->base[MEMORY_CONTROL])
        fill_control(r);
    program_refresh(r->program);
}

void case_run_release(struct case_run *r)
{
    program_free(r->program);
    graph_free(r->graph);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (r->base[m])
            r->backend->free(r->dev, r->base[m]);
}

/* ---- results ---- */

static float *value_new(struct case_values *dst, const char *name, int64_t n)
{
    struct case_value v = {name, xcalloc((size_t)n + 1, sizeof(float)), n};

    GROW(dst->item, dst->n, dst->cap);
    dst->item[dst->n++] = v;
    return v.v;
}

/* Fetches a float tensor of any type from any memory. */
static void fetch_tensor(const struct case_run *r, const struct tensor *t,
                         const char *name, struct case_values *dst)
{
    int64_t n = tensor_len(t);
    float *v = value_new(dst, name, n);
    uint16_t *half;

    r->backend->copy_out(r->dev, v, program_data(r->program, t), tensor_size(t));
    if (!dtype_is_half(t->dtype))
        return;
    half = xmemdup(v, tensor_size(t));
    for (int64_t i = 0; i < n; i++)
        v[i] = t->dtype == DTYPE_F16 ? fp16_to_float(half[i]) : bf16_to_float(half[i]);
    free(half);
}

/* Fetches a memory of floats, and packed gradients (ops/half_grads.h) as floats. */
static void fetch_memory(const struct case_run *r, enum memory m, struct case_values *dst)
{
    bool packed = m == MEMORY_GRADS && half_grads_dtype(r->graph) != DTYPE_F32;
    size_t size = program_need(r->program, m);
    int64_t n = packed ? r->graph->flat->trained_len : (int64_t)(size / sizeof(float));
    float *v = value_new(dst, memory_name(m), n);
    void *host = packed ? xmalloc(size) : v;

    r->backend->copy_out(r->dev, host, r->base[m], size);
    if (!packed)
        return;
    half_grads_widen(r->graph, host, v);
    free(host);
}

static void fetch_metrics(const struct case_run *r, struct case_values *dst)
{
    struct metrics m;
    float *v = value_new(dst, "metrics", 7);

    r->backend->copy_out(r->dev, &m, r->base[MEMORY_METRICS], sizeof(m));
    v[0] = (float)m.loss_sum;
    v[1] = (float)m.count;
    v[2] = (float)m.top1;
    v[3] = (float)m.top5;
    v[4] = (float)m.nonfinite;
    v[5] = (float)m.runs;
    v[6] = (float)m.measured;
}

/* Fetches the integers after struct metrics. */
static void fetch_counts(const struct case_run *r, struct case_values *dst)
{
    size_t size = program_need(r->program, MEMORY_METRICS);
    int64_t n = (int64_t)((size - sizeof(struct metrics)) / sizeof(int64_t));
    float *v = value_new(dst, "counts", n);
    char *host = xcalloc(1, size);

    r->backend->copy_out(r->dev, host, r->base[MEMORY_METRICS], size);
    for (int64_t i = 0; i < n; i++) {
        int64_t count;

        memcpy(&count, host + sizeof(struct metrics) + (size_t)i * sizeof(count),
               sizeof(count));
        v[i] = (float)count;
    }
    free(host);
}

static void fetch_control(const struct case_run *r, struct case_values *dst)
{
    struct control c;
    float *v = value_new(dst, "control", 10);

    r->backend->copy_out(r->dev, &c, r->base[MEMORY_CONTROL], sizeof(c));
    v[0] = (float)c.step;
    v[1] = (float)c.micro;
    v[2] = (float)c.lr;
    v[3] = (float)c.ema_decay;
    v[4] = (float)c.updates;
    v[5] = (float)c.loss_scale;
    v[6] = (float)c.grad_multiplier;
    v[7] = (float)c.grad_norm;
    v[8] = (float)c.overflow;
    v[9] = (float)c.skipped;
}

void case_fetch(const struct case_run *r, struct case_values *dst)
{
    const struct program *p = r->program;

    memset(dst, 0, sizeof(*dst));
    if (r->backend->sync)
        r->backend->sync(r->dev);
    for (int i = 0; i < r->build.nout; i++)
        fetch_tensor(r, r->build.out[i], r->build.out[i]->name, dst);
    for (int i = 0; i < r->build.ninput; i++) {
        const struct tensor *x = r->build.input[i].tensor;

        if (x->grad && r->seed)
            fetch_tensor(r, x->grad, x->grad->name, dst);
    }
    for (int i = 0; i < FLOAT_MEMORIES; i++)
        if (program_need(p, float_memory[i]))
            fetch_memory(r, float_memory[i], dst);
    if (r->base[MEMORY_METRICS])
        fetch_metrics(r, dst);
    if (program_need(p, MEMORY_METRICS) > sizeof(struct metrics))
        fetch_counts(r, dst);
    if (r->base[MEMORY_CONTROL])
        fetch_control(r, dst);
}

void case_values_release(struct case_values *v)
{
    for (int i = 0; i < v->n; i++)
        free(v->item[i].v);
    free(v->item);
    memset(v, 0, sizeof(*v));
}
