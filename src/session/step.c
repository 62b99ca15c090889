/* Runs batches through the programs of a session: training and evaluation. */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "graph/flat.h"
#include "ops/ema_formula.h"
#include "ops/multilabel_formula.h"
#include "session/parts.h"
#include "session/state.h"

/* Returns targets for callers without labels: of sets none is known, numbers are 0. */
static const void *unknown_targets(struct session *s, const struct tensor *targets,
                                   size_t size)
{
    if (size > s->unknown_size) {
        s->unknown = xrealloc(s->unknown, size);
        memset(s->unknown, targets->dtype == DTYPE_U8 ? MULTILABEL_UNKNOWN : 0, size);
        s->unknown_size = size;
    }
    return s->unknown;
}

static void take_batch(struct session *s, enum session_program index,
                       const struct lent_batch *batch)
{
    const struct build *b = &s->build[index];
    const struct program *p = s->program[index];
    struct lent_batch filled = *batch;
    struct inflight_place dst = {0};

    for (int i = 0; i < BATCH_ARRAYS; i++) {
        const struct tensor *t = session_batch_array(b, (enum batch_array)i);

        dst.dst[i] = t ? program_data(p, t) : NULL;
        dst.size[i] = t ? tensor_size(t) : 0;
    }
    if (b->targets && !filled.targets)
        filled.targets = unknown_targets(s, b->targets, dst.size[BATCH_TARGETS]);
    inflight_room(&s->inflight);
    inflight_input(&s->inflight, &dst, &filled);
}

static void run(struct session *s, enum session_program index)
{
    static const char *const name[] = {
        [SESSION_TRAIN] = "training step",
        [SESSION_MICRO] = "accumulation step",
        [SESSION_TAIL] = "training step of the last batch",
        [SESSION_HEAD] = "training step of the head",
        [SESSION_HEAD_MICRO] = "accumulation step of the head",
        [SESSION_HEAD_TAIL] = "training step of the head and the last batch",
        [SESSION_STATS] = "step of batch norm statistics",
        [SESSION_EVAL] = "evaluation step",
        [SESSION_EVAL_EMA] = "evaluation step of the EMA",
        [SESSION_CAM] = "gradients of a layer",
    };

    if (s->backend->range)
        s->backend->range(s->device, name[index]);
    program_run(s->program[index]);
    if (s->backend->range)
        s->backend->range(s->device, NULL);
}

/* Follows the device's rule: an update that the device skipped is skipped here, too. */
void session_step_ema(struct session *s)
{
    float rate, *e = s->ema;
    int64_t len = session_device_flat(s)->weights_len;
    struct control c;

    if (!e || s->plan.swa)
        return;
    c = session_control(s);
    rate = (float)(1 - c.ema_decay);
    if (c.overflow)
        return;
    session_copy(s, MEMORY_WEIGHTS, s->host);
    for (int64_t i = 0; i < len; i++)
        e[i] = ema_element(e[i], s->host[i], rate);
}

void session_average(struct session *s)
{
    const struct flat *f = session_device_flat(s);
    float *e = s->ema, share = 1 / (float)(s->averaged + 1);

    session_copy(s, MEMORY_WEIGHTS, s->host);
    for (int64_t i = 0; i < f->weights_len; i++)
        e[i] = i < f->param_len && s->averaged ? e[i] + (s->host[i] - e[i]) * share
                                               : s->host[i];
    s->averaged++;
}

void session_stats_lent(struct session *s, const struct lent_batch *b, float *stats)
{
    const struct flat *f = session_flat(s);

    take_batch(s, SESSION_STATS, b);
    run(s, SESSION_STATS);
    inflight_ran(&s->inflight, NULL, NULL);
    inflight_drain(&s->inflight);
    s->backend->copy_out(s->device, stats, s->base[MEMORY_STATS],
                         (size_t)(f->weights_len - f->param_len) * sizeof(float));
}

static bool tail_is_next(const struct session *s)
{
    const struct accumulation *a = &s->plan.accumulation;

    return s->plan.tail && accumulation_in_epoch(a, s->micro) == a->batches - 1;
}

int64_t session_next_batch(const struct session *s)
{
    return tail_is_next(s) ? s->plan.tail : s->plan.batch;
}

/* The tail program has its own packed weights: they are refreshed before it runs, and
 * those of the other programs afterwards. */
static void run_tail(struct session *s, const struct lent_batch *b)
{
    enum session_program tail = s->holds ? SESSION_HEAD_TAIL : SESSION_TAIL;

    program_refresh(s->program[tail]);
    take_batch(s, tail, b);
    run(s, tail);
    /* also refreshes the program of micro-batches */
    program_refresh(s->program[s->holds ? SESSION_HEAD : SESSION_TRAIN]);
}

void session_weights(const struct session *s, const struct lent_batch *b, int k,
                     double weight[SHARES])
{
    const struct accumulation *a = &s->plan.accumulation;
    bool tail = s->plan.tail && accumulation_in_epoch(a, s->micro + k) == a->batches - 1;

    shares_weights(&s->build[tail ? SESSION_TAIL : SESSION_TRAIN], &s->plan, s->mixing, b,
                   weight);
}

bool session_step_lent(struct session *s, const struct lent_batch *b)
{
    bool tail = tail_is_next(s);
    bool last = accumulation_ends(&s->plan.accumulation, s->micro++);
    enum session_program index = last ? SESSION_TRAIN : SESSION_MICRO;

    if (s->holds)
        index = last ? SESSION_HEAD : SESSION_HEAD_MICRO;
    if (tail) {
        run_tail(s, b);
    } else {
        take_batch(s, index, b);
        run(s, index);
    }
    if (s->plan.votes)
        inflight_vote(&s->inflight, s->base[MEMORY_TRAVELS]);
    inflight_ran(&s->inflight, last ? s->base[MEMORY_CONTROL] : NULL,
                 s->base[MEMORY_METRICS]);
    return last;
}

bool session_step(struct session *s, const void *pixels, const void *labels)
{
    return session_step_lent(s, &(struct lent_batch){.pixels = pixels, .labels = labels});
}

bool session_next_snapshot(struct session *s, struct snapshot *dst)
{
    return inflight_next(&s->inflight, dst);
}

bool session_voted_to_stop(struct session *s)
{
    return inflight_stop(&s->inflight);
}

void session_mark(struct session *s)
{
    inflight_mark(&s->inflight);
}

void session_drain(struct session *s)
{
    inflight_drain(&s->inflight);
}

void *session_host_alloc(struct session *s, size_t size)
{
    return s->backend->async ? s->backend->async->host_alloc(s->device, size)
                             : xalloc_aligned(size);
}

void session_host_free(struct session *s, void *p)
{
    if (s->backend->async)
        s->backend->async->host_free(s->device, p);
    else
        free(p);
}

void session_eval_begin(struct session *s, bool ema)
{
    size_t size = session_bytes(s, MEMORY_METRICS);
    void *zero = xcalloc(1, size);

    s->eval_ema = ema && session_has_ema(s);
    for (int i = 0; i < SESSION_WEIGHTS; i++)
        s->backend->copy_in(s->device, s->eval_metrics[i], zero, size);
    free(zero);
    program_refresh(s->program[SESSION_EVAL]);
    if (s->program[SESSION_CAM])
        program_refresh(s->program[SESSION_CAM]);
    if (!s->eval_ema)
        return;
    if (s->ema)
        s->backend->copy_in(s->device, session_ema(s), s->ema,
                            session_flat_bytes(s, MEMORY_EMA));
    program_refresh(s->program[SESSION_EVAL_EMA]);
}

void session_eval_lent(struct session *s, const struct lent_batch *b)
{
    take_batch(s, SESSION_EVAL, b); /* SESSION_EVAL_EMA reads it at the same place */
    run(s, SESSION_EVAL);
    if (s->eval_ema)
        run(s, SESSION_EVAL_EMA);
    inflight_ran(&s->inflight, NULL, NULL);
}

void session_eval(struct session *s, const void *pixels, const void *labels)
{
    session_eval_lent(s, &(struct lent_batch){.pixels = pixels, .labels = labels});
}

void session_eval_matrix(const struct session *s, enum session_weights index,
                         int64_t *matrix)
{
    int64_t k = session_classes(s);
    size_t size = sizeof(struct metrics) + (size_t)(k * k) * sizeof(*matrix);
    char *all = xmalloc(size);

    s->backend->copy_out(s->device, all, s->eval_metrics[index], size);
    memcpy(matrix, all + sizeof(struct metrics), size - sizeof(struct metrics));
    free(all);
}

/* Copies an output of the evaluation as floats in its stored order. */
static void copy_floats(struct session *s, enum session_program index,
                        const struct tensor *z, float *dst)
{
    int64_t n = tensor_len(z);
    uint16_t *half;

    session_drain(s);
    if (z->dtype == DTYPE_F32) {
        s->backend->copy_out(s->device, dst, program_data(s->program[index], z),
                             tensor_size(z));
        return;
    }
    half = xmalloc(tensor_size(z));
    s->backend->copy_out(s->device, half, program_data(s->program[index], z),
                         tensor_size(z));
    for (int64_t i = 0; i < n; i++)
        dst[i] = z->dtype == DTYPE_F16 ? fp16_to_float(half[i]) : bf16_to_float(half[i]);
    free(half);
}

void session_logits(struct session *s, float *dst)
{
    enum session_program index = s->eval_ema ? SESSION_EVAL_EMA : SESSION_EVAL;

    copy_floats(s, index, s->build[index].logits, dst);
}

const struct model_stage *session_stage(const struct session *s, int i)
{
    return &s->build[SESSION_EVAL].stages->stage[s->plan.out[i]];
}

void session_stage_data(struct session *s, int i, float *dst)
{
    copy_floats(s, SESSION_EVAL, session_stage(s, i)->x, dst);
}

void session_cam(struct session *s, const void *pixels, const float *seed, float *x,
                 float *dx)
{
    const struct build *b = &s->build[SESSION_CAM];

    take_batch(s, SESSION_CAM, &(struct lent_batch){.pixels = pixels, .seed = seed});
    run(s, SESSION_CAM);
    inflight_ran(&s->inflight, NULL, NULL);
    copy_floats(s, SESSION_CAM, b->cam.x, x);
    copy_floats(s, SESSION_CAM, b->cam_grad, dx);
}

void session_tensor(struct session *s, const struct tensor *t, float *dst)
{
    copy_floats(s, SESSION_EVAL, t, dst);
}

int64_t session_classes(const struct session *s)
{
    return s->cfg->model.num_classes;
}

struct metrics session_eval_metrics(const struct session *s, enum session_weights index)
{
    return session_get_metrics(s, s->eval_metrics[index]);
}
