#include "cmd/infer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/files.h"
#include "session/model_config.h"
#include "train/data_config.h"
#include "train/segment_config.h"

enum { BATCH = 32 }; /* for classifiers; a larger batch is not faster for small models */

static void set_batch(struct config *cfg, const struct images *images)
{
    bool segment = model_of_config(cfg)->family->task == MODEL_SEGMENT;
    int n = segment ? 1 : images->n < BATCH ? images->n : BATCH;
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "%d", n);
    if (!cfg->data.val_batch_size)
        config_set(cfg, "DATA.VAL_BATCH_SIZE", text.buf);
    config_set(cfg, "DATA.BATCH_SIZE", "1");
    config_set(cfg, "TRAIN.EMA.ENABLE", "False");
    strbuf_release(&text);
}

static void start_loader(struct infer *v, const struct config *cfg,
                         const struct images *images)
{
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
    v->loader = loader_open(v->files, &o);
}

void infer_open(struct infer *v, struct config *cfg, const struct images *images)
{
    const struct tensor *labels;

    set_batch(cfg, images);
    session_init(&v->session, cfg,
                 &(struct session_options){.eval = true, .observe = v->observe});
    session_alloc(&v->session);
    labels = v->session.build[SESSION_EVAL].labels;
    if (labels) {
        v->labels = xmalloc(tensor_size(labels));
        memset(v->labels, 255, tensor_size(labels));
    }
    start_loader(v, cfg, images);
}

const struct batch *infer_next(struct infer *v)
{
    if (v->batch)
        loader_release_batch(v->loader, v->batch);
    else {
        session_eval_begin(&v->session, false);
        loader_start_epoch(v->loader, 0, 0);
    }
    v->batch = loader_next(v->loader);
    if (v->batch)
        session_eval(&v->session, v->batch->pixel, v->labels);
    else if (loader_failure(v->loader))
        die("%s", loader_failure(v->loader));
    return v->batch;
}

bool infer_is_there(const struct batch *b, int i)
{
    return b->sample[i] >= 0 && b->label[i] >= 0;
}

int64_t infer_close(struct infer *v)
{
    int64_t bad = loader_stats(v->loader).bad_files;

    session_drain(&v->session);
    loader_close(v->loader);
    dataset_close(v->files);
    session_release(&v->session);
    free(v->labels);
    return bad;
}
