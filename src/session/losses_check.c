/* Checks TRAIN.LOSS and LOSSES against the table of losses and the model. */
#include "session/losses.h"

#include <string.h>

#include "config/names.h"
#include "config/records.h"
#include "models/stages.h"
#include "session/model_config.h"
#include "session/task_config.h"

static bool reads_field(const struct loss *l, const char *field)
{
    for (const char *const *f = l->fields; f && *f; f++)
        if (!strcmp(*f, field))
            return true;
    return !strcmp(field, "type") || !strcmp(field, "weight");
}

/* Appends "bce, focal, asymmetric": the losses of a task. */
static void add_losses(struct strbuf *out, enum model_task task)
{
    struct named row;

    for (int i = 0; (row = loss_names.entry(loss_names.table, i)).name; i++)
        if (loss_find(row.name)->build[task])
            strbuf_addf(out, "%s%s", out->len ? ", " : "", row.name);
}

static void check_task(const struct config *cfg, const struct model *m,
                       const struct loss *l, const char *key, struct problems *p)
{
    enum model_task task = m ? model_task_of_config(cfg, m) : MODEL_CLASSIFY;
    struct strbuf can = STRBUF_INIT;

    if (!m || l->build[task])
        return;
    if (task > MODEL_SEGMENT) {
        add_losses(&can, task);
        config_blame(cfg, p, KEYS(key, "MODEL.TASK"),
                     "%s %s cannot be used with MODEL.TASK %s (%s can)", key, l->name,
                     task_name(task), can.buf);
        strbuf_release(&can);
        return;
    }
    for (int t = MODEL_SEGMENT + 1; t < MODEL_TASKS; t++)
        if (l->build[t] && !l->build[MODEL_CLASSIFY]) {
            config_blame(cfg, p, KEYS(key, "MODEL.TASK"), "%s %s needs MODEL.TASK %s",
                         key, l->name, task_name((enum model_task)t));
            return;
        }
    if (m->family->task == MODEL_SEGMENT)
        config_blame(cfg, p, KEYS(key), "%s %s is of whole images, and %s labels pixels",
                     key, l->name, cfg->model.name);
    else
        config_blame(cfg, p, KEYS(key),
                     "%s %s is for segmentation, but %s classifies whole images", key,
                     l->name, cfg->model.name);
}

static void check_stage(const struct config *cfg, const struct model *m, int i,
                        struct problems *p)
{
    const struct config_loss *c = RECORD(cfg->losses, struct config_loss, i);
    struct model_stages all;
    struct arena mem = {0};
    struct model_options o;

    if (c->stage < 0 || !m || p->nerror)
        return;
    o = model_options_of_config(cfg, &mem);
    model_stages_list(m, &o, (int)cfg->model.in_chans, config_height(cfg),
                      config_width(cfg), &all);
    if (c->stage >= all.n)
        config_blame(cfg, p, KEYS("LOSSES"),
                     "LOSSES: item %d has stage %lld, but the last stage of %s is %d", i,
                     (long long)c->stage, m->name, all.n - 1);
    arena_release(&mem);
}

static void check_item(const struct config *cfg, const struct model *m, int i,
                       struct problems *p)
{
    const struct config_loss *c = RECORD(cfg->losses, struct config_loss, i);
    const struct value *map = &config_get(cfg, "LOSSES")->list.item[i];
    const struct loss *l = loss_find(c->type);
    struct strbuf why = STRBUF_INIT;

    if (!names_known(&loss_names, c->type, &why))
        config_blame(cfg, p, KEYS("LOSSES"), "LOSSES: the type of its item %d %s", i,
                     why.buf);
    strbuf_release(&why);
    if (!l)
        return;
    for (int k = 0; k < map->list.n; k += 2)
        if (!reads_field(l, map->list.item[k].s))
            config_blame(cfg, p, KEYS("LOSSES"),
                         "LOSSES: item %d has a field %s, which %s does not read", i,
                         map->list.item[k].s, l->name);
    check_task(cfg, m, l, "LOSSES", p);
    check_stage(cfg, m, i, p);
}

static void check_teacher(const struct config *cfg, const struct model *m, bool needed,
                          struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *teacher;

    if (!needed) {
        config_warn_unread(cfg, p, "MODEL.TEACHER", "no loss is distill");
        config_warn_unread(cfg, p, "MODEL.TEACHER_MODEL", "no loss is distill");
        return;
    }
    if (!*cfg->model.teacher)
        config_blame(cfg, p, KEYS("MODEL.TEACHER", "LOSSES", "TRAIN.LOSS.NAME"),
                     "a loss has type distill, but MODEL.TEACHER is empty");
    if (!m)
        return;
    teacher = teacher_find(cfg, &why);
    if (!teacher)
        config_blame(cfg, p, KEYS("MODEL.TEACHER_MODEL"), "MODEL.TEACHER_MODEL: %s",
                     why.buf);
    else if (teacher->family->task != m->family->task)
        config_blame(cfg, p, KEYS("MODEL.TEACHER_MODEL"),
                     "MODEL.TEACHER_MODEL: %s labels %s, and %s %s", teacher->name,
                     teacher->family->task == MODEL_SEGMENT ? "pixels" : "whole images",
                     m->name,
                     m->family->task == MODEL_SEGMENT ? "pixels" : "whole images");
    strbuf_release(&why);
}

static bool class_weights_are_set(const struct config *cfg)
{
    const struct float_list *w = &cfg->train.class_weights;

    return w->item || w->n != CLASS_WEIGHTS_NONE;
}

/* PyTorch's smoothing applies class weights to all classes; here one excludes the other. */
static void check_weighted_smoothing(const struct config *cfg, const struct model *m,
                                     struct problems *p)
{
    if (!m || m->family->task != MODEL_SEGMENT || !class_weights_are_set(cfg))
        return;
    for (int i = 0; i < cfg->losses.n; i++) {
        const struct loss *l =
            loss_find(RECORD(cfg->losses, struct config_loss, i)->type);

        if (l && l->weighted &&
            RECORD(cfg->losses, struct config_loss, i)->smoothing.has &&
            RECORD(cfg->losses, struct config_loss, i)->smoothing.value > 0)
            config_blame(
                cfg, p, KEYS("LOSSES", "TRAIN.CLASS_WEIGHTS"),
                "LOSSES: item %d has label smoothing, which cannot be combined with "
                "TRAIN.CLASS_WEIGHTS for segmentation: set only one of them",
                i);
    }
}

/* Checks the items of LOSSES against each other. */
static void check_list(const struct config *cfg, const struct model *m,
                       struct problems *p)
{
    bool main = false, teacher = false, weighted = false;

    for (int i = 0; i < cfg->losses.n; i++) {
        const struct loss *l =
            loss_find(RECORD(cfg->losses, struct config_loss, i)->type);

        main |= RECORD(cfg->losses, struct config_loss, i)->stage < 0 &&
                RECORD(cfg->losses, struct config_loss, i)->weight > 0;
        teacher |= l && l->teacher;
        weighted |= l && l->weighted;
    }
    if (cfg->losses.n > LOSSES_MAX)
        config_blame(cfg, p, KEYS("LOSSES"), "LOSSES has %d items, more than %d",
                     cfg->losses.n, LOSSES_MAX);
    else if (!main)
        config_blame(cfg, p, KEYS("LOSSES"),
                     "LOSSES: no loss with a weight above 0 applies to the logits");
    if (!weighted && class_weights_are_set(cfg))
        config_blame(
            cfg, p, KEYS("TRAIN.CLASS_WEIGHTS", "LOSSES"),
            "TRAIN.CLASS_WEIGHTS: only the loss cross_entropy uses class weights");
    check_weighted_smoothing(cfg, m, p);
    check_teacher(cfg, m, teacher, p);
}

/* Refuses keys of a single loss next to LOSSES, whose items have fields for them. */
static void check_unread(const struct config *cfg, struct problems *p)
{
    static const char *const keys[] = {"TRAIN.LOSS.NAME", "TRAIN.LOSS.TARGET_THRESH",
                                       "TRAIN.LOSS.SUM_CLASSES"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        config_warn_unread(cfg, p, keys[i], "LOSSES says what is learned from");
}

/* AMP.NUM_LOSSES: either each item of LOSSES has its own loss scale, or all share one. */
static void check_scales(const struct config *cfg, struct problems *p)
{
    int64_t n = cfg->amp.num_losses;

    if (n > 1 && n != cfg->losses.n)
        config_blame(
            cfg, p, KEYS("AMP.NUM_LOSSES", "LOSSES"),
            "AMP.NUM_LOSSES %lld: LOSSES has %d items: set it to that number, or to 1",
            (long long)n, cfg->losses.n);
}

void loss_check(const struct config *cfg, const struct model *m, struct problems *p)
{
    const struct loss *l;

    check_scales(cfg, p);
    if (cfg->losses.n) {
        for (int i = 0; i < cfg->losses.n; i++)
            check_item(cfg, m, i, p);
        check_list(cfg, m, p);
        check_unread(cfg, p);
        return;
    }
    if (!names_check(&loss_names, cfg, p, "TRAIN.LOSS.NAME"))
        return;
    l = loss_find(cfg->train.loss.name);
    if (!l)
        return;
    check_task(cfg, m, l, "TRAIN.LOSS.NAME", p);
    check_teacher(cfg, m, l->teacher, p);
    if (!l->weighted && class_weights_are_set(cfg))
        config_blame(cfg, p, KEYS("TRAIN.CLASS_WEIGHTS", "TRAIN.LOSS.NAME"),
                     "TRAIN.CLASS_WEIGHTS: only cross_entropy reads them, not %s",
                     l->name);
}
