#include "train/collector.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "train/evaluate.h"
#include "train/paint.h"

static const struct tensor *logits_of(const struct session *s)
{
    return s->build[SESSION_EVAL].logits;
}

/* Returns the pixels of an image's logits. */
static int64_t map_size(const struct session *s)
{
    return logits_of(s)->dim[2] * logits_of(s)->dim[3];
}

static bool wants_boundary(const struct session *s)
{
    return s->plan.task == MODEL_SEGMENT &&
           (s->cfg->test.boundary_iou || s->cfg->train.best_metric == BEST_BOUNDARY_IOU);
}

/* Returns the bytes of a target. */
static size_t target_size(const struct collector *c)
{
    return c->values ? sizeof(float) : 1;
}

void collector_init(struct collector *c, struct session *s, struct report *r)
{
    int classes = (int)session_classes(s);
    bool classifies = s->plan.task == MODEL_CLASSIFY || s->plan.task == MODEL_ORDINAL;
    size_t n = (size_t)s->plan.val_batch;

    *c = (struct collector){
        .session = s,
        .report = classifies ? r : NULL,
        .which = session_has_ema(s) ? SESSION_EMA : SESSION_RAW,
        .classes = classifies && classes <= CLASS_SCORES_MAX,
        .sets = s->plan.task == MODEL_MULTILABEL,
        .values = s->plan.task == MODEL_REGRESSION,
    };
    if (c->classes)
        class_scores_init(&c->rows, classes);
    if (c->sets)
        multilabel_init(&c->rows, classes);
    if (c->values)
        regression_init(&c->rows, classes);
    if (wants_boundary(s))
        c->boundary = boundary_new(s->cfg->test.boundary_width, classes);
    c->sample = xcalloc(n, sizeof(*c->sample));
    c->label = xcalloc(n, sizeof(*c->label));
    c->target = xcalloc(n * (size_t)classes, target_size(c));
    c->map = xcalloc(c->boundary ? n * (size_t)map_size(s) : 1, 1);
    c->logits =
        xcalloc(c->boundary ? (size_t)tensor_len(logits_of(s)) : n * (size_t)classes,
                sizeof(*c->logits));
}

void collector_release(struct collector *c)
{
    image_rows_release(&c->rows);
    free(c->sample);
    free(c->label);
    free(c->target);
    free(c->map);
    free(c->logits);
    boundary_free(c->boundary);
}

void collector_batch(struct collector *c, const struct batch *b)
{
    size_t n = (size_t)b->size;

    memcpy(c->sample, b->sample, n * sizeof(*c->sample));
    memcpy(c->label, b->label, n * sizeof(*c->label));
    if (b->target)
        memcpy(c->target, b->target,
               n * (size_t)session_classes(c->session) * target_size(c));
    if (c->boundary)
        memcpy(c->map, b->label_map, n * (size_t)map_size(c->session));
}

static bool needs_images(const struct collector *c)
{
    return c->report || c->classes || c->sets || c->values || c->boundary;
}

/* Compares the borders of the batch's label maps with those of its predictions. */
static void add_boundaries(struct collector *c)
{
    const struct tensor *z = logits_of(c->session);
    int64_t size = map_size(c->session), classes = session_classes(c->session);
    uint8_t *guess = xmalloc((size_t)size);

    for (int i = 0; i < c->session->plan.val_batch; i++) {
        if (c->sample[i] < 0 || c->label[i] < 0)
            continue;
        paint_argmax(c->logits + i * size * classes, size, (int)classes, guess);
        boundary_add(c->boundary, c->map + i * size, guess, (int)z->dim[3],
                     (int)z->dim[2]);
    }
    free(guess);
}

void collector_add(struct collector *c)
{
    int64_t classes = session_classes(c->session);

    if (!needs_images(c))
        return;
    session_logits(c->session, c->logits);
    if (c->boundary) {
        add_boundaries(c);
        return;
    }
    for (int i = 0; i < c->session->plan.val_batch; i++) {
        const float *logits = c->logits + i * classes;

        if (c->sample[i] < 0 || c->label[i] < 0)
            continue;
        if (c->report)
            report_add(c->report, c->sample[i], c->label[i], logits);
        if (c->classes)
            class_scores_add(&c->rows, c->sample[i], c->label[i], logits);
        if (c->sets)
            multilabel_add(&c->rows, c->sample[i], c->target + i * classes, logits);
        if (c->values)
            regression_add(&c->rows, c->sample[i],
                           (const float *)(const void *)c->target + i * classes, logits);
    }
}

static void keep_thresholds(struct session *s, const struct multilabel_scores *scores)
{
    s->thresholds = xrealloc(s->thresholds, (size_t)scores->classes * sizeof(double));
    for (int k = 0; k < scores->classes; k++)
        s->thresholds[k] = scores->score[k].threshold;
}

void collector_finish(struct collector *c, int64_t total, struct evaluation *e)
{
    if (c->report)
        report_gather(c->report);
    if (c->classes || c->sets || c->values)
        image_rows_gather(&c->rows, total);
    e->scores_of = c->which;
    e->balance = class_scores_unknown();
    if (c->classes)
        e->balance = class_scores_of(&c->rows);
    e->order = ordinal_scores_unknown();
    if (c->session->plan.task == MODEL_ORDINAL)
        e->order = ordinal_scores_of(&c->rows);
    if (c->values)
        e->values = regression_scores_of(&c->rows);
    if (c->boundary) {
        boundary_gather(c->boundary);
        segmentation_set_boundary(e->pixels[c->which], c->boundary);
    }
    if (c->sets) {
        e->sets = multilabel_scores_of(&c->rows);
        keep_thresholds(c->session, e->sets);
    }
}
