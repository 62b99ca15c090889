/* Defaults that follow from the job; see session/job.h. */
#include "session/job.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "config/names.h"
#include "config/value.h"
#include "image/image.h"
#include "session/augment_items.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"

enum {
    SMALL = 160,          /* up to this side: inputs of 128 pixels instead of 224 */
    MANY_IMAGES = 100000, /* from here on, with MANY_EPOCHS: strong augmentation */
    MANY_EPOCHS = 90,
    SCRATCH_UPDATES = 10000, /* updates of a run */
    TUNING_UPDATES = 2000,
};

/* Input of the rows. */
struct view {
    const struct config *cfg;
    const struct job *job;
    const struct model *model;  /* NULL if MODEL.NAME is unknown */
    bool segment, tuned;        /* tuned: starts from pretrained weights */
    int64_t batch;              /* images per update, over all devices */
    int64_t per_epoch, updates; /* 0: unknown */
    bool mild;                  /* few images or a short run */
    struct strbuf value, why;
};

static struct view view_of(const struct config *cfg, const struct job *job)
{
    struct strbuf unused = STRBUF_INIT;
    struct view v = {.cfg = cfg, .job = job, .tuned = *cfg->model.pretrained};
    int64_t batch = cfg->data.batch_size > 0 ? cfg->data.batch_size : 128;

    v.model = model_lookup(cfg, &unused);
    v.segment = v.model && v.model->family->task == MODEL_SEGMENT;
    v.batch = batch * job->world * cfg->train.accumulation_steps;
    if (job->images)
        v.per_epoch = job->images > v.batch ? job->images / v.batch : 1;
    v.updates = v.per_epoch * cfg->train.epochs;
    v.mild = job->images < MANY_IMAGES || cfg->train.epochs < MANY_EPOCHS || v.tuned;
    strbuf_release(&unused);
    return v;
}

static void set_value(struct view *v, const char *text)
{
    strbuf_addstr(&v->value, text);
}

static void set_number(struct view *v, double x)
{
    strbuf_addf(&v->value, "%.3g", x);
    if (!strpbrk(v->value.buf, ".e"))
        strbuf_addstr(&v->value, ".0");
}

/* ---- optimizers ---- */

/* Learning rates by batch size: `power` 1 scales linearly, 0.5 with the square root
 * (Goyal et al. 2017; Malladi et al. 2022 for adaptive optimizers). */
static const struct rates {
    const char *optimizer;
    double scratch, tuned; /* rates at REFERENCE_BATCH */
    double power;
    double decay;
} rates[] = {
    {"sgd", 0.1, 0.02, 1, 5e-4},     {"adamw", 1e-3, 2e-4, 0.5, 0.05},
    {"adam", 1e-3, 2e-4, 0.5, 1e-4}, {"rmsprop", 1e-3, 2e-4, 0.5, 1e-4},
    {"lion", 2e-4, 4e-5, 0.5, 0.2},  {"lamb", 2e-3, 5e-4, 0.5, 0.02},
    {"lars", 1, 0.2, 1, 5e-4},
};
enum { REFERENCE_BATCH = 128 };

static const struct rates *rates_of(const struct config *cfg)
{
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (!strcmp(rates[i].optimizer, cfg->train.optimizer.name))
            return &rates[i];
    return NULL;
}

/* Convolutions with batch norm train well with SGD; other nets need an adaptive
 * optimizer. */
static bool row_optimizer(struct view *v)
{
    bool sgd = v->model && !v->model->family->layer_norm;

    if (!v->model)
        return false;
    set_value(v, v->segment ? "adam" : sgd ? "sgd" : "adamw");
    strbuf_addf(&v->why, "%s",
                v->segment ? "usual for segmentation"
                : sgd      ? "convolutions with batch norm"
                           : "attention and layer norms");
    return true;
}

static bool row_base_lr(struct view *v)
{
    const struct rates *r = rates_of(v->cfg);
    double base, rate;

    if (!r)
        return false;
    base = v->tuned ? r->tuned : r->scratch;
    rate = base * pow((double)v->batch / REFERENCE_BATCH, r->power);
    rate = fmin(rate, 4 * base);
    set_number(v, v->segment ? fmin(4 * rate, r->scratch) : rate);
    strbuf_addf(&v->why, "%s %s with %" PRId64 " images per step", r->optimizer,
                v->tuned ? "from pretrained weights" : "from scratch", v->batch);
    return true;
}

/* The classifier is new even if the other weights are not. */
static bool row_freeze_lr(struct view *v)
{
    const struct rates *r = rates_of(v->cfg);

    if (!r || !v->cfg->train.freeze_epochs)
        return false;
    set_number(v, fmin(r->scratch * pow((double)v->batch / REFERENCE_BATCH, r->power),
                       4 * r->scratch));
    strbuf_addf(&v->why,
                "the head starts from scratch: %s with %" PRId64 " images per step",
                r->optimizer, v->batch);
    return true;
}

static bool row_warmup_lr(struct view *v)
{
    set_number(v, v->cfg->train.base_lr / 100);
    strbuf_addstr(&v->why, "a hundredth of TRAIN.BASE_LR");
    return true;
}

static bool row_min_lr(struct view *v)
{
    set_value(v, "0.0");
    strbuf_addstr(&v->why, "the rate ends at 0");
    return true;
}

static bool row_scale_lr(struct view *v)
{
    set_value(v, "False");
    strbuf_addstr(&v->why, "TRAIN.BASE_LR is for the batch that is used");
    return true;
}

static bool row_weight_decay(struct view *v)
{
    const struct rates *r = rates_of(v->cfg);

    if (!r)
        return false;
    set_number(v, v->tuned && r->power == 1 ? r->decay / 5 : r->decay);
    strbuf_addf(&v->why, "%s %s", r->optimizer,
                v->tuned ? "from pretrained weights" : "from scratch");
    return true;
}

static bool row_clip_grad(struct view *v)
{
    const struct rates *r = rates_of(v->cfg);

    if (!r || r->power != 1)
        return false;
    set_value(v, "0.0");
    strbuf_addf(&v->why, "%s with batch norm needs none", r->optimizer);
    return true;
}

static bool row_layer_decay(struct view *v)
{
    if (!v->tuned || !v->model || !v->model->family->layer_norm ||
        !v->model->family->layers)
        return false;
    set_value(v, "0.8");
    strbuf_addstr(&v->why, "pretrained: early layers change least");
    return true;
}

/* ---- schedule and length ---- */

static bool row_batch(struct view *v)
{
    const struct config *cfg = v->cfg;
    int64_t max = v->segment ? 8 : config_width(cfg) <= SMALL ? 128 : 64, batch;

    if (!v->job->images)
        return false;
    batch = job_batch(v->job->images / v->job->world, max);
    strbuf_addf(&v->value, "%" PRId64, batch);
    strbuf_addf(&v->why, "%" PRId64 " images: an epoch has %" PRId64 " batches",
                v->job->images, v->job->images / v->job->world / batch);
    return true;
}

static bool row_epochs(struct view *v)
{
    int64_t goal = v->tuned ? TUNING_UPDATES : SCRATCH_UPDATES, n;
    int64_t min = v->tuned ? 5 : 10, max = v->tuned ? 30 : 100;

    if (!v->per_epoch)
        return false;
    n = (goal + v->per_epoch - 1) / v->per_epoch;
    n = n < min ? min : n > max ? max : n;
    strbuf_addf(&v->value, "%" PRId64, n);
    strbuf_addf(&v->why,
                "%" PRId64 " steps in all; the goal is %" PRId64 " within %" PRId64
                " to %" PRId64 " epochs%s",
                n * v->per_epoch, goal, min, max, v->tuned ? " of fine-tuning" : "");
    return true;
}

static bool row_warmup(struct view *v)
{
    set_value(v, "5");
    strbuf_addstr(&v->why, "or a tenth of the run, if that is less");
    return true;
}

/* Limits only the warm-up of row_warmup. */
static bool row_warmup_share(struct view *v)
{
    if (config_is_given(v->cfg, "TRAIN.WARMUP_EPOCHS"))
        return false;
    set_value(v, "0.1");
    strbuf_addstr(&v->why, "a short run has a short warm-up");
    return true;
}

static bool row_ema(struct view *v)
{
    set_value(v, v->cfg->train.swa.enable ? "False" : "True");
    strbuf_addstr(&v->why, v->cfg->train.swa.enable
                               ? "TRAIN.SWA averages the weights instead"
                               : "EMA weights score better at little cost");
    return true;
}

/* Averages over 1/25 of the run, during which the learning rate is close to its end. */
static bool row_ema_decay(struct view *v)
{
    double steps = fmin(fmax((double)v->updates / 25, 1), 5000);

    if (!v->updates || !v->cfg->train.ema.enable)
        return false;
    strbuf_addf(&v->value, "%.5g", 1 - 1 / steps);
    strbuf_addf(&v->why, "over %.0f of the run's %" PRId64 " steps", steps, v->updates);
    return true;
}

static bool row_ema_ramp(struct view *v)
{
    if (!v->updates || !v->cfg->train.ema.enable)
        return false;
    strbuf_addf(&v->value, "%.1f", fmax(1, rint((double)v->updates / 10)));
    strbuf_addstr(&v->why, "a tenth of the run");
    return true;
}

static bool row_schedule(struct view *v)
{
    if (!v->segment)
        return false;
    set_value(v, "poly");
    strbuf_addstr(&v->why, "usual for segmentation");
    return true;
}

/* ---- regularization and augmentation ---- */

/* Appends the reason for weak augmentation. */
static void why_mild(struct view *v)
{
    if (v->tuned)
        strbuf_addstr(&v->why, "pretrained weights: weak augmentation");
    else if (v->job->images < MANY_IMAGES)
        strbuf_addf(&v->why, "under %d images: weak augmentation", MANY_IMAGES);
    else
        strbuf_addf(&v->why, "under %d epochs: weak augmentation", MANY_EPOCHS);
}

static bool row_drop_path(struct view *v)
{
    if (!v->job->images || !v->mild)
        return false;
    set_value(v, "0.0");
    why_mild(v);
    return true;
}

/* Label maps are neither smoothed nor mixed; a mixed image need not look like the mean of
 * its numbers. */
static bool row_unmixed(struct view *v)
{
    if (!v->segment && v->cfg->model.task != TASK_REGRESSION)
        return false;
    set_value(v, "0.0");
    strbuf_addstr(&v->why, v->segment ? "label maps are not smoothed or mixed"
                                      : "targets are numbers: mix them only on purpose");
    return true;
}

static bool row_smoothing(struct view *v)
{
    static const char *const why[] = {
        [TASK_MULTILABEL] = "absent labels are most of the targets",
        [TASK_REGRESSION] = "targets are numbers",
        [TASK_ORDINAL] = "smoothing ignores the order of the classes",
    };

    if (!why[v->cfg->model.task])
        return v->segment && row_unmixed(v);
    set_value(v, "0.0");
    strbuf_addstr(&v->why, why[v->cfg->model.task]);
    return true;
}

static bool row_mixup(struct view *v)
{
    bool mixes = !v->tuned && v->job->images < JOB_FEW_IMAGES &&
                 v->cfg->train.epochs >= 50 && v->updates >= 2000;

    if (row_unmixed(v))
        return true;
    if (!v->job->images || !v->mild)
        return false;
    set_value(v, mixes && !v->job->glyphs ? "0.2" : "0.0");
    why_mild(v);
    return true;
}

static bool row_cutmix(struct view *v)
{
    if (row_unmixed(v))
        return true;
    if (!v->job->images || !v->mild)
        return false;
    set_value(v, "0.0");
    why_mild(v);
    return true;
}

/* Padded crops: for images that are as large as the input. */
static bool row_pad_crop(struct view *v)
{
    int size = (int)v->cfg->data.img_size;

    if (v->segment || !v->job->uniform || size > JOB_TINY || v->job->side > size)
        return false;
    strbuf_addf(&v->value, "%d", size / 8 > 1 ? size / 8 : 1);
    strbuf_addf(&v->why, "all images have %d pixels: shifts instead of random crops",
                v->job->side);
    return true;
}

static bool row_crop_scale(struct view *v)
{
    if (v->segment || !v->job->images || !v->mild || v->cfg->aug.pad_crop > 0)
        return false;
    set_value(v, "[0.35, 1.0]");
    why_mild(v);
    return true;
}

static bool row_resize_scale(struct view *v)
{
    if (!v->segment)
        return false;
    set_value(v, "[0.75, 1.5]");
    strbuf_addstr(&v->why, "things come near and far");
    return true;
}

static bool row_hflip(struct view *v)
{
    if (!v->job->glyphs || v->segment)
        return false;
    set_value(v, "0.0");
    strbuf_addstr(&v->why, "classes are numbers or letters, which are others mirrored");
    return true;
}

static bool row_jitter(struct view *v)
{
    bool gray = v->cfg->model.in_chans == 1;

    if (!v->segment && (!v->job->images || !v->mild))
        return false;
    if (v->cfg->model.in_chans != 1 && v->cfg->model.in_chans != IMAGE_RGB)
        return false;
    set_value(v, gray ? "0.0" : "0.2");
    if (gray)
        strbuf_addstr(&v->why, "gray images");
    else if (v->segment)
        strbuf_addstr(&v->why, "weak augmentation");
    else
        why_mild(v);
    return true;
}

static bool row_policy(struct view *v)
{
    if (v->segment || !v->job->images || !v->mild)
        return false;
    set_value(v, "none");
    why_mild(v);
    return true;
}

static bool row_erase(struct view *v)
{
    if (v->segment || !v->job->images || !v->mild)
        return false;
    set_value(v, "0.0");
    why_mild(v);
    return true;
}

/* A row sees the keys that earlier rows have set. */
static const struct row {
    const char *key;
    bool (*infer)(
        struct view *v); /* sets value and reason; false: leaves the key unset */
} rows[] = {
    {"DATA.BATCH_SIZE", row_batch},
    {"TRAIN.EPOCHS", row_epochs},
    {"TRAIN.WARMUP_EPOCHS", row_warmup},
    {"TRAIN.WARMUP_SHARE", row_warmup_share},
    {"TRAIN.OPTIMIZER.NAME", row_optimizer},
    {"TRAIN.BASE_LR", row_base_lr},
    {"TRAIN.FREEZE_LR", row_freeze_lr},
    {"TRAIN.WARMUP_LR", row_warmup_lr},
    {"TRAIN.MIN_LR", row_min_lr},
    {"TRAIN.SCALE_LR", row_scale_lr},
    {"TRAIN.LR_SCHEDULER.NAME", row_schedule},
    {"TRAIN.WEIGHT_DECAY", row_weight_decay},
    {"TRAIN.CLIP_GRAD", row_clip_grad},
    {"TRAIN.LAYER_DECAY", row_layer_decay},
    {"TRAIN.EMA.ENABLE", row_ema},
    {"TRAIN.EMA.DECAY", row_ema_decay},
    {"TRAIN.EMA.RAMP_STEPS", row_ema_ramp},
    {"MODEL.DROP_PATH_RATE", row_drop_path},
    {"MODEL.LABEL_SMOOTHING", row_smoothing},
    {"AUG.PAD_CROP", row_pad_crop},
    {"AUG.SCALE", row_crop_scale},
    {"AUG.RESIZE_SCALE", row_resize_scale},
    {"AUG.HFLIP", row_hflip},
    {"AUG.COLOR_JITTER", row_jitter},
    {"AUG.AUTO_AUGMENT", row_policy},
    {"AUG.REPROB", row_erase},
    {"AUG.MIXUP", row_mixup},
    {"AUG.CUTMIX", row_cutmix},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

const char *const *job_keys(void)
{
    static const char *key[ROWS + 1];

    for (int i = 0; i < ROWS; i++)
        key[i] = rows[i].key;
    return key;
}

bool job_decides(const struct config *cfg)
{
    bool recipe = cfg->from_file && !cfg->model.layers->list.n;

    return cfg->defaults == DEFAULTS_JOB || (cfg->defaults == DEFAULTS_AUTO && !recipe);
}

void job_preset(struct config *cfg, const struct job *job)
{
    for (int i = 0; i < ROWS; i++) {
        struct view v = view_of(cfg, job);
        struct strbuf origin = STRBUF_INIT;

        if (!config_origin(cfg, rows[i].key) &&
            !augment_items_replace(cfg, rows[i].key) && rows[i].infer(&v)) {
            strbuf_addf(&origin, CONFIG_JOB_ORIGIN "%s", v.why.buf);
            config_preset(cfg, rows[i].key, v.value.buf, origin.buf);
        }
        strbuf_release(&origin);
        strbuf_release(&v.value);
        strbuf_release(&v.why);
    }
}
