#include "train/checkpoint_state.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/state.h"

static void put_metrics(struct json_writer *w, const char *key, const struct metrics *m)
{
    json_begin_object(w, key);
    json_put_double(w, "loss_sum", m->loss_sum);
    json_put_double(w, "measured", m->measured);
    json_put_int(w, "count", m->count);
    json_put_int(w, "top1", m->top1);
    json_put_int(w, "top5", m->top5);
    json_put_int(w, "nonfinite", m->nonfinite);
    json_put_int(w, "runs", m->runs);
    json_end(w);
}

/* Writes the loss scales if each loss has its own. */
static void put_scales(struct json_writer *w, const struct control *c, int n)
{
    if (n <= 1)
        return;
    json_begin_array(w, "loss_scales");
    for (int k = 0; k < n; k++) {
        json_begin_object(w, NULL);
        json_put_double(w, "loss_scale", c->scalers[k].scale);
        json_put_int(w, "growth_count", c->scalers[k].growth_count);
        json_end(w);
    }
    json_end(w);
}

static void put_control(struct json_writer *w, const struct control *c, int losses)
{
    json_begin_object(w, "control");
    json_put_int(w, "step", c->step);
    json_put_int(w, "micro", c->micro);
    json_put_int(w, "seed", (int64_t)c->seed);
    json_put_int(w, "updates", c->updates);
    if (c->frozen_updates)
        json_put_int(w, "frozen_updates", c->frozen_updates);
    json_put_double(w, "loss_scale", c->loss_scale);
    json_put_int(w, "growth_count", c->growth_count);
    put_scales(w, c, losses);
    json_put_int(w, "skipped", c->skipped);
    json_put_int(w, "skipped_row", c->skipped_row);
    json_end(w);
}

/* Writes the default optimizer and those of the parameter groups. */
static void put_optimizers(struct json_writer *w, const struct optimizer_groups *g)
{
    json_put_string(w, "optimizer", g->use[0].optimizer->name);
    if (g->n == 1)
        return;
    json_begin_array(w, "optimizer_groups");
    for (int i = 0; i + 1 < g->n; i++) {
        json_begin_object(w, NULL);
        json_put_string(w, "match", g->group[i].match);
        json_put_string(w, "name", g->use[g->group[i].use].optimizer->name);
        json_end(w);
    }
    json_end(w);
}

static void put_plateau(struct json_writer *w, const struct plateau *p)
{
    json_begin_object(w, "plateau");
    json_put_double(w, "lr", p->lr);
    json_put_double(w, "best", p->best);
    json_put_double(w, "score", p->score);
    json_put_int(w, "bad", p->bad);
    json_end(w);
}

static void put_iou(struct json_writer *w, const struct class_iou *iou)
{
    json_begin_array(w, "val_iou");
    for (int k = 0; k < iou->n; k++)
        json_put_double(w, NULL, iou->iou[k]);
    json_end(w);
}

/* Returns a key such as "best_top1". */
static const char *best_key(const struct session *s, char key[32])
{
    enum score k = score_best(s->cfg, s->plan.task);

    (void)snprintf(key, 32, "best_%s", score_name(k));
    return key;
}

void checkpoint_state_put(struct strbuf *text, const struct session *s,
                          const struct run_state *r)
{
    struct control c = session_control(s);
    struct json_writer w = json_writer(text);
    char digest[17], key[32];

    json_begin_object(&w, NULL);
    json_put_int(&w, "version", CHECKPOINT_VERSION);
    json_put_string(&w, "model", s->cfg->model.name);
    put_optimizers(&w, &s->plan.groups);
    json_put_int(&w, "epoch", r->epoch);
    json_put_int(&w, "step", c.step);
    json_put_int(&w, "updates_per_epoch", r->updates_per_epoch);
    json_put_int(&w, "update_images", r->update_images);
    json_put_int(&w, "axis", r->axis);
    (void)snprintf(digest, sizeof(digest), "%016" PRIx64, r->data);
    json_put_string(&w, "data", digest);
    put_control(&w, &c, s->plan.scaler.losses);
    json_put_bool(&w, "dynamic_scale", s->plan.scaler.dynamic);
    put_metrics(&w, "train", &r->train);
    put_metrics(&w, "window", &r->window);
    json_put_double(&w, best_key(s, key), r->best_score);
    json_put_int(&w, "best_epoch", r->best_epoch);
    if (s->plan.lr_schedule->judge)
        put_plateau(&w, &r->plateau);
    json_put_double(&w, "train_loss", r->train_loss);
    scores_put(&w, "val_", &r->val);
    scores_put(&w, "ema_", &r->ema);
    if (r->val_iou.n)
        put_iou(&w, &r->val_iou);
    if (s->averaged) {
        json_put_int(&w, "averaged", s->averaged);
        json_put_int(&w, "averaged_step", r->averaged_step);
    }
    if (r->val_step >= 0)
        json_put_int(&w, "val_step", r->val_step);
    json_end(&w);
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

enum { EPOCHS_MAX = 1000000000 };
/* Limit of a counter: sums of two, and products with accumulation steps, fit in 64
 * bits. */
static const int64_t COUNT_MAX = (int64_t)1 << 50;

/* Returns a count, or 0 if it is absent. Sets `why` (unless it is set) if it is out of
 * range. */
static int64_t count(const json_t *o, const char *key, int64_t max, struct strbuf *why)
{
    const json_t *v = json_object_get(o, key);
    int64_t n = json_integer_value(v);

    if (!v || (json_is_integer(v) && n >= 0 && n <= max))
        return n;
    if (!why->len)
        strbuf_addf(why, "%s is not a number from 0 to %lld", key, (long long)max);
    return 0;
}

static struct metrics get_metrics(const json_t *o, struct strbuf *why)
{
    double weight = number(o, "measured");

    if (!(weight >= 0 && weight <= (double)COUNT_MAX) && o && !why->len)
        strbuf_addf(why, "measured is not a number from 0 to %lld", (long long)COUNT_MAX);
    return (struct metrics){number(o, "loss_sum"),
                            o ? weight : 0,
                            count(o, "count", COUNT_MAX, why),
                            count(o, "top1", COUNT_MAX, why),
                            count(o, "top5", COUNT_MAX, why),
                            count(o, "nonfinite", COUNT_MAX, why),
                            count(o, "runs", COUNT_MAX, why)};
}

static bool is_scale(double x)
{
    return x > 0 && x <= (double)FLT_MAX;
}

/* Returns the number of loss scales; 1 means that all losses share control.loss_scale. */
static int get_scales(const json_t *o, struct control *c, struct strbuf *why)
{
    const json_t *list = json_object_get(o, "loss_scales");
    int n = (int)json_array_size(list);

    if (n > CONTROL_LOSSES && !why->len)
        strbuf_addf(why, "loss_scales are more than %d", CONTROL_LOSSES);
    for (int k = 0; k < n && !why->len; k++) {
        const json_t *item = json_array_get(list, (size_t)k);

        c->scalers[k] = (struct loss_scaler){
            .scale = number(item, "loss_scale"),
            .growth_count = (int32_t)count(item, "growth_count", INT32_MAX, why)};
        if (!is_scale(c->scalers[k].scale) && !why->len)
            strbuf_addstr(why, "an item of loss_scales is not a number above 0");
    }
    return n > 1 ? n : 1;
}

static struct control get_control(const json_t *o, struct strbuf *why)
{
    return (struct control){
        .step = count(o, "step", COUNT_MAX, why),
        .micro = count(o, "micro", COUNT_MAX, why),
        .seed = (uint64_t)json_integer_value(json_object_get(o, "seed")),
        .updates = count(o, "updates", COUNT_MAX, why),
        .frozen_updates = count(o, "frozen_updates", COUNT_MAX, why),
        .loss_scale = number(o, "loss_scale"),
        .growth_count = (int32_t)count(o, "growth_count", INT32_MAX, why),
        .skipped = count(o, "skipped", COUNT_MAX, why),
        .skipped_row = count(o, "skipped_row", COUNT_MAX, why),
    };
}

/* Returns PLATEAU_START if the run used another schedule. */
static struct plateau get_plateau(const json_t *o, struct strbuf *why)
{
    struct plateau p = {number(o, "lr"), number(o, "best"), number(o, "score"),
                        count(o, "bad", EPOCHS_MAX, why)};

    if (!o)
        return PLATEAU_START;
    if (!why->len && (!(p.lr >= 0 && p.lr <= DBL_MAX) || isnan(p.best)))
        strbuf_addstr(why, "the state of plateau is not numeric");
    return p;
}

/* Returns an empty list for a classifier and before the first validation. */
static struct class_iou get_iou(const json_t *o, const struct session *s,
                                struct strbuf *why)
{
    const json_t *list = json_object_get(o, "val_iou");
    struct class_iou iou = {.n = (int)session_classes(s)};

    if (!list)
        return (struct class_iou){0};
    if (json_array_size(list) != (size_t)iou.n && !why->len)
        strbuf_addf(why, "val_iou is not a list of %d numbers", iou.n);
    for (int k = 0; k < iou.n && !why->len; k++) {
        const json_t *v = json_array_get(list, (size_t)k);

        iou.iou[k] = json_is_number(v) ? json_number_value(v) : (double)NAN;
    }
    return iou;
}

static uint64_t get_digest(const json_t *o, struct strbuf *why)
{
    const char *text = json_string_value(json_object_get(o, "data"));

    if (!text && !why->len)
        strbuf_addstr(why, "data is not a digest");
    return text ? strtoull(text, NULL, 16) : 0;
}

/* Checks all values: a matching checksum does not mean that they make sense. */
int checkpoint_state_get(const json_t *o, const struct session *s, struct run_state *r,
                         struct control *c, struct strbuf *why)
{
    char key[32];

    *r = (struct run_state){
        .epoch = count(o, "epoch", EPOCHS_MAX, why),
        .updates_per_epoch = count(o, "updates_per_epoch", INT32_MAX, why),
        .update_images = count(o, "update_images", INT32_MAX, why),
        .axis = count(o, "axis", COUNT_MAX, why),
        .train = get_metrics(json_object_get(o, "train"), why),
        .window = get_metrics(json_object_get(o, "window"), why),
        .dynamic_scale = json_is_true(json_object_get(o, "dynamic_scale")),
        .best_score = number(o, best_key(s, key)),
        .best_epoch = count(o, "best_epoch", EPOCHS_MAX, why),
        .plateau = get_plateau(json_object_get(o, "plateau"), why),
        .train_loss = number(o, "train_loss"),
        .val = scores_get(o, "val_"),
        .ema = scores_get(o, "ema_"),
        .val_iou = get_iou(o, s, why),
        .data = get_digest(o, why),
        .averaged = count(o, "averaged", EPOCHS_MAX, why),
        .averaged_step = count(o, "averaged_step", COUNT_MAX, why),
        .val_step = count(o, "val_step", COUNT_MAX, why),
    };
    if (!json_object_get(o, "val_step")) /* not validated yet */
        r->val_step = -1;
    *c = get_control(json_object_get(o, "control"), why);
    r->loss_scales = get_scales(json_object_get(o, "control"), c, why);
    if (!why->len && !is_scale(c->loss_scale))
        strbuf_addstr(why, "loss_scale is not a number above 0");
    if (!why->len && c->frozen_updates > c->updates)
        strbuf_addstr(why, "frozen_updates are more than updates");
    if (!why->len && (c->step < r->epoch * r->updates_per_epoch ||
                      c->step > (r->epoch + 1) * r->updates_per_epoch))
        strbuf_addf(why, "step %lld is not in epoch %lld (%lld steps per epoch)",
                    (long long)c->step, (long long)r->epoch,
                    (long long)r->updates_per_epoch);
    return why->len ? -1 : 0;
}

void checkpoint_put_class_weights(struct strbuf *text, const struct session *s)
{
    const float *weight = s->plan.class_weight;

    for (int c = 0; weight && c < s->cfg->model.num_classes; c++)
        strbuf_addf(text, "%s%.9g", c ? ", " : "[", (double)weight[c]);
    if (text->len)
        strbuf_addstr(text, "]");
}

void checkpoint_put_thresholds(struct strbuf *text, const struct session *s)
{
    for (int c = 0; s->thresholds && c < s->cfg->model.num_classes; c++)
        strbuf_addf(text, "%s%.17g", c ? ", " : "[", s->thresholds[c]);
    if (text->len)
        strbuf_addstr(text, "]");
}
