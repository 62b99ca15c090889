#include "session/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/dataset.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/recompute.h"
#include "ops/confusion.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/image.h"
#include "ops/loss_scale.h"
#include "ops/metrics.h"
#include "ops/mix.h"
#include "ops/normalize.h"
#include "ops/optimizer.h"
#include "ops/running_stats.h"
#include "ops/state.h"
#include "ops/table.h"
#include "ops/update_control.h"
#include "session/model_config.h"

static struct tensor *build_input(struct build *t, struct builder *b,
                                  const struct config *cfg, int64_t batch)
{
    struct normalize_attrs a = {.layer = "input"};
    int64_t channels = cfg->model.in_chans;

    if (channels > cfg->data.mean.n || channels > cfg->data.std.n)
        BUG("unchecked channels");
    for (int64_t i = 0; i < channels; i++) {
        a.mean[i] = (float)cfg->data.mean.item[i];
        a.std[i] = (float)cfg->data.std.item[i];
    }
    t->pixels = graph_input(
        b, "pixels", DTYPE_U8, LAYOUT_IMAGE, 4,
        (const int64_t[]){batch, channels, config_height(cfg), config_width(cfg)});
    return normalize_(b, t->pixels, &a);
}

static struct tensor *build_mix(struct builder *b, const struct config *cfg,
                                struct tensor *x, struct tensor **lam)
{
    static const int mode[] = {
        [MIXUP_MODE_BATCH] = MIX_BATCH,
        [MIXUP_MODE_PAIR] = MIX_PAIR,
        [MIXUP_MODE_ELEM] = MIX_ELEM,
    };
    struct mix_attrs a = {
        .layer = "mixup",
        .mixup = (float)cfg->aug.mixup,
        .cutmix = (float)cfg->aug.cutmix,
        .prob = (float)cfg->aug.mixup_prob,
        .switch_prob = (float)cfg->aug.mixup_switch_prob,
        .mode = mode[cfg->aug.mixup_mode],
    };

    if (cfg->aug.cutmix_minmax.item) {
        a.cutmix_min = (float)cfg->aug.cutmix_minmax.item[0];
        a.cutmix_max = (float)cfg->aug.cutmix_minmax.item[1];
    }
    return mix_(b, x, control_tensor(b), lam, &a);
}

/* A label an image. */
static void build_classify(struct build *t, struct builder *b, struct tensor *lam,
                           float smoothing)
{
    struct cross_entropy_attrs a = {.layer = "loss", .smoothing = smoothing};

    t->labels = graph_input(b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &t->pixels->dim[0]);
    t->loss = cross_entropy_(b, t->logits, t->labels, lam, &a);
    (void)metrics(b, t->logits, t->labels, t->loss);
}

/* A label a pixel of the logits. */
static void build_segment(struct build *t, struct builder *b, const struct plan *p)
{
    struct cross_entropy2d_attrs a = {.layer = "loss", .ignore = LABEL_IGNORE};
    const struct tensor *z = t->logits;

    a.weighted = p->class_weight != NULL;
    for (int64_t k = 0; p->class_weight && k < z->dim[IMAGE_C]; k++)
        a.weight[k] = p->class_weight[k];
    t->labels =
        graph_input(b, "labels", DTYPE_U8, LAYOUT_PLAIN, 3,
                    (const int64_t[]){z->dim[IMAGE_N], z->dim[IMAGE_H], z->dim[IMAGE_W]});
    t->loss = cross_entropy2d_(b, t->logits, t->labels, &a);
    (void)confusion(b, t->logits, t->labels, t->loss, LABEL_IGNORE);
}

static void build_forward(struct build *t, struct builder *b, const struct config *cfg,
                          const struct plan *p, bool training, bool mixes)
{
    const struct model *model = model_of_config(cfg);
    struct model_options options = model_options_of_config(cfg);
    float smoothing = training ? (float)cfg->model.label_smoothing : 0;
    struct tensor *x, *lam = NULL;

    x = build_input(t, b, cfg, training ? p->batch : p->val_batch);
    if (mixes)
        x = build_mix(b, cfg, x, &lam);
    t->logits = model_build(b, model, &options, x);
    if (model->task == MODEL_SEGMENT)
        build_segment(t, b, p);
    else
        build_classify(t, b, lam, smoothing);
    graph_flatten(b->g);
}

static bool ends_with(const char *s, const char *end)
{
    size_t a = strlen(s), b = strlen(end);

    return a >= b && !strcmp(s + a - b, end);
}

bool build_decays(const struct tensor *t, bool decay_1d)
{
    static const char *const never[] = {
        "absolute_pos_embed", "relative_position_bias_table", "cpb_mlp", "logit_scale"};

    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
        if (strstr(t->name, never[i]))
            return false;
    return decay_1d || (t->ndim > 1 && !ends_with(t->name, ".bias"));
}

/* One for each parameter with a gradient: what is frozen or unused is not touched. */
static void build_segments(struct build *t, const struct config *cfg)
{
    struct graph *g = t->graph;

    t->segment = arena_new(&g->arena, (size_t)g->flat->ntrained * sizeof(*t->segment));
    for (int i = 0; i < g->flat->ntrained; i++) {
        const struct segment *s = &g->flat->segment[i];

        if (s->tensor->grad)
            t->segment[t->nsegment++] = (struct update_segment){
                .offset = s->offset,
                .len = s->len,
                .lr_scale = 1,
                .weight_decay = build_decays(s->tensor, cfg->train.weight_decay_1d)
                                    ? (float)cfg->train.weight_decay
                                    : 0,
            };
    }
}

static void build_optimizer(struct build *t, struct builder *b, const struct config *cfg,
                            const struct plan *p, struct tensor *grads)
{
    int64_t len = b->g->flat->trained_len;
    struct tensor *control = control_tensor(b),
                  *state[] = {
                      graph_state(b, "weights", MEMORY_WEIGHTS, DTYPE_F32, 0, len), NULL,
                      NULL};
    struct update u = {
        .segment = t->segment,
        .nsegment = t->nsegment,
        .clip_value = (float)p->clip_value,
    };
    double momentum = cfg->train.optimizer.momentum, eps = cfg->train.optimizer.eps;
    int name = cfg->train.optimizer.name;
    int nstate = name != OPTIMIZER_SGD ? 3 : momentum > 0 ? 2 : 1;

    if (p->level == AMP_O3)
        u.round = p->half == DTYPE_F16 ? UPDATE_ROUND_F16 : UPDATE_ROUND_BF16;
    for (int i = 1; i < nstate; i++)
        state[i] =
            graph_state(b, i == 1 ? "moment1" : "moment2",
                        i == 1 ? MEMORY_MOMENT1 : MEMORY_MOMENT2, DTYPE_F32, 0, len);
    if (name == OPTIMIZER_SGD) {
        struct sgd_attrs a = {"sgd", u, (float)momentum, cfg->train.optimizer.nesterov};

        optimizer(b, &op_sgd, &a, grads, control, state, nstate);
    } else if (name == OPTIMIZER_RMSPROP) {
        struct rmsprop_attrs a = {"rmsprop", u, cfg->train.optimizer.alpha, momentum,
                                  eps};

        optimizer(b, &op_rmsprop, &a, grads, control, state, nstate);
    } else {
        const double *beta = cfg->train.optimizer.betas.item;
        struct adam_attrs a = {"adam", u, beta[0], beta[1], eps, name == OPTIMIZER_ADAMW};

        optimizer(b, &op_adam, &a, grads, control, state, nstate);
    }
}

static void build_ema(struct builder *b, struct tensor *control)
{
    int64_t len = b->g->flat->weights_len;

    ema(b, graph_state(b, "weights_and_buffers", MEMORY_WEIGHTS, DTYPE_F32, 0, len),
        control, graph_state(b, "ema", MEMORY_EMA, DTYPE_F32, 0, len));
}

static void build_update(struct build *t, struct builder *b, const struct config *cfg,
                         const struct plan *p, bool last)
{
    int64_t len = b->g->flat->trained_len;
    struct tensor *control = control_tensor(b);
    struct tensor *grads = graph_state(b, "grads", MEMORY_GRADS, DTYPE_F32, 0, len);
    struct control_prepare_attrs prepare = {
        .schedule = p->schedule,
        .clip_norm = p->clip_norm,
        .ema_decay = cfg->train.ema.decay,
        .ema_ramp = cfg->train.ema.ramp_steps,
    };

    b->phase = PHASE_UPDATE;
    if (p->accumulation.group > 1) {
        struct tensor *sum =
            graph_state(b, "grads_sum", MEMORY_GRADS_SUM, DTYPE_F32, 0, len);

        grads_accumulate(b, grads, control, sum, p->accumulation);
        grads = sum;
    }
    if (last) {
        grad_stats(b, grads, control);
        control_prepare_node(b, control, &prepare);
        build_optimizer(t, b, cfg, p, grads);
    }
    running_stats(b, control, p->accumulation, last);
    if (last && cfg->train.ema.enable && cfg->train.ema.device == EMA_DEVICE_DEVICE)
        build_ema(b, control);
    if (last)
        control_finish_node(b, control, &p->scaler);
    else
        control_micro_node(b, control);
}

/* At O3, weights that are only used in half have no bits beyond it. */
static void build_rounding(struct build *t)
{
    const struct graph *g = t->graph;

    for (int i = 0, k = 0; i < g->flat->ntrained; i++) {
        const struct segment *s = &g->flat->segment[i];
        const struct node *n;
        bool half = false, full = false;

        if (!s->tensor->grad)
            continue;
        for (int r = 0; (n = tensor_reader(g, s->tensor, r)); r++) {
            half |= n->op == g->ops->cast;
            full |= n->op != g->ops->cast;
        }
        t->segment[k++].round = half && !full;
    }
}

static void build_freeze(struct build *t, const struct config *cfg)
{
    const struct str_list *list = &cfg->train.freeze;

    t->freeze = xcalloc((size_t)list->n + 1, sizeof(char *));
    for (int i = 0; i < list->n; i++)
        t->freeze[i] = xstrdup(list->item[i]);
    graph_freeze(t->graph, t->freeze, list->n);
}

/* Is there a parameter below the layer of that name? */
static bool is_layer(const struct flat *f, const char *name)
{
    size_t len = strlen(name);

    for (int i = 0; i < f->nsegment; i++)
        if (!strncmp(f->segment[i].tensor->name, name, len) &&
            f->segment[i].tensor->name[len] == '.')
            return true;
    return false;
}

static void check_freeze(const struct build *t, const struct config *cfg)
{
    for (int i = 0; i < cfg->train.freeze.n; i++) {
        const char *p = t->freeze[i];
        bool layer = is_layer(t->graph->flat, p);

        if (!t->graph->freeze_hits[i])
            config_refuse(cfg, KEYS("TRAIN.FREEZE"),
                          "TRAIN.FREEZE: no parameter of %s matches '%s'%s%s%s",
                          cfg->model.name, p, layer ? " (did you mean '" : "",
                          layer ? p : "", layer ? ".*'?)" : "");
    }
    if (!t->nsegment)
        config_refuse(cfg, KEYS("TRAIN.FREEZE"), "TRAIN.FREEZE leaves nothing to train");
}

void build_init(struct build *t, const struct config *cfg, const struct plan *p,
                enum build_kind kind, bool mixes)
{
    bool training = kind != BUILD_EVAL;
    struct builder b = {0};

    *t = (struct build){.graph = graph_new(&graph_ops_default, training)};
    b.g = t->graph;
    build_freeze(t, cfg); /* says where weights lie: the same in all programs */
    if (training) {
        struct loss_scale_attrs seed = {"loss_scale", p->accumulation,
                                        (int)cfg->amp.inject_overflow_at};

        build_forward(t, &b, cfg, p, true, mixes);
        b.phase = PHASE_BACKWARD;
        autodiff(&b, t->loss, loss_scale_(&b, &seed));
        build_segments(t, cfg);
        check_freeze(t, cfg);
        build_update(t, &b, cfg, p, kind == BUILD_TRAIN);
    } else {
        build_forward(t, &b, cfg, p, false, false);
    }
    precision(t->graph, p->level, p->half);
    if (!training)
        graph_output(t->graph, t->logits);
    if (training && p->level == AMP_O3)
        build_rounding(t);
    if (training && cfg->train.use_checkpoint)
        t->recomputed = recompute(t->graph);
}

void build_release(struct build *t)
{
    graph_free(t->graph);
    for (char **p = t->freeze; p && *p; p++)
        free(*p);
    free(t->freeze);
    *t = (struct build){0};
}
