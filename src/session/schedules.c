#include "session/schedules.h"

#include <math.h>

#include "base/error.h"
#include "config/names.h"

#define SCHED(name) "TRAIN.LR_SCHEDULER." name
#define READS(...)                                                                       \
    (const char *const[])                                                                \
    {                                                                                    \
        __VA_ARGS__, NULL                                                                \
    }
#define WARMUP "TRAIN.WARMUP_LR"

static void fill_step(struct schedule *s, const struct config *cfg,
                      int64_t updates_per_epoch)
{
    s->every = cfg->train.lr_scheduler.decay_epochs * updates_per_epoch;
    s->rate = cfg->train.lr_scheduler.decay_rate;
}

static void check_multistep(const struct config *cfg, struct problems *p)
{
    const struct int_list *steps = &cfg->train.lr_scheduler.multisteps;
    const char *const *keys =
        KEYS(SCHED("MULTISTEPS"), SCHED("NAME"), "TRAIN.WARMUP_EPOCHS");

    if (!steps->n || steps->n > SCHEDULE_MILESTONES)
        config_blame(cfg, p, KEYS(keys[0], keys[1]),
                     "TRAIN.LR_SCHEDULER.MULTISTEPS has %d milestones, multistep needs 1 "
                     "to %d",
                     steps->n, SCHEDULE_MILESTONES);
    for (int i = 1; i < steps->n; i++)
        if (steps->item[i] <= steps->item[i - 1])
            config_blame(cfg, p, KEYS(keys[0]),
                         "TRAIN.LR_SCHEDULER.MULTISTEPS must be increasing");
    if (steps->n && cfg->train.freeze_epochs + cfg->train.warmup_epochs > steps->item[0])
        config_blame(cfg, p, keys,
                     "the first of TRAIN.LR_SCHEDULER.MULTISTEPS (%lld) is within the "
                     "warm-up of %lld epochs%s",
                     (long long)steps->item[0], (long long)cfg->train.warmup_epochs,
                     cfg->train.freeze_epochs ? ", which follows TRAIN.FREEZE_EPOCHS"
                                              : "");
}

static void fill_multistep(struct schedule *s, const struct config *cfg,
                           int64_t updates_per_epoch)
{
    const struct int_list *m = &cfg->train.lr_scheduler.multisteps;

    if (!m->n || m->n > SCHEDULE_MILESTONES)
        BUG("unchecked milestones");
    for (int i = 0; i < m->n; i++)
        s->milestone[i] = (m->item[i] - cfg->train.freeze_epochs) * updates_per_epoch;
    s->nmilestone = m->n;
    s->rate = cfg->train.lr_scheduler.gamma;
}

static void fill_poly(struct schedule *s, const struct config *cfg,
                      int64_t updates_per_epoch)
{
    (void)updates_per_epoch;
    s->power = cfg->train.lr_scheduler.power;
}

static void fill_onecycle(struct schedule *s, const struct config *cfg,
                          int64_t updates_per_epoch)
{
    (void)updates_per_epoch;
    s->pct_start = cfg->train.lr_scheduler.pct_start;
    s->div = cfg->train.lr_scheduler.div_factor;
    s->final_div = cfg->train.lr_scheduler.final_div_factor;
}

static void check_plateau(const struct config *cfg, struct problems *p)
{
    double rate = cfg->train.lr_scheduler.decay_rate;

    if (!(rate > 0 && rate < 1))
        config_blame(
            cfg, p, KEYS(SCHED("DECAY_RATE"), SCHED("NAME")),
            "TRAIN.LR_SCHEDULER.DECAY_RATE %g: plateau needs one between 0 and 1", rate);
}

static void fill_plateau(struct schedule *s, const struct config *cfg,
                         int64_t updates_per_epoch)
{
    (void)updates_per_epoch;
    s->rate = cfg->train.lr_scheduler.decay_rate;
    s->patience = cfg->train.lr_scheduler.patience_epochs;
}

/* Grows the rate from 1e-8 * BASE_LR to BASE_LR, in TRAIN.MAX_STEPS or the whole run. */
static void fill_range(struct schedule *s, const struct config *cfg,
                       int64_t updates_per_epoch)
{
    static const double span = 1e8;
    int64_t steps = cfg->train.max_steps ? cfg->train.max_steps : s->total;

    (void)updates_per_epoch;
    s->warmup = 0;
    s->every = 1;
    s->rate = pow(span, 1 / (double)(steps > 1 ? steps - 1 : 1));
    s->base /= span;
}

static const struct lr_schedule schedules[] = {
    {
        .name = "cosine",
        .help = "half a cosine down to MIN_LR (timm, Swin)",
        .kind = SCHEDULE_COSINE,
        .reads = READS(WARMUP, "TRAIN.MIN_LR", SCHED("WARMUP_PREFIX")),
    },
    {
        .name = "linear",
        .help = "a line down to a hundredth of BASE_LR (Swin)",
        .kind = SCHEDULE_LINEAR,
        .reads = READS(WARMUP),
    },
    {
        .name = "step",
        .help = "times DECAY_RATE every DECAY_EPOCHS (Swin)",
        .kind = SCHEDULE_STEP,
        .reads = READS(WARMUP, SCHED("DECAY_EPOCHS"), SCHED("DECAY_RATE")),
        .fill = fill_step,
    },
    {
        .name = "multistep",
        .help = "times GAMMA at each epoch of MULTISTEPS (torch, SimMIM)",
        .kind = SCHEDULE_MULTISTEP,
        .reads = READS(WARMUP, SCHED("GAMMA"), SCHED("MULTISTEPS")),
        .check = check_multistep,
        .fill = fill_multistep,
    },
    {
        .name = "poly",
        .help = "a power of what is left of the run, down to MIN_LR (timm, ERFNet)",
        .kind = SCHEDULE_POLY,
        .reads = READS(WARMUP, "TRAIN.MIN_LR", SCHED("WARMUP_PREFIX"), SCHED("POWER")),
        .fill = fill_poly,
    },
    {
        .name = "onecycle",
        .help = "up to BASE_LR and down, two half cosines (torch)",
        .kind = SCHEDULE_ONECYCLE,
        .reads =
            READS(SCHED("PCT_START"), SCHED("DIV_FACTOR"), SCHED("FINAL_DIV_FACTOR")),
        .warms_up_by = "PCT_START",
        .fill = fill_onecycle,
    },
    {
        .name = "constant",
        .help = "BASE_LR to the end (timm)",
        .kind = SCHEDULE_CONSTANT,
        .reads = READS(WARMUP),
    },
    {
        .name = "plateau",
        .help = "times DECAY_RATE after PATIENCE_EPOCHS without a better score (timm)",
        .kind = SCHEDULE_PLATEAU,
        .reads =
            READS(WARMUP, "TRAIN.MIN_LR", SCHED("DECAY_RATE"), SCHED("PATIENCE_EPOCHS")),
        .check = check_plateau,
        .fill = fill_plateau,
        .judge = plateau_judge,
    },
    {
        .name = "range",
        .help = "up to BASE_LR by the same factor at each step: a range test, see "
                "train --lr-find",
        .kind = SCHEDULE_STEP,
        .reads = (const char *const[]){NULL},
        .warms_up_by = "itself",
        .fill = fill_range,
    },
    {.name = NULL},
};

static struct named schedule_at(const void *table, int i)
{
    const struct lr_schedule *s = (const struct lr_schedule *)table + i;

    return (struct named){.name = s->name, .help = s->help, .reads = s->reads};
}

const struct names schedule_names = {.entry = schedule_at, .table = schedules};

void schedule_check(const struct config *cfg, struct problems *p)
{
    const struct lr_schedule *s;

    if (!names_check(&schedule_names, cfg, p, SCHED("NAME")))
        return;
    s = schedule_of_config(cfg);
    if (s->check)
        s->check(cfg, p);
}

void schedule_note_warmup(const struct config *cfg, struct problems *p)
{
    const struct config_train *t = &cfg->train;
    int i = names_find(&schedule_names, t->lr_scheduler.name);

    int64_t epochs = t->epochs - t->freeze_epochs;

    if (i < 0 || schedules[i].warms_up_by || epochs <= 0 || t->warmup_epochs < epochs ||
        t->warmup_share.has)
        return;
    problems_warn(p, config_origin(cfg, "TRAIN.EPOCHS"),
                  "the warm-up of %lld epochs (TRAIN.WARMUP_EPOCHS) would cover all %lld "
                  "epochs of the run: shortened to a tenth of the run; set "
                  "--warmup-epochs or --warmup-share to change it",
                  (long long)t->warmup_epochs, (long long)epochs);
}

const struct lr_schedule *schedule_of_config(const struct config *cfg)
{
    int i = names_find(&schedule_names, cfg->train.lr_scheduler.name);

    if (i < 0)
        usage("there is no TRAIN.LR_SCHEDULER.NAME '%s'", cfg->train.lr_scheduler.name);
    return &schedules[i];
}

int64_t schedule_warmup(const struct config *cfg, int64_t updates_per_epoch)
{
    const struct config_train *t = &cfg->train;
    int64_t warmup = t->warmup_epochs * updates_per_epoch;
    int64_t total = (t->epochs - t->freeze_epochs) * updates_per_epoch;
    double share = t->warmup_share.has ? t->warmup_share.value : warmup < total ? 1 : 0.1;
    int64_t max = (int64_t)(share * (double)total);

    return warmup < max ? warmup : max;
}

int64_t schedule_swa_epoch(const struct config *cfg)
{
    const struct config_train *t = &cfg->train;
    int64_t three_quarters = t->epochs * 3 / 4;

    if (t->swa.start)
        return t->swa.start;
    return three_quarters > t->freeze_epochs ? three_quarters : t->freeze_epochs;
}

struct schedule schedule_fill(const struct config *cfg, int64_t updates_per_epoch,
                              double factor)
{
    const struct config_train *t = &cfg->train;
    const struct lr_schedule *row = schedule_of_config(cfg);
    struct schedule s = {
        .kind = (int)row->kind,
        .warmup_prefix = t->lr_scheduler.warmup_prefix,
        .total = (t->epochs - t->freeze_epochs) * updates_per_epoch,
        .frozen = t->freeze_epochs * updates_per_epoch,
        .frozen_rate = (t->freeze_lr.has ? t->freeze_lr.value : t->base_lr) * factor,
        .warmup = schedule_warmup(cfg, updates_per_epoch),
        .swa = t->swa.enable,
        .swa_linear = t->swa.anneal == SWA_ANNEAL_LINEAR,
        .swa_start = schedule_swa_epoch(cfg) * updates_per_epoch,
        .swa_anneal = t->swa.anneal_epochs * updates_per_epoch,
        .swa_rate = t->swa.lr.has ? t->swa.lr.value * factor : -1,
        .base = t->base_lr * factor,
        .warmup_start = t->warmup_lr * factor,
        .min = t->min_lr * factor,
    };

    if (row->fill)
        row->fill(&s, cfg, updates_per_epoch);
    return s;
}
