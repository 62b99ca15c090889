/* The update phase of the rows: everything after the backward nodes. */
#include "cases/case_build.h"

#include "graph/flat.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/optimizer.h"
#include "ops/running_stats.h"
#include "ops/state.h"
#include "ops/update_control.h"

static struct tensor *flat_state(struct builder *b, const char *name, enum memory m,
                                 int64_t len)
{
    return graph_state(b, name, m, DTYPE_F32, 0, len);
}

/*
 * Two segments per parameter, the second of which starts inside 16 bytes; parameters with
 * one dim have no decay. The second parameter is frozen.
 */
static struct update segments_of(struct graph *g)
{
    struct update_segment *s =
        arena_new(&g->arena, 2 * (size_t)g->flat->ntrained * sizeof(*s));
    int n = 0;

    for (int i = 0; i < g->flat->ntrained; i++) {
        const struct segment *p = &g->flat->segment[i];
        struct update_segment half = {
            .offset = p->offset,
            .len = p->len / 2 | 1,
            .lr_scale = i % 2 ? 0.5f : 1,
            .weight_decay = p->tensor->ndim > 1 ? 0.05f : 0,
        };

        if (i == 1)
            continue;
        s[n++] = half;
        half.offset += half.len;
        half.len = p->len - half.len;
        half.lr_scale *= 0.75f;
        if (half.len)
            s[n++] = half;
    }
    return (struct update){.segment = s, .nsegment = n};
}

static void add_optimizer(struct builder *b, const struct case_update *u,
                          struct tensor *grads)
{
    struct update update = segments_of(b->g);
    int64_t len = b->g->flat->trained_len;
    struct tensor *control = control_tensor(b);
    struct tensor *state[] = {flat_state(b, "all weights", MEMORY_WEIGHTS, len),
                              flat_state(b, "moment1", MEMORY_MOMENT1, len),
                              flat_state(b, "moment2", MEMORY_MOMENT2, len)};
    struct hyperparameters h = {
        .momentum = (double)u->momentum,
        .alpha = 0.9,
        .beta1 = 0.9,
        .beta2 = 0.99,
        .eps = 1e-3,
        .trust_coeff = 0.02,
        .nesterov = u->nesterov,
        .trust_clip = u->trust_clip,
        .always_adapt = u->always_adapt,
    };

    update.clip_value = u->clip_value;
    optimizer_node(b, optimizer_find(u->optimizer), &update, &h, grads, control, state);
}

void case_update_phase(struct builder *b, const struct case_update *u)
{
    struct tensor *control = control_tensor(b);
    struct tensor *grads = flat_state(b, "grads", MEMORY_GRADS, b->g->flat->trained_len);
    struct scaler scaler = {true, 2, 0.5, 1, 1, 1};
    struct control_prepare_attrs prepare = {
        .schedule = {.kind = SCHEDULE_COSINE, .total = 20, .base = 0.1},
        .clip_norm = (double)u->clip_norm,
        .ema_decay = 0.9,
        .ema_ramp = 10,
    };

    b->phase = PHASE_UPDATE;
    if (u->accumulation.group > 1) {
        struct tensor *sum =
            flat_state(b, "sum", MEMORY_GRADS_SUM, b->g->flat->trained_len);

        grads_accumulate(b, grads, control, sum, u->accumulation);
        grads = sum;
    }
    grad_stats(b, grads, control);
    control_prepare_node(b, control, &prepare);
    add_optimizer(b, u, grads);
    running_stats(b, control, u->accumulation, true);
    ema(b, flat_state(b, "weights and buffers", MEMORY_WEIGHTS, b->g->flat->weights_len),
        control, flat_state(b, "ema", MEMORY_EMA, b->g->flat->weights_len));
    control_finish_node(b, control, &scaler, false);
}
