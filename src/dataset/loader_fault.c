#include "dataset/loader_ring.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "dataset/read.h"

void slot_clear_faults(struct slot *s)
{
    for (int i = 0; i < s->nfault; i++)
        free(s->fault[i].reason);
    s->nfault = 0;
}

void slot_add_fault(struct slot *s, int pos, int64_t sample, char *reason,
                    enum slot_cause cause)
{
    struct slot_fault *f;

    GROW(s->fault, s->nfault, s->fault_cap);
    f = &s->fault[s->nfault++];
    f->index = pos;
    f->sample = sample;
    f->reason = reason;
    f->cause = cause;
}

static int slot_compare_faults(const void *a, const void *b)
{
    const struct slot_fault *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

bool loader_too_many_bad(int64_t bad, int64_t n, double share, int few)
{
    return !((double)bad <= share * (double)n) && !(share > 0 && bad <= few);
}

/* Logs a newly found damaged file; sets l->failure if there are too many. */
static void loader_name(struct loader *l, const struct slot_fault *f)
{
    const struct dataset *d = l->source.data;
    struct strbuf name = STRBUF_INIT;

    l->bad[f->sample] |= 1 << FAULT_DAMAGED;
    l->stats.bad_files++;
    dataset_describe(d, f->sample, &name);
    if (l->o.on_error == LOADER_FAIL)
        l->failure = xasprintf("cannot decode '%s': %s", name.buf, f->reason);
    else
        log_warning("skipping '%s': cannot decode it: %s", name.buf, f->reason);
    strbuf_release(&name);
    if (!l->failure &&
        loader_too_many_bad(l->stats.bad_files, d->n, l->o.max_bad_share, l->o.few_bad))
        l->failure = xasprintf("'%s': %lld of %lld files are damaged, more than the "
                               "share of %g that DATA.MAX_BAD_SHARE allows",
                               d->name, (long long)l->stats.bad_files, (long long)d->n,
                               l->o.max_bad_share);
}

/* Counts an image that was decoded in spite of damage; logs the first ones. */
static void loader_warn(struct loader *l, const struct slot_fault *f)
{
    enum { NAMED = 10 };
    struct strbuf name = STRBUF_INIT;

    l->bad[f->sample] |= 1 << FAULT_WARNED;
    if (l->stats.warned_files++ > NAMED)
        return;
    dataset_describe(l->source.data, f->sample, &name);
    if (l->stats.warned_files <= NAMED)
        log_warning("'%s' is damaged and was decoded only in part: %s", name.buf,
                    f->reason);
    else
        log_warning("more damaged images were decoded only in part: see the counts in "
                    "the result file and in `trainc check`");
    strbuf_release(&name);
}

/* A persistent failure of the machine ends the run, because leaving out the sample would
 * change the training. */
static void loader_give_up(struct loader *l, const struct slot_fault *f)
{
    struct strbuf name = STRBUF_INIT;

    dataset_describe(l->source.data, f->sample, &name);
    l->failure = xasprintf("cannot read '%s': %s (tried %d times; the file need not be "
                           "damaged)",
                           name.buf, f->reason, 1 + DATASET_RETRIES);
    strbuf_release(&name);
}

bool loader_report(struct loader *l, struct slot *s)
{
    if (s->nfault)
        qsort(s->fault, (size_t)s->nfault, sizeof(*s->fault), slot_compare_faults);
    for (int i = 0; i < s->nfault && !l->failure; i++)
        if (s->fault[i].cause == FAULT_MACHINE)
            loader_give_up(l, &s->fault[i]);
        else if (l->bad[s->fault[i].sample] & 1 << s->fault[i].cause)
            continue;
        else if (s->fault[i].cause == FAULT_WARNED)
            loader_warn(l, &s->fault[i]);
        else
            loader_name(l, &s->fault[i]);
    return !l->failure;
}
