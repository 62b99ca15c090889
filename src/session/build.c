#include "session/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/recompute.h"
#include "image/label.h"
#include "models/cam.h"
#include "models/swin_moe.h"
#include "ops/confusion.h"
#include "ops/conv2d.h"
#include "ops/corn.h"
#include "ops/gelu_tanh.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/label_down.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/loss_sum.h"
#include "ops/metrics.h"
#include "ops/mix.h"
#include "ops/normalize.h"
#include "ops/resize.h"
#include "ops/state.h"
#include "ops/table.h"
#include "ops/tokens.h"
#include "ops/unscale.h"
#include "ops/view.h"
#include "session/buckets.h"
#include "session/build_update.h"
#include "session/shares.h"
#include "session/vote.h"

/* AUG.ON_DEVICE: the augmentations, in the loader's order. */
static struct tensor *build_augment(struct build *t, struct builder *b,
                                    const struct device_augment *a, struct tensor *x)
{
    if (!device_augment_any(a))
        return x;
    if (a->flips)
        x = flip_(b, x, t->keys, &a->flip);
    if (a->jitters)
        x = color_jitter_(b, x, t->keys, &a->jitter);
    return a->erases ? erase_(b, x, t->keys, &a->erase) : x;
}

/* DATA.RESIZE device: the resize op. */
static struct tensor *build_resize(struct build *t, struct builder *b,
                                   const struct plan *p, int64_t batch)
{
    struct resize_attrs a = {"resize", p->height, p->width, p->channels};
    int64_t place[] = {batch, resize_place(p->width, p->height, p->channels)};
    int64_t jobs[] = {batch, RESIZE_JOB_WORDS};

    t->pixels = graph_input(b, "pixels", DTYPE_U8, LAYOUT_PLAIN, 2, place);
    t->jobs = graph_input(b, "jobs", DTYPE_I32, LAYOUT_PLAIN, 2, jobs);
    return resize_(b, t->pixels, t->jobs, &a);
}

static struct tensor *build_input(struct build *t, struct builder *b,
                                  const struct plan *p, bool training)
{
    int64_t batch = training ? p->batch : p->val_batch;
    int64_t dim[] = {batch, p->channels, p->height, p->width};
    struct tensor *x = NULL;

    if (training && p->resizes)
        x = build_resize(t, b, p, batch);
    else
        x = t->pixels = graph_input(b, "pixels", DTYPE_U8, LAYOUT_IMAGE, 4, dim);
    if (training && (device_augment_any(&p->augment) || p->task == MODEL_SIMMIM))
        t->keys = graph_input(b, "keys", DTYPE_I32, LAYOUT_PLAIN, 2,
                              (int64_t[]){batch, AUGMENT_KEY_WORDS});
    if (training)
        x = build_augment(t, b, &p->augment, x);
    t->bytes = x;
    return normalize_(b, x, &p->input);
}

static struct tensor *build_labels(struct build *t, struct builder *b,
                                   enum model_task task)
{
    const struct tensor *z = t->logits; /* may be NULL, except of MODEL_SEGMENT */

    return task == MODEL_SEGMENT
               ? graph_input(
                     b, "labels", DTYPE_U8, LAYOUT_PLAIN, 3,
                     (int64_t[]){z->dim[IMAGE_N], z->dim[IMAGE_H], z->dim[IMAGE_W]})
               : graph_input(b, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, &t->pixels->dim[0]);
}

/* Evaluations always use cross entropy, or l2 for a regression, whatever the training loss
 * is, so that they can be compared; only classes of pixels have weights in it. */
static struct tensor *build_eval_loss(struct build *t, struct builder *b,
                                      const struct plan *p, enum model_task task)
{
    struct loss_options o = {.class_weight =
                                 task == MODEL_SEGMENT ? p->class_weight : NULL,
                             .layer = "loss",
                             .targets = t->targets,
                             .mean = t->mean,
                             .std = t->std};

    o.image = t->target_image;
    o.mask = t->mask;
    if (task == MODEL_REGRESSION)
        return loss_l2.build[task](b, &o, t->outputs, t->truth, NULL);
    if (task == MODEL_SIMMIM)
        return loss_simmim.build[task](b, &o, t->outputs, t->truth, NULL);
    if (task == MODEL_ORDINAL)
        task = MODEL_CLASSIFY;
    return loss_cross_entropy.build[task](b, &o, t->logits, t->truth, NULL);
}

/* Returns the labels at the resolution of `logits`. An auxiliary classifier of pixels
 * (stage >= 0) has fewer pixels than the label map. */
static struct tensor *labels_of(struct build *t, struct builder *b, int i, int stage,
                                struct tensor *logits)
{
    t->factor[i] = stage < 0 || !tensor_is_image(logits)
                       ? 1
                       : (int)(t->truth->dim[1] / logits->dim[IMAGE_H]);
    return t->factor[i] > 1 ? label_down(b, t->truth, t->factor[i], "aux_labels")
                            : t->truth;
}

/* Scales a loss by the batch's share of its update (session/shares.h). */
static struct tensor *weigh_loss(struct build *t, struct builder *b, struct tensor *loss,
                                 int index)
{
    struct loss_times_attrs a = {"loss", index};

    return t->shares ? loss_times(b, loss, t->shares, &a) : loss;
}

/* Returns the logits that a loss reads: the model's, those of its distillation head, or
 * those of a stage's auxiliary classifier. */
static struct tensor *judged(const struct build *t, const struct loss_item *l)
{
    if (l->stage >= 0)
        return t->aux[l->stage];
    if (t->heads.logits)
        return l->loss->teacher ? t->heads.distilled : t->heads.logits;
    return t->outputs;
}

/* Adds loss i on logits z; o has what the losses of all logits share. */
static struct tensor *build_loss_on(struct build *t, struct builder *b,
                                    const struct plan *p, int i,
                                    const struct loss_options *o, struct tensor *z,
                                    struct tensor *lam)
{
    struct tensor *labels = labels_of(t, b, i, p->loss[i].stage, z);
    struct tensor *loss = p->loss[i].loss->build[p->task](b, o, z, labels, lam);

    return weigh_loss(t, b, loss, i);
}

/* Adds loss i: of the logits and, times their weights, of the family's auxiliary heads. */
static struct tensor *build_loss_item(struct build *t, struct builder *b,
                                      const struct plan *p, int i,
                                      const struct loss_options *o, struct tensor *lam)
{
    struct tensor *part[1 + MODEL_AUX];
    struct loss_sum_attrs sum = {.weight = {1}};
    struct loss_options of_aux = *o;
    int n = 1;

    part[0] = build_loss_on(t, b, p, i, o, judged(t, &p->loss[i]), lam);
    for (int k = 0; k < t->heads.naux && p->loss[i].stage < 0; k++, n++) {
        of_aux.layer = arena_printf(&b->g->arena, "loss.%d.aux%d", i, k);
        sum.weight[n] = (float)t->heads.aux[k].weight;
        part[n] = build_loss_on(t, b, p, i, &of_aux, t->heads.aux[k].x, lam);
    }
    sum.layer = arena_printf(&b->g->arena, "loss.%d.sum", i);
    return n > 1 ? loss_sum(b, part, n, &sum) : part[0];
}

static void build_train_loss(struct build *t, struct builder *b, const struct plan *p,
                             struct tensor *lam, struct tensor *teacher)
{
    struct loss_sum_attrs sum = {.layer = "loss"};
    struct tensor **loss = t->each;
    int n = p->nloss;

    if (p->shares)
        t->shares =
            graph_input(b, "shares", DTYPE_F32, LAYOUT_PLAIN, 1, (int64_t[]){SHARES});
    for (int i = 0; i < p->nloss; i++) {
        struct loss_options o = p->loss[i].o;

        o.teacher = teacher;
        o.targets = t->targets;
        o.mean = t->mean;
        o.std = t->std;
        o.image = t->target_image;
        o.mask = t->mask;
        if (p->nloss > 1)
            o.layer = arena_printf(&b->g->arena, "loss.%d", i);
        loss[i] = build_loss_item(t, b, p, i, &o, lam);
        sum.weight[i] = p->loss[i].weight;
    }
    if (t->heads.balance) {
        loss[n] = weigh_loss(t, b, t->heads.balance, 0);
        sum.weight[n++] = (float)t->heads.balance_weight;
    }
    t->loss = n > 1 || p->loss[0].weight != 1 ? loss_sum(b, loss, n, &sum) : loss[0];
}

/* Adds the labels, the loss, and the metrics. */
static void build_loss(struct build *t, struct builder *b, const struct plan *p,
                       struct tensor *lam, struct tensor *teacher, bool training)
{
    enum model_task task = p->task;
    struct flip_attrs labels = {"flip_labels", p->augment.flip.flips};
    struct tensor *told;

    if (!t->labels)
        t->labels = build_labels(t, b, task);
    t->truth = t->labels;
    if (task == MODEL_MULTILABEL)
        t->targets = graph_input(b, "targets", DTYPE_U8, LAYOUT_PLAIN, 2, t->logits->dim);
    if (task == MODEL_REGRESSION)
        t->targets =
            graph_input(b, "targets", DTYPE_F32, LAYOUT_PLAIN, 2, t->logits->dim);
    if (training && task == MODEL_SEGMENT && p->augment.flips)
        t->truth = flip_(b, t->labels, t->keys, &labels);
    if (training)
        build_train_loss(t, b, p, lam, teacher);
    else
        t->loss = build_eval_loss(t, b, p, task);
    told = weigh_loss(t, b, t->loss, SHARE_LOG);
    if (task == MODEL_SEGMENT)
        (void)confusion(b, t->logits, t->truth, told, LABEL_IGNORE, p->class_weight);
    else
        (void)metrics(b, t->logits, t->truth, told);
}

/* Adds the auxiliary classifier of a stage. It reads the mean over an image, the class
 * token or else the mean of all tokens; for segmentation it classifies each pixel. */
static struct tensor *build_aux(struct builder *b, const struct plan *p, int i,
                                const struct model_stage *stage)
{
    struct arena *mem = &b->g->arena;
    char *name = arena_printf(mem, LOSSES_AUX "%d", i);
    struct tensor *x = stage->x;
    int out = (int)p->options.classes;

    if (p->model->family->task == MODEL_SEGMENT)
        return conv2d(b, x, arena_printf(mem, "%s.conv", name), .out = out, .kernel = 1,
                      .bias = 1);
    if (x->layout == LAYOUT_PLAIN)
        x = layernorm(b, x, arena_printf(mem, "%s.norm", name));
    if (stage->prefix) {
        x = select_token(b, x, 0, arena_printf(mem, "%s.token", name));
    } else {
        if (x->layout == LAYOUT_PLAIN)
            x = view_image(b, x, arena_printf(mem, "%s.image", name));
        x = global_avgpool(b, x, arena_printf(mem, "%s.pool", name));
    }
    return linear(b, x, arena_printf(mem, "%s.fc", name), .out = out, .bias = 1);
}

/* Adds "target.SUFFIX", a weight for each target that is never trained. */
static struct tensor *build_unit(const struct build *t, struct builder *b,
                                 const char *suffix, float value)
{
    struct tensor *u =
        graph_param(b, LOSSES_UNITS, suffix, LAYOUT_PLAIN, 1, &t->outputs->dim[1],
                    (struct init){INIT_CONSTANT, value});

    u->frozen = true;
    u->trainable = u->held = false;
    return u;
}

/* Sets the logits. A regression that is trained needs its values only standardized. */
static void build_answers(struct build *t, struct builder *b, enum model_task task)
{
    t->logits = t->outputs;
    if (task == MODEL_ORDINAL)
        t->logits = corn(b, t->outputs, "ordinal");
    if (task == MODEL_SIMMIM)
        t->logits = simmim_values(b, t->outputs);
    if (task != MODEL_REGRESSION)
        return;
    t->mean = build_unit(t, b, "mean", 0);
    t->std = build_unit(t, b, "std", 1);
    if (!b->g->training)
        t->logits = unscale(b, t->outputs, t->mean, t->std, LOSSES_UNITS);
}

/* MODEL_SIMMIM: the masks, the net with its decoder, and the image that it predicts. The
 * masks of evaluations have labels instead of keys. */
static struct tensor *build_masked(struct build *t, struct builder *b,
                                   const struct plan *p, struct model_options *o,
                                   struct tensor *x)
{
    if (!t->keys)
        t->labels = build_labels(t, b, MODEL_SIMMIM);
    o->cells = masking_cells(b, &p->masking, t->keys ? t->keys : t->labels);
    t->mask = masking_pixels(b, o->cells, x->dim[IMAGE_H]);
    t->target_image = simmim_target(b, o, &p->input, t->bytes, t->mask);
    return simmim_net(b, p->model, o, x);
}

/* Adds the net and the auxiliary classifiers that losses need. Evaluations have their
 * parameters, too, so that all programs share one flat layout. */
static void build_net(struct build *t, struct builder *b, const struct plan *p,
                      struct tensor *x, bool cam)
{
    struct model_options o = p->options;
    bool stages = cam || p->teacher;

    for (int i = 0; i < p->nloss; i++)
        stages |= p->loss[i].stage >= 0;
    t->heads = (struct model_stages){.last = MODEL_STAGES};
    o.stages =
        stages || p->model->family->aux || p->model->family->balances ? &t->heads : NULL;
    t->outputs = p->task == MODEL_SIMMIM ? build_masked(t, b, p, &o, x)
                                         : model_build(b, p->model, &o, x);
    t->gelus = p->gelu_tanh ? gelu_use_tanh(b->g) : 0;
    build_answers(t, b, p->task);
    for (int i = 0; i < p->nloss; i++) {
        int stage = p->loss[i].stage;

        if (stage >= 0 && !t->aux[stage])
            t->aux[stage] = build_aux(b, p, stage, &t->heads.stage[stage]);
    }
}

/* Adds the teacher's logits: forward only, as in an evaluation. */
static struct tensor *build_teacher(struct builder *b, const struct plan *p,
                                    struct tensor *x)
{
    bool training = b->g->training;
    struct tensor *logits;

    b->layer_prefix = "teacher.";
    b->g->training = false;
    logits = model_build(b, p->teacher, &p->teacher_options, x);
    b->g->training = training;
    b->layer_prefix = NULL;
    return logits;
}

/* MODEL.FEATURES_ONLY: outputs stages instead of logits. */
static void build_stages(struct build *t, struct builder *b, const struct plan *p,
                         struct tensor *x)
{
    struct model_options o = p->options;

    t->stages = o.stages = arena_new(&b->g->arena, sizeof(*o.stages));
    t->stages->last = p->out[p->nout - 1];
    (void)model_build(b, p->model, &o, x);
    t->gelus = p->gelu_tanh ? gelu_use_tanh(b->g) : 0;
}

/* Replaces the graph by its int8 version; t->floats keeps the float graph. */
static void build_quantized(struct build *t, struct builder *b, const struct plan *p)
{
    struct tensor **map;

    t->floats = t->graph;
    t->graph = b->g = graph_new(&graph_ops_default, false);
    quantized_net(b, t->floats, t->logits, &p->quantized, &map);
    t->pixels = map[t->pixels->id];
    t->outputs = t->logits = map[t->logits->id];
    free(map);
}

/* BUILD_CAM: the gradient of the seeded logits with respect to the layer's output. */
static void build_cam(struct build *t, struct builder *b, const struct plan *p)
{
    t->cam = cam_stage(b->g, p->model->family, &t->heads, p->cam);
    t->seed = graph_input(b, "seed", DTYPE_F32, LAYOUT_PLAIN, 2, t->logits->dim);
    t->cam_grad = autodiff_between(b, t->logits, t->seed, t->cam.x);
    if (!t->cam_grad)
        BUG("the logits do not depend on '%s'", t->cam.name);
    graph_output(b->g, t->cam.x);
    graph_output(b->g, t->cam_grad);
}

static void build_forward(struct build *t, struct builder *b, const struct plan *p,
                          enum build_kind kind, bool mixes)
{
    bool learns = kind == BUILD_TRAIN || kind == BUILD_MICRO;
    bool training = learns || kind == BUILD_STATS;
    struct tensor *x = build_input(t, b, p, training);
    struct tensor *lam = NULL, *teacher = NULL;

    if (mixes)
        x = mix_(b, x, control_tensor(b), &lam, &p->mixing);
    if (p->nout) {
        build_stages(t, b, p, x);
    } else {
        build_net(t, b, p, x, kind == BUILD_CAM);
        if (learns && p->teacher)
            teacher = build_teacher(b, p, x);
        if (p->quantized.enable && !training)
            build_quantized(t, b, p);
        if (kind != BUILD_CAM && kind != BUILD_STATS)
            build_loss(t, b, p, lam, teacher, training);
    }
    graph_flatten(b->g);
    if (kind == BUILD_CAM)
        build_cam(t, b, p);
    if (kind == BUILD_STATS)
        t->stat = running_stats_segments(t->graph, &t->nstat);
}

/* AMP.FP32 and AMP.HALF, with a match count per pattern; losses of pixels and the gates of
 * experts are fp32. */
static void build_rules(struct build *t, const struct plan *p)
{
    const struct str_list *f32 = &p->amp->fp32, *half = &p->amp->half;
    struct arena *mem = &t->graph->arena;
    enum { OWN = 2 };
    const char **wide = arena_new(mem, ((size_t)f32->n + OWN) * sizeof(*wide));

    for (int i = 0; i < f32->n; i++)
        wide[i] = f32->item[i];
    wide[f32->n] = SIMMIM_LAYERS;
    wide[f32->n + 1] = SWIN_MOE_GATES;
    t->rules = (struct precision_rules){
        .f32 = wide, .nf32 = f32->n + OWN, .half = half->item, .nhalf = half->n};
    t->rules.f32_hits = arena_new(mem, ((size_t)f32->n + OWN) * sizeof(int));
    t->rules.half_hits = arena_new(mem, ((size_t)half->n + 1) * sizeof(int));
}

void build_init(struct build *t, const struct plan *p, enum build_kind kind, bool mixes)
{
    bool learns = kind == BUILD_TRAIN || kind == BUILD_MICRO;
    struct builder b = {0};

    if (learns && p->nout)
        BUG("a net without a classifier is trained");
    *t = (struct build){.graph =
                            graph_new(&graph_ops_default, learns || kind == BUILD_STATS)};
    b.g = t->graph;
    /* in evaluations, too: freezing decides the layout of the weights, which all programs
     * share */
    graph_freeze(t->graph, p->freeze, p->nfreeze);
    if (p->holds)
        graph_hold(t->graph, p->head, p->nhead);
    graph_share_norms(t->graph, p->norms);
    graph_share_batch(t->graph, p->group, p->own_images);
    graph_share_experts(t->graph, p->shard_experts ? p->group : NULL);
    /* of the run: this program may not contain the update */
    t->graph->keeps_zeros = learns && optimizer_groups_adaptive(&p->groups);
    if (learns && p->votes)
        t->vote = vote_start(&b, p->group);
    build_forward(t, &b, p, kind, learns && mixes);
    if (learns) {
        t->folded = fold_norms(t->graph, p);
        build_backward(t, &b, p);
        build_segments(t, p);
        if (p->shard)
            build_shard(t, p);
        build_update(t, &b, p, kind == BUILD_TRAIN);
    }
    if (t->vote)
        vote_join(&b, t->vote, p->group);
    build_rules(t, p);
    precision_by_rules(t->graph, p->level, p->half, &t->rules);
    if (p->group && kind == BUILD_TRAIN)
        buckets_add(t->graph,
                    &(struct bucket_options){
                        .group = p->group,
                        .bytes = p->bucket_bytes,
                        .half = p->half_gradients,
                        .dtype = p->half,
                        .accumulation = p->accumulation,
                        .begin = build_shares_grads(t, p) ? t->shard.begin : NULL,
                    });
    if (t->logits && kind == BUILD_EVAL)
        graph_output(t->graph, t->logits);
    for (int i = 0; i < p->nout; i++)
        graph_output(t->graph, t->stages->stage[p->out[i]].x);
    if (learns && plan_rounds(p))
        build_rounding(t, p);
    if (learns && p->recompute)
        t->recomputed = recompute(t->graph);
}

void build_release(struct build *t)
{
    graph_free(t->graph);
    if (t->floats)
        graph_free(t->floats);
    *t = (struct build){0};
}
