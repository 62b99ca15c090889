#include "train/soup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "graph/flat.h"
#include "session/model_config.h"
#include "session/norms.h"
#include "session/state.h"
#include "train/data_config.h"
#include "train/evaluate.h"
#include "train/pretrained.h"
#include "train/progress.h"
#include "train/signals.h"
#include "train/statedict.h"

struct soup {
    const struct soup_options *o;
    struct average *a;
    struct session s;
    struct feed f;
    int64_t batches; /* for the statistics; 0: they are means */
    float *flat;     /* the weights of the session */
    float *best;     /* those of the best mean so far */
};

static const char *first_path(const struct soup *p)
{
    return average_path(p->a, 0);
}

/* Loads the mean of these files. */
static void load_mean(struct soup *p, const int *file, int n)
{
    const struct flat *f = session_flat(&p->s);

    average_choose(p->a, file, n);
    for (int i = 0; i < f->nsegment; i++) {
        const struct segment *seg = &f->segment[i];
        struct safetensors_tensor shape;
        const void *data = average_tensor(p->a, seg->tensor->name, &shape);

        if (!data && statedict_is_counter(seg->tensor))
            continue;
        if (!data || !statedict_fits(seg->tensor, &shape) ||
            !statedict_unpack(seg, p->flat, data, shape.dtype))
            die("'%s' does not have the tensor '%s' as trainc stores it: convert the "
                "checkpoints first (trainc export --weights FILE --out "
                "FILE.safetensors)",
                first_path(p), seg->tensor->name);
    }
    session_set(&p->s, MEMORY_WEIGHTS, p->flat);
    session_refresh(&p->s);
}

static void check_feed(const struct soup *p)
{
    if (feed_failure(&p->f))
        die("%s", feed_failure(&p->f));
}

/* Estimates the batch norm statistics of the loaded mean. Returns false if a signal came. */
static bool estimate(struct soup *p)
{
    struct loader *l = p->f.train_loader;
    struct norms n;
    int64_t k = 0;

    norms_begin(&n, &p->s);
    loader_start_epoch(l, 0, 0);
    for (; k < p->batches && !signals_pending(); k++) {
        const struct batch *b = loader_next(l);
        struct lent_batch lent;

        check_feed(p);
        if (!b)
            BUG("%lld of %lld batches", (long long)k, (long long)p->batches);
        lent = feed_lend(l, b);
        norms_add(&n, &lent);
    }
    norms_end(&n, k == p->batches ? p->flat : NULL);
    session_set(&p->s, MEMORY_WEIGHTS, p->flat);
    session_refresh(&p->s);
    return k == p->batches;
}

/* Writes the statistics in `flat` in place of their means. */
static void replace_statistics(struct soup *p, const float *flat)
{
    const struct build *t = &p->s.build[SESSION_STATS];
    const struct flat *f = session_flat(&p->s);

    for (int i = f->nparam; i < f->nsegment; i++) {
        const struct segment *seg = &f->segment[i];
        void *data = xmalloc(statedict_size(seg->tensor));
        bool estimated = false;

        for (int k = 0; k < t->nstat; k++)
            estimated = estimated || t->stat[k].offset == seg->offset - f->param_len;
        statedict_pack(seg, flat, data);
        if (estimated &&
            !average_replace(p->a, seg->tensor->name, data,
                             statedict_shape(seg->tensor).dtype) &&
            !statedict_is_counter(seg->tensor))
            BUG("no tensor '%s'", seg->tensor->name);
        free(data);
    }
}

/* ---- the greedy soup ---- */

struct ingredient {
    int file;
    enum score kind;
    double score;
};

/* Best first; of equal ones the first of the command line. */
static int by_score(const void *a, const void *b)
{
    const struct ingredient *x = a, *y = b;

    if (score_is_better(x->kind, x->score, y->score))
        return -1;
    if (score_is_better(x->kind, y->score, x->score))
        return 1;
    return (x->file > y->file) - (x->file < y->file);
}

/* Validates the session's weights. Returns false if a signal came. */
static bool validate(struct soup *p, enum score kind, double *score)
{
    struct evaluation e = {0};
    bool whole = evaluate(&p->s, &p->f, "Val", &e);

    check_feed(p);
    if (whole)
        *score = evaluate_scores(&e, SESSION_RAW).value[kind];
    evaluate_release(&e);
    return whole;
}

/* Validates each checkpoint with its own statistics. */
static bool validate_each(struct soup *p, struct ingredient *in, int n)
{
    const struct config *cfg = p->o->cfg;
    enum score kind = score_best(cfg, p->s.plan.task);

    for (int i = 0; i < n; i++) {
        in[i] = (struct ingredient){.file = i, .kind = kind};
        load_mean(p, &i, 1);
        if (!validate(p, kind, &in[i].score))
            return false;
        if (isnan(in[i].score))
            die("'%s' has no %s on the validation images", average_path(p->a, i),
                score_name(kind));
    }
    qsort(in, (size_t)n, sizeof(*in), by_score);
    return true;
}

/* Tries the mean of the n files of `soup`; `*best` is the score without the last one. Returns
 * false if a signal came. */
static bool try_mean(struct soup *p, const int *soup, int n, enum score kind,
                     double *score)
{
    load_mean(p, soup, n);
    return (!p->batches || estimate(p)) && validate(p, kind, score);
}

/* Sets soup[0 .. *m) to the files of the greedy soup. Returns false if a signal came. */
static bool choose(struct soup *p, const struct ingredient *in, int n, int *soup, int *m)
{
    size_t size = (size_t)session_flat(&p->s)->weights_len * sizeof(float);
    const char *name = score_name(in->kind);
    double best = in->score, now;

    soup[0] = in->file;
    *m = 1;
    log_info("'%s': %s %.4f, kept: the best", average_path(p->a, in->file), name, best);
    for (int i = 1; i < n; i++) {
        bool kept;

        soup[*m] = in[i].file;
        if (!try_mean(p, soup, *m + 1, in->kind, &now))
            return false;
        kept = !score_is_better(in->kind, best, now);
        log_info("'%s': %s %.4f, %s: the mean with it has %.4f, without it %.4f",
                 average_path(p->a, in[i].file), name, in[i].score,
                 kept ? "kept" : "left out", now, best);
        if (!kept)
            continue;
        ++*m;
        best = now;
        memcpy(p->best, p->flat, size);
    }
    average_choose(p->a, soup, *m);
    log_info("greedy soup: %d of %d checkpoints, %s %.4f", *m, n, name, best);
    return true;
}

static bool cook_greedy(struct soup *p)
{
    int n = average_files(p->a), m = 0;
    struct ingredient *in = xcalloc((size_t)n, sizeof(*in));
    int *soup = xcalloc((size_t)n, sizeof(*soup));
    bool whole = validate_each(p, in, n) && choose(p, in, n, soup, &m);

    if (whole && p->batches && m > 1) /* a single one keeps its own */
        replace_statistics(p, p->best);
    free(in);
    free(soup);
    return whole;
}

static bool cook_all(struct soup *p)
{
    int n = average_files(p->a);
    int *all = xcalloc((size_t)n, sizeof(*all));
    bool whole = true;

    for (int i = 0; i < n; i++)
        all[i] = i;
    if (p->batches) {
        load_mean(p, all, n);
        whole = estimate(p);
        if (whole)
            replace_statistics(p, p->flat);
    }
    free(all);
    return whole;
}

/* ---- the session ---- */

/* Sets the number of batches for the statistics. Without batch norms, there are none. */
static void count_batches(struct soup *p)
{
    int64_t want = p->o->bn_batches, batches;

    if (want == SOUP_NO_BATCHES)
        return;
    if (!norms_has(&p->s)) {
        log_info("--bn-batches: %s has no batch norm statistics to estimate",
                 p->o->cfg->model.name);
        return;
    }
    batches = loader_batches(p->f.train_loader) - (p->s.plan.tail > 0);
    if (batches < 1)
        die("--bn-batches: the %lld training images are fewer than DATA.BATCH_SIZE %lld",
            (long long)p->f.train->n, (long long)p->s.plan.batch);
    p->batches = want == SOUP_ALL_BATCHES || want > batches ? batches : want;
    log_info("batch norm statistics are estimated from %lld batch%s of %lld images%s",
             (long long)p->batches, p->batches == 1 ? "" : "es",
             (long long)p->s.plan.batch,
             want > batches ? ", the whole training set" : "");
}

static void start(struct soup *p)
{
    struct config *cfg = p->o->cfg;
    bool stats = p->o->bn_batches != SOUP_NO_BATCHES;
    struct session_options s = {.eval = true, .stats = stats};
    size_t len;

    config_set(cfg, "TRAIN.EMA.ENABLE", "False"); /* what is averaged is what is loaded */
    config_set(cfg, "TRAIN.SWA.ENABLE", "False");
    signals_install(0);
    progress_init(cfg->log.progress);
    feed_open(&p->f, cfg, stats);
    s.factors = feed_factors(&p->f);
    if (stats)
        s.images = data_epoch_images(cfg, p->f.train->n);
    session_init(&p->s, cfg, &s);
    session_alloc(&p->s);
    class_list_check(first_path(p), average_meta(p->a, "classes"), "the data set",
                     &p->f.classes, cfg->data.check_classes);
    log_mute(true); /* only checks that the files fit the model */
    pretrained_load_all(&p->s, first_path(p), "the data set", &(struct class_list){0});
    log_mute(false);
    len = (size_t)session_flat(&p->s)->weights_len;
    p->flat = xcalloc(len, sizeof(*p->flat));
    p->best = xcalloc(len, sizeof(*p->best));
    session_get(&p->s, MEMORY_WEIGHTS, p->flat);
    feed_start(&p->f, &p->s);
    signals_started();
    count_batches(p);
}

int soup_cook(struct average *a, const struct soup_options *o)
{
    struct soup p = {.o = o, .a = a};
    bool whole;

    start(&p);
    whole = o->greedy ? cook_greedy(&p) : cook_all(&p);
    if (!whole)
        log_info("%s: stopping early, nothing is written",
                 signals_name(signals_pending()));
    session_drain(&p.s);
    feed_close(&p.f);
    session_release(&p.s);
    free(p.flat);
    free(p.best);
    return whole ? EXIT_OK : 128 + signals_pending();
}
