#include "train/feed.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "dataset/survey.h"
#include "dist/group.h"
#include "train/class_weights.h"
#include "train/data_config.h"
#include "train/signals.h"

static void *host_alloc(size_t size, void *session)
{
    return session_host_alloc(session, size);
}

static void host_free(void *p, void *session)
{
    session_host_free(session, p);
}

/* Returns the program that reads training images. */
static enum session_program reader_of_train(const struct session *s)
{
    return s->program[SESSION_TRAIN] ? SESSION_TRAIN : SESSION_STATS;
}

static struct loader *start(const struct feed *f, struct session *s,
                            enum data_split split, const struct view *view)
{
    bool train = split == DATA_TRAIN;
    const struct tensor *x = s->build[train ? reader_of_train(s) : SESSION_EVAL].pixels;
    struct loader_options o;

    data_loader_options(f->cfg, split, &o);
    if ((int64_t)transform_size(&o.transform) * x->dim[0] != tensor_len(x))
        BUG("images of %d x %d, and another size of the model's", o.transform.w,
            o.transform.h);
    if (view)
        view_apply(view, &o.transform);
    o.batch = (int)(train ? s->plan.batch : s->plan.val_batch);
    o.rank = dist_rank();
    o.world = dist_world();
    o.half = train ? s->plan.own_images : 0;
    o.held_batches =
        INFLIGHT_LENT + (train && s->plan.shares ? s->plan.accumulation.group : 0);
    o.observe = train ? f->observe : NULL;
    o.observe_arg = f->observe_arg;
    o.limits.jpeg = f->jpeg.device ? &f->jpeg : NULL;
    if (f->cfg->data.pin_memory) {
        o.alloc = host_alloc;
        o.free = host_free;
        o.arg = s;
    }
    return loader_open(train ? f->train : f->val, &o);
}

static void take_back(void *loader, const void *batch)
{
    loader_release_batch(loader, batch);
}

static void copied(void *loader, double seconds)
{
    loader_add_copy(loader, seconds);
}

const void *feed_labels(const struct batch *b)
{
    return b->label_map ? (const void *)b->label_map : (const void *)b->label;
}

struct lent_batch feed_lend(struct loader *l, const struct batch *b)
{
    return (struct lent_batch){.pixels = b->pixel,
                               .labels = feed_labels(b),
                               .targets = b->target,
                               .release = take_back,
                               .owner = l,
                               .token = b,
                               .copied = copied,
                               .keys = b->key,
                               .jobs = b->job};
}

/* Computes the shares of the update's batches from their weights, relative to the mean
 * over all batches and processes. */
static void share_out(struct feed_update *u, double *weight)
{
    double mean[SHARES] = {0};

    for (int k = 0; k < u->n; k++)
        for (int i = 0; i < SHARES; i++)
            mean[i] += weight[k * SHARES + i];
    dist_sum_doubles(mean, SHARES);
    for (int i = 0; i < SHARES; i++)
        mean[i] /= (double)u->n * dist_world();
    for (int k = 0; k < u->n; k++)
        shares_of(weight + (ptrdiff_t)k * SHARES, mean,
                  u->share[u->turn] + (ptrdiff_t)k * SHARES);
}

/* Fetches all batches of the next update. Returns false, keeping none of them, if the
 * loader has too few left. */
static bool take_update(struct feed *f, const struct session *s)
{
    const struct accumulation *a = &s->plan.accumulation;
    struct feed_update *u = &f->update;
    int n = accumulation_size(a, s->micro);
    double *weight = xcalloc((size_t)n * SHARES, sizeof(*weight));
    bool all = true;

    u->n = u->next = 0;
    u->turn = !u->turn;
    u->batch = xrealloc(u->batch, (size_t)n * sizeof(*u->batch));
    u->share[u->turn] = xrealloc(u->share[u->turn], (size_t)n * SHARES * sizeof(float));
    while (all && u->n < n) {
        const struct batch *b = loader_next(f->train_loader);
        struct lent_batch lent;

        all = b != NULL;
        if (!b)
            break;
        lent = feed_lend(f->train_loader, b);
        session_weights(s, &lent, u->n, weight + (ptrdiff_t)u->n * SHARES);
        u->batch[u->n++] = b;
    }
    if (all)
        share_out(u, weight);
    else
        feed_drop(f);
    free(weight);
    return all;
}

bool feed_next(struct feed *f, const struct session *s, struct lent_batch *lent)
{
    struct feed_update *u = &f->update;
    const struct batch *b;

    if (!s->plan.shares) {
        b = loader_next(f->train_loader);
        if (b)
            *lent = feed_lend(f->train_loader, b);
        return b;
    }
    if (u->next == u->n && !take_update(f, s))
        return false;
    *lent = feed_lend(f->train_loader, u->batch[u->next]);
    lent->shares = u->share[u->turn] + (ptrdiff_t)u->next++ * SHARES;
    return true;
}

void feed_drop(struct feed *f)
{
    struct feed_update *u = &f->update;

    while (u->next < u->n)
        loader_release_batch(f->train_loader, u->batch[u->next++]);
}

/* Dies if nothing can be learned from the training labels; warns about odd labels. */
static void judge(const struct feed *f)
{
    enum { TRAIN_MAPS = 64, VAL_MAPS = 32 };
    const struct dataset *d[] = {f->train, f->val};

    for (int k = 0; k < 2; k++) {
        struct survey s = {0};
        int warnings = 0;
        char *why;

        if (!d[k] || (k && !dataset_has_labels(d[k])))
            continue;
        if (dataset_has_labels(d[k]))
            survey_labels(&s, d[k], NULL, k ? VAL_MAPS : TRAIN_MAPS);
        why = survey_judge(&s, d[k], &warnings);
        if (why && k == 0)
            die("%s", why);
        if (why)
            log_warning("%s", why);
        free(why);
    }
}

/* Returns an array with one entry per class, or NULL if `fill` returns false. */
static float *factors_of(const struct feed *f, int classes,
                         bool (*fill)(const struct config *cfg, const struct dataset *d,
                                      float *factor))
{
    float *factor = xcalloc((size_t)classes, sizeof(*factor));

    if (fill(f->cfg, f->train, factor))
        return factor;
    free(factor);
    return NULL;
}

/* Sets the loss's class weights and biases; evaluating a classifier uses none. */
static void open_factors(struct feed *f, const struct dataset *any)
{
    if (dataset_has_labels(any)) {
        f->class_weight = factors_of(f, any->nclass, class_weights);
    } else if (f->train) {
        f->class_weight = factors_of(f, any->nclass, class_weights_of_images);
        f->class_bias = factors_of(f, any->nclass, class_bias_of_images);
    }
}

static void open_data(struct feed *f, struct config *cfg, bool train)
{
    const struct dataset *any;
    const char *key = NULL;
    char *why;

    *f = (struct feed){.cfg = cfg};
    if (train)
        f->train = data_open(cfg, DATA_TRAIN);
    f->val = data_open(cfg, DATA_VAL);
    why = data_misfit(cfg, f->train, f->val, &key);
    if (why && key)
        config_refuse(cfg, KEYS(key), "%s", why);
    if (why)
        die("%s", why);
    if (train)
        judge(f);
    any = train ? f->train : f->val;
    f->classes.name = (const char *const *)any->class_name;
    f->classes.n = any->nclass;
    if (train && dataset_has_targets(f->train) && !f->train->values)
        pos_weights_of_images(cfg, f->train);
    open_factors(f, any);
}

/* DATA.DECODE device: finds the device's JPEG decoder, or warns if it has none. */
static void find_jpeg(struct feed *f, struct session *s)
{
    struct strbuf why = STRBUF_INIT;

    if (f->cfg->data.decode != PLACEMENT_DEVICE)
        return;
    if (!s->backend->jpeg)
        strbuf_addf(&why, "DEVICE %s decodes no images", s->backend->name);
    else
        (void)s->backend->jpeg(s->device, &f->jpeg, &why);
    if (!f->jpeg.device)
        log_warning("DATA.DECODE device: JPEGs are decoded by the host: %s", why.buf);
    strbuf_release(&why);
}

/* Locks, because threads of a process share the configuration, in which this may set
 * MODEL.NUM_CLASSES. */
void feed_open(struct feed *f, struct config *cfg, bool train)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

    (void)pthread_mutex_lock(&one);
    open_data(f, cfg, train);
    (void)pthread_mutex_unlock(&one);
}

void feed_start(struct feed *f, struct session *s)
{
    find_jpeg(f, s);
    if (f->train && s->program[reader_of_train(s)])
        f->train_loader = start(f, s, DATA_TRAIN, NULL);
    f->val_loader = start(f, s, DATA_VAL, NULL);
}

void feed_restart_val(struct feed *f, struct session *s, const struct view *view)
{
    loader_close(f->val_loader);
    f->val_loader = start(f, s, DATA_VAL, view);
}

const char *feed_failure(const struct feed *f)
{
    const char *why = f->train_loader ? loader_failure(f->train_loader) : NULL;

    if (!why)
        why = loader_failure(f->val_loader);
    return why || !f->other_failed ? why : "the data of another process cannot be read";
}

/* Why this process must stop, or 0. The maximum over all processes wins; these values
 * exceed any signal number. */
enum { FAILED = 1 << 16, DIVERGED = 1 << 17 };

static int reason_to_stop(const struct feed *f, bool diverged)
{
    return diverged ? DIVERGED : feed_failure(f) ? FAILED : signals_pending();
}

bool feed_wants_stop(const struct feed *f, bool diverged)
{
    return reason_to_stop(f, diverged) != 0;
}

bool feed_agree(struct feed *f, bool *diverged)
{
    int all = dist_max(reason_to_stop(f, diverged && *diverged));

    if (all == DIVERGED)
        *diverged = true;
    else if (all == FAILED)
        f->other_failed = true;
    else if (all)
        signals_raise(all);
    return all;
}

void feed_close(struct feed *f)
{
    feed_drop(f);
    free(f->update.batch);
    free(f->update.share[0]);
    free(f->update.share[1]);
    loader_close(f->train_loader);
    loader_close(f->val_loader);
    dataset_close(f->train);
    dataset_close(f->val);
    free(f->class_weight);
    free(f->class_bias);
    *f = (struct feed){0};
}

struct class_factors feed_factors(const struct feed *f)
{
    return (struct class_factors){.weight = f->class_weight, .bias = f->class_bias};
}
