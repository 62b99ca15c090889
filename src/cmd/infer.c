#include "cmd/infer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/files.h"
#include "session/model_config.h"
#include "train/data_config.h"
#include "train/probabilities.h"
#include "train/segment_config.h"
#include "train/windows.h"

enum { BATCH = 32 }; /* for classifiers; a larger batch is not faster for small models */

static void set_batch(struct config *cfg, const struct images *images)
{
    bool segment = model_of_config(cfg)->family->task == MODEL_SEGMENT;
    int n = windows_wanted(cfg) ? windows_batch(cfg)
            : segment           ? 1
            : images->n < BATCH ? images->n
                                : BATCH;
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "%d", n);
    if (!cfg->data.val_batch_size)
        config_set(cfg, "DATA.VAL_BATCH_SIZE", text.buf);
    config_set(cfg, "DATA.BATCH_SIZE", "1");
    config_set(cfg, "TRAIN.EMA.ENABLE", "False");
    config_set(cfg, "TRAIN.SWA.ENABLE", "False");
    strbuf_release(&text);
}

static void start_loader(struct infer *v, const struct config *cfg,
                         const struct images *images)
{
    const struct tensor *z = v->session.build[SESSION_EVAL].logits;
    struct view view[VIEWS_MAX];
    struct loader_options o;

    data_loader_options(cfg, DATA_VAL, &o);
    if (model_of_config(cfg)->family->task == MODEL_SEGMENT)
        o.transform = segment_transform(cfg, false);
    v->transform = o.transform;
    o.transform.label_divisor = 0; /* no label maps are read */
    o.batch = (int)v->session.plan.val_batch;
    o.max_bad_share = 1;
    o.cache_bytes = 0;
    v->limits = o.limits;
    v->files = dataset_of_files((const char *const *)images->path, images->n);
    v->nviews = v->tta ? views_of_config(cfg, view) : 1;
    for (int k = 0; k < v->nviews; k++) {
        if (v->nviews > 1)
            view_apply(&view[k], &o.transform);
        v->loader[k] = loader_open(v->files, &o);
    }
    if (v->nviews > 1)
        v->sum = xcalloc((size_t)tensor_len(z), sizeof(*v->sum));
}

void infer_open(struct infer *v, struct config *cfg, const struct images *images)
{
    const struct tensor *labels;

    set_batch(cfg, images);
    session_init(&v->session, cfg,
                 &(struct session_options){.eval = true,
                                           .observe = v->observe,
                                           .cam = v->cam,
                                           .cam_stage = v->cam_stage});
    session_alloc(&v->session);
    labels = v->session.build[SESSION_EVAL].labels;
    if (labels) {
        v->labels = xmalloc(tensor_size(labels));
        memset(v->labels, 255, tensor_size(labels));
    }
    start_loader(v, cfg, images);
}

/* Runs the model on the next batch of a view. */
static const struct batch *next_of(struct infer *v, int view)
{
    const struct batch *b = loader_next(v->loader[view]);

    if (b)
        session_eval(&v->session, b->pixel, v->labels);
    else if (loader_failure(v->loader[view]))
        die("%s", loader_failure(v->loader[view]));
    return b;
}

const struct batch *infer_next(struct infer *v)
{
    if (v->batch) {
        loader_release_batch(v->loader[0], v->batch);
    } else {
        session_eval_begin(&v->session, false);
        for (int k = 0; k < v->nviews; k++)
            loader_start_epoch(v->loader[k], 0, 0);
    }
    v->batch = next_of(v, 0);
    return v->batch;
}

void infer_logits(struct infer *v, float *logits)
{
    const struct tensor *z = v->session.build[SESSION_EVAL].logits;
    enum model_task task = v->session.plan.task;
    int classes = (int)session_classes(&v->session);
    int64_t rows = tensor_len(z) / classes;

    session_logits(&v->session, logits);
    if (v->nviews == 1)
        return;
    memset(v->sum, 0, (size_t)tensor_len(z) * sizeof(*v->sum));
    probabilities_add(v->sum, logits, rows, classes, task);
    for (int k = 1; k < v->nviews; k++) {
        const struct batch *b = next_of(v, k);

        if (!b)
            BUG("view %d has fewer batches than the first", k);
        session_logits(&v->session, logits);
        loader_release_batch(v->loader[k], b);
        probabilities_add(v->sum, logits, rows, classes, task);
    }
    probabilities_to_logits(logits, v->sum, tensor_len(z), v->nviews, task);
}

bool infer_is_there(const struct batch *b, int i)
{
    return b->sample[i] >= 0 && b->label[i] >= 0;
}

int64_t infer_close(struct infer *v)
{
    int64_t bad = loader_stats(v->loader[0]).bad_files;

    session_drain(&v->session);
    for (int k = 0; k < v->nviews; k++)
        loader_close(v->loader[k]);
    dataset_close(v->files);
    session_release(&v->session);
    free(v->labels);
    free(v->sum);
    return bad;
}
