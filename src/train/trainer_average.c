/* TRAIN.SWA: averages the weights that epochs end with (Izmailov et al. 2018). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "graph/flat.h"
#include "session/norms.h"
#include "session/state.h"
#include "train/trainer_run.h"

/* Runs batches of the epoch; the average is in the session's weights. Returns false if the
 * run must stop. */
static bool run_batches(struct trainer *t, struct norms *n)
{
    struct loader *l = t->feed.train_loader;
    int64_t max = loader_batches(l) - (t->session.plan.tail > 0);
    int64_t limit = t->cfg->train.swa.bn_batches;

    max = limit && limit < max ? limit : max;
    loader_start_epoch(l, (uint64_t)t->state.epoch, 0);
    t->loading = -1;
    for (int64_t k = 0; k < max; k++) {
        const struct batch *b = trainer_asked_to_stop(t) ? NULL : loader_next(l);
        struct lent_batch lent;

        if (!b)
            return false;
        lent = feed_lend(l, b);
        norms_add(n, &lent);
    }
    return true;
}

/* Estimates the batch norm statistics of the average. */
static bool estimate(struct trainer *t)
{
    struct session *s = &t->session;
    float *weights = xcalloc((size_t)session_flat(s)->weights_len, sizeof(*weights));
    struct norms n;
    bool whole;

    session_get(s, MEMORY_WEIGHTS, weights);
    session_set(s, MEMORY_WEIGHTS, s->ema);
    norms_begin(&n, s);
    whole = run_batches(t, &n);
    norms_end(&n, whole ? s->ema : NULL);
    session_set(s, MEMORY_WEIGHTS, weights);
    session_refresh(s);
    free(weights);
    return whole;
}

bool trainer_average(struct trainer *t)
{
    struct session *s = &t->session;
    size_t size = (size_t)session_flat(s)->weights_len * sizeof(float);
    float *before;
    bool whole = true;

    if (!s->plan.swa || t->state.epoch < s->plan.swa_epoch ||
        (s->averaged && t->state.averaged_step == t->step))
        return true;
    trainer_collect(t); /* the writer may read the average */
    before = xmemdup(s->ema, size);
    session_average(s);
    if (norms_has(s))
        whole = estimate(t);
    if (whole) {
        t->state.averaged_step = t->step;
        log_info("TRAIN.SWA: average of %lld epoch%s%s", (long long)s->averaged,
                 s->averaged == 1 ? "" : "s",
                 norms_has(s) ? ", batch norm statistics estimated again" : "");
    } else {
        memcpy(s->ema, before, size);
        s->averaged--;
    }
    free(before);
    return whole;
}
