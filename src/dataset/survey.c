#include "dataset/survey.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "dataset/label.h"
#include "image/gate.h"

enum { SHOWN = 5 };

void survey_add(struct survey *s, const uint8_t *pixel, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        s->count[pixel[i]]++;
    s->maps++;
}

void survey_merge(struct survey *dst, const struct survey *src)
{
    for (int v = 0; v < 256; v++)
        dst->count[v] += src->count[v];
    dst->maps += src->maps;
}

void survey_labels(struct survey *s, const struct dataset *d,
                   const struct image_limits *limits, int64_t max_samples)
{
    int64_t n = d->n < max_samples ? d->n : max_samples;
    struct image_limits decode_limits = image_limits_or_default(limits);
    struct label_reader r = {0};
    struct dataset_bytes bytes = {0};

    for (int64_t i = 0; i < n; i++) {
        struct strbuf why = STRBUF_INIT;

        if (dataset_label_map(d, i * d->n / n, &decode_limits, &bytes, &r, &why) == 0)
            survey_add(s, r.pixel, (int64_t)r.w * r.h);
        image_gate_leave();
        strbuf_release(&why);
    }
    label_reader_release(&r);
    dataset_bytes_release(&bytes);
}

/* True if label files have a value for the class; "void" of a class set has none. */
static bool has_value(const struct dataset *d, int c)
{
    for (int v = 0; v < 256; v++)
        if (d->map[v] == c)
            return true;
    return false;
}

/* Appends "'a', 'b' and 7 more", the classes without a pixel or an image; returns their
 * number. */
static int add_absent(const struct dataset *d, int nclass, const int64_t *count,
                      struct strbuf *out)
{
    bool maps = dataset_has_labels(d);
    int n = 0;

    for (int c = 0; c < nclass; c++) {
        if (count[c] || (maps && !has_value(d, c)))
            continue;
        if (n++ < SHOWN)
            strbuf_addf(out, "%s'%.100s'", n > 1 ? ", " : "", d->class_name[c]);
    }
    if (n > SHOWN)
        strbuf_addf(out, " and %d more", n - SHOWN);
    return n;
}

/* Returns the only class with pixels, -1 if there are several, or -2 if there is none. */
static int only_class(const struct survey *s, const struct dataset *d)
{
    int only = -2;

    for (int c = 0; c < d->nclass; c++)
        if (s->count[c])
            only = only == -2 ? c : -1;
    return only;
}

/* Returns advice for label maps with only one class and ignored pixels. */
static const char *binary_advice(const struct dataset *d, int only, double ignored)
{
    return only == 0 && ignored > 0 && d->map[0] == 0 && d->map[255] == LABEL_IGNORE
               ? ": for masks of 0 and 255 set DATA.LABEL_MAP [[255, 1]] and "
                 "MODEL.NUM_CLASSES 2"
               : "";
}

static char *judge_label_maps(const struct survey *s, const struct dataset *d,
                              int *warnings)
{
    struct strbuf absent = STRBUF_INIT;
    int64_t total = 0;
    double ignored;
    char *why = NULL;
    int only = only_class(s, d), n;

    for (int v = 0; v < 256; v++)
        total += s->count[v];
    if (!total)
        return NULL;
    ignored = 100 * (double)s->count[LABEL_IGNORE] / (double)total;
    n = add_absent(d, d->nclass, s->count, &absent);
    if (only == -2)
        why = xasprintf("'%s': nothing to learn: all pixels of the %lld label maps that "
                        "were read are ignored (255)",
                        d->name, (long long)s->maps);
    else if (d->nclass == 1)
        why = xasprintf("'%s': nothing to learn: the %lld label maps that were read have "
                        "only the class '%s' and ignored pixels (%.1f %%)%s",
                        d->name, (long long)s->maps, d->class_name[0], ignored,
                        binary_advice(d, only, ignored));
    else if (only >= 0)
        log_warning("'%s': the %lld label maps that were read have only the class '%s' "
                    "and ignored pixels (%.1f %%)%s",
                    d->name, (long long)s->maps, d->class_name[only], ignored,
                    binary_advice(d, only, ignored));
    else if (n)
        log_warning("'%s': the %lld label maps that were read have no pixels of %s",
                    d->name, (long long)s->maps, absent.buf);
    *warnings += !why && (only >= 0 || n);
    strbuf_release(&absent);
    return why;
}

static void judge_classes(const struct dataset *d, int *warnings)
{
    int64_t *count = xcalloc((size_t)d->nclass + 1, sizeof(*count));
    struct strbuf absent = STRBUF_INIT;
    int n, some = 0, end = 0; /* end: one more than the last class with images */

    for (int64_t i = 0; i < d->n; i++) {
        int32_t label = dataset_label(d, i);

        if (label >= 0 && label < d->nclass)
            some += count[label]++ == 0;
        end = label >= end ? label + 1 : end;
    }
    /* If classes are numbers, MODEL.NUM_CLASSES may be its default. */
    n = add_absent(d, d->nclass <= 2 * end ? d->nclass : end, count, &absent);
    if (some == 1)
        log_warning("'%s' has images of only one class, so there is nothing to learn",
                    d->name);
    else if (n && d->n)
        log_warning("'%s' has no image of the class%s %s", d->name, n > 1 ? "es" : "",
                    absent.buf);
    *warnings += some == 1 || (n && d->n);
    strbuf_release(&absent);
    free(count);
}

/* Warns about numbers that are the same in all images. */
static void judge_values(const struct dataset *d, int *warnings)
{
    size_t n = (size_t)d->nclass;
    float *first = xcalloc(2 * n + 1, sizeof(*first)), *y = first + n;
    int64_t *other = xcalloc(n + 1, sizeof(*other));
    struct strbuf constant = STRBUF_INIT;
    int found;

    for (int64_t i = 0; i < d->n; i++) {
        dataset_targets(d, i, i ? y : first);
        for (size_t k = 0; k < n && i; k++)
            other[k] += y[k] != first[k];
    }
    found = d->n ? add_absent(d, d->nclass, other, &constant) : 0;
    if (found)
        log_warning("'%s': all images have the same target%s %s, so there is nothing to "
                    "learn",
                    d->name, found > 1 ? "s" : "", constant.buf);
    *warnings += found > 0;
    strbuf_release(&constant);
    free(first);
    free(other);
}

/* Warns about labels that all images have, or none. */
static void judge_sets(const struct dataset *d, int *warnings)
{
    uint8_t *target = xcalloc((size_t)d->nclass + 1, 1);
    int64_t *counts = xcalloc(2 * (size_t)d->nclass + 1, sizeof(*counts));
    struct strbuf absent = STRBUF_INIT, constant = STRBUF_INIT;
    int n, m;

    for (int64_t i = 0; i < d->n; i++) {
        dataset_targets(d, i, target);
        for (int k = 0; k < d->nclass; k++) {
            counts[k] += target[k] == 1;
            counts[d->nclass + k] += target[k] == 0;
        }
    }
    n = add_absent(d, d->nclass, counts, &absent);
    m = add_absent(d, d->nclass, counts + d->nclass, &constant);
    if (n)
        log_warning("'%s': no image has the label%s %s", d->name, n > 1 ? "s" : "",
                    absent.buf);
    if (m)
        log_warning("'%s': no image lacks the label%s %s", d->name, m > 1 ? "s" : "",
                    constant.buf);
    *warnings += (n > 0) + (m > 0);
    strbuf_release(&absent);
    strbuf_release(&constant);
    free(target);
    free(counts);
}

char *survey_judge(const struct survey *s, const struct dataset *d, int *warnings)
{
    if (dataset_has_labels(d))
        return judge_label_maps(s, d, warnings);
    if (d->values)
        judge_values(d, warnings);
    else if (dataset_has_targets(d))
        judge_sets(d, warnings);
    else
        judge_classes(d, warnings);
    return NULL;
}
