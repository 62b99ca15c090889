#include "train/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
#include "config/dump.h"
#include "config/schema.h"
#include "session/state.h"
#include "train/class_list.h"

static void write_text(const struct output *o, const char *name, const char *text)
{
    char *path = path_join(o->dir, name);

    if (atomic_write_file(path, text, strlen(text)))
        die("cannot write '%s': %s", path, strerror(errno));
    free(path);
}

static void add_number(struct strbuf *s, const char *name, double x)
{
    strbuf_addf(s, "%s: ", name);
    value_add_double(s, x);
    strbuf_addch(s, '\n');
}

static void write_derived(const struct output *o, const struct session *s)
{
    const struct plan *p = &s->plan;
    struct strbuf t = STRBUF_INIT;

    strbuf_addstr(&t, OUTPUT_DERIVED_FIRST);
    strbuf_addf(&t, "device: %s\n", s->backend->name);
    strbuf_addf(&t, "compute: %s\namp_level: O%d\n", p->compute, (int)p->level);
    strbuf_addf(&t, "loss_scale: %s\n", p->scaler.dynamic ? "dynamic" : "static");
    strbuf_addf(&t, "batch: %lld\naccumulation: %d\nbatches_per_epoch: %d\n",
                (long long)p->batch, p->accumulation.group, p->accumulation.batches);
    strbuf_addf(&t, "images_per_update: %lld\n",
                (long long)p->batch * p->accumulation.group);
    strbuf_addf(&t, "updates_per_epoch: %lld\nupdates: %lld\nwarmup_updates: %lld\n",
                (long long)p->updates_per_epoch, (long long)p->updates,
                (long long)p->warmup_updates);
    add_number(&t, "lr_factor", p->lr_factor);
    add_number(&t, "base_lr", p->schedule.base);
    add_number(&t, "warmup_lr", p->schedule.warmup_start);
    add_number(&t, "min_lr", p->schedule.min);
    if (p->frozen_updates) {
        strbuf_addf(&t, "freeze_updates: %lld\n", (long long)p->frozen_updates);
        add_number(&t, "freeze_lr", p->schedule.frozen_rate);
    }
    strbuf_addf(&t, "arena_bytes: %zu\nweight_bytes: %zu\n",
                session_bytes(s, MEMORY_ARENA), session_bytes(s, MEMORY_WEIGHTS));
    write_text(o, "derived.yaml", t.buf);
    strbuf_release(&t);
}

/* Returns the name of the score that trainer_right() computes. */
static const char *right_name(const struct output *o)
{
    return score_name(o->task == MODEL_SEGMENT ? SCORE_ACC : SCORE_TOP1);
}

/* Columns of summary.csv; for segmentation, the last ones are iou_CLASS. */
enum { COLUMNS_MAX = 8 + 2 * SCORES + LABEL_CLASSES };

struct columns {
    char *name[COLUMNS_MAX];
    double value[COLUMNS_MAX];
    int n;
};

static void column(struct columns *c, double value, const char *prefix, const char *name)
{
    c->value[c->n] = value;
    c->name[c->n++] = xasprintf("%s%s", prefix, name);
}

static void columns_release(struct columns *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->name[i]);
}

static void columns_of(struct columns *c, const struct output *o,
                       const struct epoch_line *l)
{
    const struct segmentation *g = l->val.classes;

    c->n = 0;
    column(c, (double)l->epoch, "", "epoch");
    column(c, l->train_loss, "", "train_loss");
    column(c, l->train_right, "train_", right_name(o));
    for (int i = 0; i < SCORES; i++)
        if (score_of_task((enum score)i, o->task))
            column(c, l->val.val.value[i], "val_", score_name((enum score)i));
    for (int i = 0; i < SCORES; i++)
        if (score_of_task((enum score)i, o->task))
            column(c, l->val.ema.value[i], "ema_", score_name((enum score)i));
    column(c, l->lr, "", "lr");
    column(c, l->images_per_second, "", "img_s");
    column(c, l->seconds, "", "seconds");
    for (int k = 0; o->task == MODEL_SEGMENT && k < o->classes->n; k++)
        column(c, g ? g->class_result[k].iou : (double)NAN, "iou_", o->classes->name[k]);
}

static void open_summary(struct output *o, int64_t last)
{
    char *path = path_join(o->dir, "summary.csv");
    struct columns c;

    columns_of(&c, o, &(struct epoch_line){0});
    csv_open(&o->summary, path, (const char *const *)c.name, c.n, last);
    columns_release(&c);
    free(path);
}

/* Returns "seq" of a line, which grows with the steps tried; a resumed run truncates the
 * file by it. */
static int64_t sequence(const struct output *o, int64_t step, bool validated)
{
    return 2 * (step + o->ahead) + validated;
}

int64_t output_axis(const struct output *o, int64_t step)
{
    return step + o->shift;
}

/* Flushes after each line, so that TensorBoard also has the last line of a killed run. */
static void flush_events(struct output *o)
{
    if (o->tensorboard)
        tensorboard_flush(&o->events);
}

/* Writes the configuration to TensorBoard: as text, and keys that differ from their
 * defaults as hyperparameters. */
static void put_config(struct output *o, const struct config *cfg)
{
    char *best = xasprintf("val/val_%s", score_name(score_of_task_best(o->task)));
    struct tensorboard_hparams h = {
        .metric = {best, "val/val_loss", "train/loss"}};

    tensorboard_text(&o->events, "config", 0, o->config);
    for (const struct schema *row = schema_table; row->key; row++) {
        const struct value *v = config_get(cfg, row->key);
        struct strbuf text = STRBUF_INIT;

        if (config_is_default(cfg, row->key) || row->neutral)
            continue;
        if (v->type == VALUE_INT || v->type == VALUE_FLOAT) {
            tensorboard_hparam_number(&h, row->key,
                                      v->type == VALUE_INT ? (double)v->i : v->f);
        } else if (v->type == VALUE_BOOL) {
            tensorboard_hparam_bool(&h, row->key, v->b);
        } else {
            value_add_yaml(&text, v);
            tensorboard_hparam_text(&h, row->key, text.buf);
        }
        strbuf_release(&text);
    }
    tensorboard_hparams(&o->events, &h);
    free(best);
}

void output_open(struct output *o, const struct session *s, const struct run_state *state,
                 const struct class_list *classes, int64_t step, bool resumed)
{
    bool validated = state->val_step == step; /* false: this step is validated again */
    char *metrics = path_join(o->dir, "metrics.jsonl");
    struct control c = session_control(s);

    o->ahead = run_state_done(&c) - step;
    o->shift = state->axis > step ? state->axis - step : 0;
    o->task = s->plan.task;
    o->classes = classes;
    if (o->silent)
        return;
    open_summary(o, resumed ? state->epoch - 1 : -1); /* first, because it may die */
    write_derived(o, s);
    write_text(o, "config.yaml", o->config);
    write_text(o, "overrides.txt", o->words);
    jsonl_open(&o->metrics, metrics, "seq", resumed ? sequence(o, step, validated) : -1);
    if (o->tensorboard)
        tensorboard_open(&o->events, o->dir, resumed ? output_axis(o, step) + 1 : 0);
    if (o->tensorboard && !resumed)
        put_config(o, s->cfg);
    flush_events(o);
    (void)file_fsync_dir_of(metrics); /* for new files */
    o->open = true;
    free(metrics);
}

int output_log(const void *output, int i)
{
    const struct output *o = output;

    if (!o->open)
        return -1;
    return i == 0   ? o->metrics.lines.fd
           : i == 1 ? o->summary.lines.fd
                    : (o->tensorboard ? o->events.fd : -1);
}

void output_close(struct output *o)
{
    if (o->open) {
        jsonl_close(&o->metrics);
        csv_close(&o->summary);
        if (o->tensorboard)
            tensorboard_close(&o->events);
    }
    if (!o->silent)
        log_close();
    if (o->lock >= 0)
        close(o->lock);
    free(o->dir);
    free(o->config);
    free(o->words);
    *o = (struct output){0};
}

/* Writes a number to metrics.jsonl and, unless it is NaN, to TensorBoard. */
static void put(struct output *o, struct json_writer *w, const char *group,
                const char *name, int64_t step, double value)
{
    json_put_double(w, name, value);
    if (o->tensorboard && !isnan(value)) {
        char *tag = xasprintf("%s/%s", group, name);

        tensorboard_scalar(&o->events, tag, output_axis(o, step), value);
        free(tag);
    }
}

static struct json_writer *begin(struct output *o, const char *kind, int64_t step,
                                 int64_t epoch)
{
    struct json_writer *w = jsonl_begin(&o->metrics);

    json_put_string(w, "kind", kind);
    json_put_int(w, "seq", sequence(o, step, !strcmp(kind, "val")));
    json_put_int(w, "step", step);
    json_put_int(w, "epoch", epoch);
    return w;
}

/* Writes loss_scale_0, ... if each loss has its own scale. */
static void put_scales(struct output *o, struct json_writer *w,
                       const struct train_line *l)
{
    for (int k = 0; l->nscale > 1 && k < l->nscale; k++) {
        char *name = xasprintf("loss_scale_%d", k);

        put(o, w, "train", name, l->step, l->scale[k]);
        free(name);
    }
}

void output_train(struct output *o, const struct train_line *l)
{
    struct json_writer *w;

    if (o->silent)
        return;
    w = begin(o, "train", l->step, l->epoch);
    put(o, w, "train", "loss", l->step, l->loss);
    put(o, w, "train", right_name(o), l->step, l->right);
    put(o, w, "train", "lr", l->step, l->lr);
    put(o, w, "train", "grad_norm", l->step, l->grad_norm);
    put(o, w, "train", "loss_scale", l->step, l->loss_scale);
    put_scales(o, w, l);
    put(o, w, "train", "images_per_second", l->step, l->images_per_second);
    put(o, w, "train", "data_share", l->step, l->data_share);
    json_put_int(w, "skipped", l->skipped);
    jsonl_end(&o->metrics);
    flush_events(o);
}

/* True if any score is known: the loss may be NaN because the weights have diverged. */
static bool is_known(const struct scores *s)
{
    bool known = false;

    for (int i = 0; i < SCORES; i++)
        known = known || !isnan(s->value[i]);
    return known;
}

static void put_scores(struct output *o, struct json_writer *w, const char *prefix,
                       int64_t step, const struct scores *s)
{
    for (int i = 0; i < SCORES; i++) {
        char *name = xasprintf("%s_%s", prefix, score_name((enum score)i));

        if (score_of_task((enum score)i, o->task))
            put(o, w, "val", name, step, s->value[i]);
        free(name);
    }
}

/* Writes the IoU of each class; an absent class is null and is not sent to
 * TensorBoard. */
static void put_classes(struct output *o, struct json_writer *w, int64_t step,
                        const struct segmentation *g)
{
    json_begin_object(w, "val_iou");
    for (int k = 0; k < g->classes; k++)
        put(o, w, "val_iou", o->classes->name[k], step, g->class_result[k].iou);
    json_end(w);
}

void output_val(struct output *o, const struct val_line *l)
{
    struct json_writer *w;

    if (o->silent)
        return;
    w = begin(o, "val", l->step, l->epoch);
    put_scores(o, w, "val", l->step, &l->val);
    if (is_known(&l->ema))
        put_scores(o, w, "ema", l->step, &l->ema);
    if (l->classes)
        put_classes(o, w, l->step, l->classes);
    jsonl_end(&o->metrics);
    flush_events(o);
}

void output_epoch(struct output *o, const struct epoch_line *l)
{
    struct columns c;

    if (o->silent)
        return;
    columns_of(&c, o, l);
    csv_row(&o->summary, c.value);
    columns_release(&c);
}

/* True if metrics.jsonl has a validation of step `step`. */
static bool has_val(const struct output *o, int64_t step)
{
    char *text = file_read(o->metrics.lines.path, NULL);
    char *key = xasprintf("\"step\":%lld,", (long long)step);
    bool found = false;

    for (char *line = text, *end; line && !found && (end = strchr(line, '\n'));
         line = end + 1) {
        *end = '\0';
        found = strstr(line, "\"kind\":\"val\"") && strstr(line, key);
    }
    free(text);
    free(key);
    return found;
}

void output_late(struct output *o, const struct val_line *l)
{
    struct columns c;

    if (o->silent)
        return;
    if (!has_val(o, l->step))
        output_val(o, l);
    columns_of(&c, o,
               &(struct epoch_line){.epoch = l->epoch,
                                    .train_loss = (double)NAN,
                                    .train_right = (double)NAN,
                                    .lr = (double)NAN,
                                    .images_per_second = (double)NAN,
                                    .seconds = (double)NAN,
                                    .val = *l});
    csv_amend(&o->summary, c.value);
    columns_release(&c);
}
