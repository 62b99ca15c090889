#include "dataset/histogram.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/label.h"
#include "dataset/loader.h"
#include "dataset/read.h"
#include "image/gate.h"
#include "image/transformer.h"

static const char first_line[] = "trainc class histogram 1";

/* Computes a hash of everything that the counts depend on. Returns false if the samples
 * are not files. */
static bool histogram_key(const struct dataset *d, const struct histogram_options *o,
                          uint64_t *key)
{
    struct strbuf s = STRBUF_INIT;
    bool known = true;

    strbuf_addf(&s, "%s %d %d %d\n", first_line, o->w, o->h, o->divisor);
    dataset_add_label_meaning(d, &s);
    for (int64_t i = 0; i < d->n && known; i++)
        known = dataset_stamp_label(d, i, &s);
    *key = XXH3_64bits(s.buf, s.len);
    strbuf_release(&s);
    return known;
}

static bool skip_prefix(const char **text, const char *prefix)
{
    size_t len = strlen(prefix);

    if (strncmp(*text, prefix, len) != 0)
        return false;
    *text += len;
    return true;
}

/* Parses "12 34500\n" and adds the count of class `v` to h. */
static bool histogram_line(struct histogram *h, int v, const char **text)
{
    uint64_t number, count, total;

    if (!checked_number(text, 255, &number) || number != (uint64_t)v ||
        !skip_prefix(text, " ") || !checked_number(text, INT64_MAX, &count) ||
        !skip_prefix(text, "\n") || !checked_add((uint64_t)h->total, count, &total) ||
        total > INT64_MAX)
        return false;
    h->count[v] = (int64_t)count;
    h->total = (int64_t)total;
    return true;
}

bool histogram_load(struct histogram *h, const char *path, uint64_t key)
{
    char *text = path ? file_read(path, NULL) : NULL, *head;
    struct histogram got = {.cached = true};
    const char *cursor = text;
    uint64_t total;
    bool good;

    if (!text)
        return false;
    head = xasprintf("%s key %016" PRIx64 "\n", first_line, key);
    good = skip_prefix(&cursor, head);
    for (int v = 0; v < 256 && good; v++)
        good = histogram_line(&got, v, &cursor);
    /* The sum detects a truncated file, even within the last number. */
    good = good && skip_prefix(&cursor, "total ") &&
           checked_number(&cursor, INT64_MAX, &total) && total == (uint64_t)got.total;
    if (good)
        *h = got;
    free(head);
    free(text);
    return good;
}

static void histogram_save(const struct histogram *h, const struct keep_paths *paths,
                           uint64_t key)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "%s key %016" PRIx64 "\n", first_line, key);
    for (int v = 0; v < 256; v++)
        strbuf_addf(&s, "%d %lld\n", v, (long long)h->count[v]);
    strbuf_addf(&s, "total %lld\n", (long long)h->total);
    keep_write(paths, s.buf, s.len);
    strbuf_release(&s);
}

struct counter {
    struct transformer m;
    struct label_reader label, small;
    struct dataset_bytes bytes;
    int64_t count[256];
};

/* Counts one label map. Returns NULL, or the reason if the label map is damaged. */
static char *count_one(struct counter *c, const struct dataset *d, int64_t i,
                       const struct histogram_options *o)
{
    struct transform t = transform_for_segmentation(o->w, o->h);
    struct augment_key key = {0, 0, i};
    struct strbuf why = STRBUF_INIT;
    struct dataset_retry again = {.pause = DATASET_RETRY_PAUSE};
    int64_t n;
    int rc;

    do {
        strbuf_reset(&why);
        rc = dataset_label_map(d, i, &o->limits, &c->bytes, &c->label, &why);
        image_gate_leave();
    } while (dataset_try_again(&again, rc));
    if (rc == FAILURE_MACHINE)
        die("cannot read the data: %s (tried %d times; the file need not be damaged)",
            why.buf, 1 + DATASET_RETRIES);
    if (rc < 0)
        return strbuf_detach(&why);
    transform_segment_fit(&t, c->label.w, c->label.h, &t.w, &t.h);
    t.kind = TRANSFORM_STRETCH;
    t.label_divisor = o->divisor;
    n = (int64_t)(t.w / o->divisor) * (t.h / o->divisor);
    label_reader_reserve(&c->small, t.w, t.h);
    transform_label(&c->m, &t, &key, c->label.pixel, c->label.w, c->label.h,
                    c->small.pixel);
    for (int64_t p = 0; p < n; p++)
        c->count[c->small.pixel[p]]++;
    return NULL;
}

static void count_all(struct histogram *h, const struct dataset *d,
                      const struct histogram_options *o, char **reason)
{
#pragma omp parallel
    {
        struct counter c = {.count = {0}};

        transformer_init(&c.m, &o->limits);
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < d->n; i++)
            reason[i] = count_one(&c, d, i, o);
#pragma omp critical
        for (int v = 0; v < 256; v++)
            h->count[v] += c.count[v];
        transformer_release(&c.m);
        label_reader_release(&c.label);
        label_reader_release(&c.small);
        dataset_bytes_release(&c.bytes);
    }
    for (int v = 0; v < 256; v++)
        h->total += h->count[v];
}

/* Reports damaged label maps in sample order; returns their number. */
static int64_t histogram_report(const struct dataset *d,
                                const struct histogram_options *o, char **reason)
{
    int64_t bad = 0;

    for (int64_t i = 0; i < d->n; i++) {
        struct strbuf name = STRBUF_INIT;

        if (!reason[i])
            continue;
        dataset_describe(d, i, &name);
        if (o->on_error == LOADER_FAIL)
            die("cannot decode '%s': %s", name.buf, reason[i]);
        log_warning("skipping '%s': cannot decode it: %s", name.buf, reason[i]);
        strbuf_release(&name);
        free(reason[i]);
        if (loader_too_many_bad(++bad, d->n, o->max_bad_share, o->few_bad))
            die("'%s': %lld of %lld files are damaged, more than the share of %g that "
                "DATA.MAX_BAD_SHARE allows",
                d->name, (long long)bad, (long long)d->n, o->max_bad_share);
    }
    return bad;
}

void histogram_count(struct histogram *h, const struct dataset *d,
                     const struct histogram_options *o)
{
    struct histogram_options options = *o;
    double start = clock_now();
    uint64_t key = 0;
    struct keep_paths paths = {0};
    char **reason;
    int64_t bad;

    if (!dataset_has_labels(d) || o->divisor < 1)
        BUG("classes of '%s', which has no label maps, at 1/%d", d->name, o->divisor);
    options.limits = image_limits_or_default(&o->limits);
    if (o->keep.dir && histogram_key(d, o, &key))
        paths = keep_paths(&o->keep, "classes", key, ".txt");
    if (histogram_load(h, paths.user, key) || histogram_load(h, paths.data, key)) {
        log_debug("classes of '%s': counted before", d->name);
        keep_paths_release(&paths);
        return;
    }
    *h = (struct histogram){.total = 0};
    reason = xcalloc((size_t)d->n, sizeof(*reason));
    log_info("counting the classes of %lld label maps of '%s'", (long long)d->n, d->name);
    count_all(h, d, &options, reason);
    bad = histogram_report(d, &options, reason);
    free(reason);
    log_info("counted the classes of %lld label maps in %.1f s", (long long)(d->n - bad),
             clock_now() - start);
    if (bad == 0)
        histogram_save(h, &paths, key);
    keep_paths_release(&paths);
}

void histogram_weights(const struct histogram *h, int classes, double c, float *weight)
{
    for (int k = 0; k < classes; k++) {
        double p = h->total ? (double)h->count[k] / (double)h->total : 0;

        weight[k] = h->count[k] ? (float)(1 / log(c + p)) : 0;
    }
}
