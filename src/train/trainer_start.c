/* Prepares a run from a configuration and possibly a checkpoint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/log.h"
#include "base/version.h"
#include "dist/group.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_parts.h"
#include "ops/norm_fold.h"
#include "session/busy.h"
#include "session/devices.h"
#include "session/fit.h"
#include "session/state.h"
#include "train/data_config.h"
#include "train/earlier_kernels.h"
#include "train/pretrained.h"
#include "train/progress.h"
#include "train/teacher.h"
#include "train/trainer_run.h"
#include "train/units.h"

struct val_line trainer_no_val(void)
{
    return (struct val_line){
        .step = -1, .val = scores_unknown(), .ema = scores_unknown()};
}

/* Logs the learning rates, which may be scaled and differ from the configured ones. */
static void log_rates(const struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    const struct config_train *c = &t->cfg->train;
    struct strbuf why = STRBUF_INIT;

    if (!p->updates) /* TRAIN.EPOCHS 0 */
        return;
    if (c->accumulation_steps > p->accumulation.batches)
        log_warning("TRAIN.ACCUMULATION_STEPS %lld is more than the %d batches of an "
                    "epoch: accumulating over those%s",
                    (long long)c->accumulation_steps, p->accumulation.batches,
                    c->scale_lr ? " (TRAIN.SCALE_LR uses the configured number)" : "");
    if (c->scale_lr)
        strbuf_addf(&why,
                    " (TRAIN.BASE_LR %.6g x %lld images / TRAIN.SCALE_LR_BASE %lld)",
                    c->base_lr, (long long)p->batch * p->world * c->accumulation_steps,
                    (long long)c->scale_lr_base);
    log_info("learning rate %.6g%s, %.6g in the first step%s and %.6g in the last",
             p->schedule.base, why.buf ? why.buf : "",
             schedule_lr(&p->schedule, p->schedule.frozen),
             p->frozen_updates ? " after TRAIN.FREEZE_EPOCHS" : "",
             schedule_lr(&p->schedule, p->updates - 1));
    strbuf_release(&why);
}

/* Logs the number of images in the incomplete last batch of an epoch. */
static void log_rest(const struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    int64_t images = data_epoch_images(t->cfg, t->feed.train->n);
    int64_t left = images % (p->batch * p->world);

    if (p->tail)
        log_info("the last batch of an epoch has %lld image%s (DATA.DROP_LAST False)",
                 (long long)p->tail, p->tail == 1 ? "" : "s");
    else if (left && t->cfg->data.shuffle)
        log_info("DATA.DROP_LAST drops the incomplete last batch of each epoch: %lld of "
                 "%lld images, different images every epoch",
                 (long long)left, (long long)images);
    else if (left)
        log_warning("DATA.DROP_LAST with DATA.SHUFFLE False drops the same %lld of %lld "
                    "images in every epoch: they are never trained on",
                    (long long)left, (long long)images);
}

/* Logs how many batch norms are folded, if that was asked for. */
static void log_fold(const struct trainer *t)
{
    int n = t->session.build[SESSION_TRAIN].folded;

    if (t->cfg->model.fold_bn == FOLD_BN_NONE)
        return;
    if (n)
        log_info("MODEL.FOLD_BN: %d batch norms are folded into their convolutions", n);
    else
        log_info("MODEL.FOLD_BN has no effect: %s",
                 !t->session.plan.fold.any ? "folding does not pay on this device"
                                           : "no batch norm can be folded");
}

/* Says so if MODEL.GELU_TANH changes nothing. */
static void log_gelu(const struct trainer *t)
{
    if (t->cfg->model.gelu_tanh && !t->session.build[SESSION_TRAIN].gelus)
        log_info("MODEL.GELU_TANH has no effect: the model has no GELU with erf");
}

/* Logs over how many processes' batches batch norms compute their statistics. */
static void log_norms(const struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    const struct graph *g = t->session.build[SESSION_TRAIN].graph;
    int n = 0;

    if (!t->cfg->model.sync_bn)
        return;
    for (int i = 0; i < g->nnode; i++)
        n += g->node[i]->op == &op_batchnorm || g->node[i]->op == &op_norm_fold ||
             g->node[i]->op == &op_batchnorm_finalize;
    if (p->world == 1 || !n)
        log_info("MODEL.SYNC_BN has no effect: %s",
                 p->world == 1 ? "there is one process" : "no batch norm is trained");
    else if (p->norms)
        log_info("MODEL.SYNC_BN: %d batch norms compute their statistics over the "
                 "batches of %d processes",
                 n, p->norms->world);
}

/* Logs which keys of DIST have no effect in this run. */
static void log_unshared(const struct trainer *t)
{
    const struct config_dist *d = &t->cfg->dist;
    const struct plan *p = &t->session.plan;
    const struct graph *g = t->session.build[SESSION_TRAIN].graph;
    const char *alone = p->world == 1 ? "there is one process" : NULL;

    if (d->shard_optimizer && alone)
        log_info("DIST.SHARD_OPTIMIZER has no effect: %s", alone);
    if (d->shard_experts && g->flat == g->whole)
        log_info("DIST.SHARD_EXPERTS has no effect: %s",
                 alone ? alone : "the net has no experts");
    if (d->half_gradients && (alone || p->level == AMP_O0 || p->accumulation.group > 1))
        log_info("DIST.HALF_GRADIENTS has no effect: %s",
                 alone                ? alone
                 : p->level == AMP_O0 ? "all weights are used in fp32"
                                      : "TRAIN.ACCUMULATION_STEPS sends sums in fp32");
}

static void log_recompute(const struct trainer *t)
{
    const struct session *s = &t->session;

    if (s->plan.recompute && !s->build[SESSION_TRAIN].recomputed)
        log_warning("TRAIN.USE_CHECKPOINT has no effect: %s has no blocks to recompute",
                    t->cfg->model.name);
}

static void log_aux(const struct trainer *t)
{
    const struct model_stages *s = &t->session.build[SESSION_TRAIN].heads;

    if (s->naux)
        log_info("the losses of %d auxiliary head%s are added, times %g "
                 "(MODEL.AUX_WEIGHT)",
                 s->naux, s->naux > 1 ? "s" : "", s->aux[0].weight);
}

static void log_start(const struct trainer *t)
{
    const struct session *s = &t->session;
    const struct plan *p = &s->plan;
    struct strbuf passed = STRBUF_INIT;

    log_info("trainc %s: %s on %s (%s), %s", TRAINC_VERSION, t->cfg->model.name,
             s->backend->name, s->backend->describe(s->device), p->compute);
    if (!strcmp(t->cfg->device, "auto"))
        device_add_passed_over(&passed);
    if (passed.len)
        log_info("no usable GPU (%s): training on the CPU", passed.buf);
    strbuf_release(&passed);
    if (p->amp_slow)
        log_warning("%s", p->amp_remark);
    else if (p->amp_remark)
        log_info("%s", p->amp_remark);
    if (p->world > 1)
        log_info("%d processes, each with batches of %lld images", p->world,
                 (long long)p->batch);
    log_info("%lld training images, %d %s%s: %lld steps of %lld images per epoch%s",
             (long long)t->feed.train->n, t->feed.classes.n,
             p->task != MODEL_REGRESSION ? "classes" : "target",
             p->task == MODEL_REGRESSION && t->feed.classes.n > 1 ? "s" : "",
             (long long)p->updates_per_epoch,
             (long long)p->batch * p->world * p->accumulation.group,
             p->accumulation.batches % p->accumulation.group ? ", fewer in the last"
                                                             : "");
    busy_note(s);
    log_norms(t);
    log_fold(t);
    log_gelu(t);
    log_unshared(t);
    log_aux(t);
    log_recompute(t);
    log_rest(t);
    log_info("writing to %s", t->output.dir);
    log_rates(t);
    if (p->lr_schedule->warms_up_by && p->warmup_updates)
        log_info("%s warms up by %s: TRAIN.WARMUP_EPOCHS has no effect",
                 p->lr_schedule->name, p->lr_schedule->warms_up_by);
}

/* Makes the run continue after `updates` steps of epoch `epoch`. */
static void go_on_at(struct trainer *t, int64_t epoch, int64_t updates)
{
    struct session *s = &t->session;
    struct control c = session_control(s);

    if (t->state.averaged_step == c.step) /* TRAIN.SWA has averaged these weights */
        t->state.averaged_step = epoch * s->plan.updates_per_epoch + updates;
    c.step = epoch * s->plan.updates_per_epoch + updates;
    c.micro = accumulation_micro(&s->plan.accumulation, c.step);
    session_set_control(s, &c);
    t->state.epoch = epoch;
    t->state.val_step = -1;
    t->replay = 0;
}

static void begin_at(struct trainer *t, int64_t epoch)
{
    go_on_at(t, epoch, 0);
    t->state.train = t->state.window = (struct metrics){0};
}

/* Returns the number of images per step, over all processes. */
static int64_t update_images(const struct plan *p)
{
    return p->batch * p->world * p->accumulation.group;
}

/*
 * Adapts a checkpoint with a different number of steps per epoch, for example because of
 * a different number of processes: the epoch continues with its next image, or a few
 * images earlier, where a step begins.
 */
static void adopt_updates(struct trainer *t, int64_t step)
{
    const struct plan *p = &t->session.plan;
    int64_t then = t->state.updates_per_epoch, now = p->updates_per_epoch;
    int64_t in_epoch = step - t->state.epoch * then;
    int64_t images = in_epoch * t->state.update_images;
    int64_t updates = in_epoch == then ? now : images / update_images(p);

    log_warning("the checkpoint has %lld steps per epoch, this run %lld: resuming after "
                "%lld images of epoch %lld%s",
                (long long)then, (long long)now, (long long)(updates * update_images(p)),
                epoch_shown(t->state.epoch),
                updates * update_images(p) == images ? "" : ", repeating a few");
    if (updates)
        go_on_at(t, t->state.epoch, updates);
    else
        begin_at(t, t->state.epoch);
}

/* Keeps the loss scale if it is dynamic in both runs; else sets that of a new run. */
static void adopt_scale(const struct trainer *t, struct control *c)
{
    const struct plan *p = &t->session.plan;

    if (p->scaler.dynamic && t->state.dynamic_scale &&
        t->state.loss_scales == p->scaler.losses)
        return;
    plan_set_scales(p, c);
}

/*
 * Adapts the loaded state to this run. If the earlier run stopped in the middle of a
 * step, its batches are repeated (t->replay); the metrics already count them and are
 * reset afterwards.
 */
static void adopt(struct trainer *t, uint64_t data)
{
    const struct accumulation *a = &t->session.plan.accumulation;
    struct control c = session_control(&t->session);
    int64_t begun = c.micro - accumulation_micro(a, c.step);

    if (c.frozen_updates && !t->session.plan.frozen_updates)
        config_refuse(
            t->cfg, KEYS("TRAIN.FREEZE_EPOCHS"),
            "TRAIN.FREEZE_EPOCHS 0: the run that wrote the checkpoint trained its "
            "head alone first; resume with its value, or load only the weights "
            "with MODEL.PRETRAINED");
    c.seed = (uint64_t)t->cfg->seed;
    if (!dist_is_first()) /* what a checkpoint counts is of all processes */
        t->state.train = t->state.window = (struct metrics){0};
    c.plateau_lr = t->state.plateau.lr;
    c.micro -= begun;
    adopt_scale(t, &c);
    t->replay = begun > 0 && begun < accumulation_size(a, c.micro) ? begun : 0;
    session_set_control(&t->session, &c);
    if (t->state.data && t->state.data != data)
        log_warning("the checkpoint was trained on different data: the list of files or "
                    "labels of '%s' has changed",
                    t->feed.train->name);
    t->state.data = data;
    if (t->state.updates_per_epoch != t->session.plan.updates_per_epoch)
        adopt_updates(t, c.step);
    session_set_metrics(&t->session, &t->state.train);
    t->skipped = c.skipped;
}

/* Refuses MODEL.RESUME if the folder has later checkpoints, from which this run would
 * resume at its next start. */
static void check_later(const struct trainer *t)
{
    struct control c = session_control(&t->session);
    int64_t now = run_state_done(&c), later = saves_newest(t->output.dir);

    if (later > now)
        config_refuse(t->cfg, KEYS("MODEL.RESUME"),
                      "'%s' is from step %lld, but '%s' has a checkpoint from step %lld: "
                      "move the later ones away, choose another --tag, or remove "
                      "MODEL.RESUME to resume from the newest",
                      t->cfg->model.resume, (long long)now, t->output.dir,
                      (long long)later);
}

/* Loads a checkpoint or pretrained weights, if any. Returns true if the run resumes from
 * a checkpoint. */
static bool load_start(struct trainer *t)
{
    const struct config *cfg = t->cfg;
    struct strbuf why = STRBUF_INIT;
    bool again = cfg->train.auto_resume && output_again(&t->output, cfg), resumed = true;
    uint64_t data = dataset_digest(t->feed.train);

    if (*cfg->model.resume && again)
        log_info("ignoring MODEL.RESUME '%s': resuming the run that started from it",
                 cfg->model.resume);
    if (*cfg->model.resume && !again) {
        if (checkpoint_read(cfg->model.resume, &t->session, &t->state, &t->feed.classes,
                            &why))
            die("MODEL.RESUME: %s", why.buf);
        check_later(t);
        saves_say_resumed(cfg->model.resume, &t->session, &t->state);
        output_compare(cfg, cfg->model.resume);
    } else {
        resumed =
            cfg->train.auto_resume && saves_resume(&t->saves, &t->session, &t->state);
    }
    if (resumed && *cfg->model.pretrained)
        log_info("ignoring MODEL.PRETRAINED '%s': resuming from a checkpoint",
                 cfg->model.pretrained);
    if (resumed && cfg->train.start_epoch && *cfg->model.resume && !again)
        log_warning(
            "ignoring TRAIN.START_EPOCH %lld: the checkpoint determines where to resume",
            (long long)cfg->train.start_epoch);
    if (resumed)
        adopt(t, data);
    else
        pretrained_load_start(&t->session);
    if (!resumed)
        units_learn(&t->session, t->feed.train);
    if (!resumed && cfg->train.start_epoch)
        begin_at(t, cfg->train.start_epoch);
    t->state.updates_per_epoch = t->session.plan.updates_per_epoch;
    t->state.update_images = update_images(&t->session.plan);
    t->state.data = data;
    strbuf_release(&why);
    return resumed;
}

/* Dies unless all processes have the same program version, configuration, and data. */
static void agree(const struct trainer *t)
{
    const struct session *s = &t->session;
    char *kernels = s->backend->choices ? s->backend->choices(s->device) : NULL;

    dist_agree("choices of kernels (trainc bench --tune)",
               kernels ? XXH3_64bits(kernels, strlen(kernels)) : 0);
    free(kernels);
    dist_agree("version of trainc", XXH3_64bits(TRAINC_VERSION, strlen(TRAINC_VERSION)));
    dist_agree("configuration", XXH3_64bits(t->output.config, strlen(t->output.config)));
    dist_agree("list of training data", dataset_digest(t->feed.train));
    dist_agree("list of validation data", dataset_digest(t->feed.val));
}

void trainer_start(struct trainer *t, struct config *cfg)
{
    char *kernels = earlier_kernels(cfg);

    feed_open(&t->feed, cfg, true);
    session_init(
        &t->session, cfg,
        &(struct session_options){.train = true,
                                  .eval = true,
                                  .phases = true,
                                  .images = data_epoch_images(cfg, t->feed.train->n),
                                  .kernels = kernels,
                                  .factors = feed_factors(&t->feed)});
    free(kernels);
    output_prepare(&t->output, cfg);
    agree(t);
    progress_init(dist_is_first() ? cfg->log.progress : PROGRESS_OFF);
    t->saves = (struct saves){
        .dir = t->output.dir,
        .classes = &t->feed.classes,
        .config = t->output.config,
        .keep = (int)cfg->train.keep_checkpoints,
        .reads_only = !dist_is_first(),
        .log = output_log,
        .log_arg = &t->output,
    };
    log_start(t);
    if (dist_is_first())
        saves_sweep(t->output.dir);
    saves_check_room(&t->saves, &t->session);
    session_alloc(&t->session);
    teacher_load(&t->session);
    fit_report(&t->session, "at the start");
    t->state = (struct run_state){
        .best_score = (double)NAN,
        .plateau = PLATEAU_START,
        .train_loss = (double)NAN,
        .val = scores_unknown(),
        .ema = scores_unknown(),
        .val_step = -1,
    };
    t->val = trainer_no_val();
    t->resumed = load_start(t);
    t->step = t->saved_step = session_control(&t->session).step;
    hook_commands_init(&t->commands, cfg);
}
