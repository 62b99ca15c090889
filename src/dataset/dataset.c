/* What all storages share: calls through the table, and the comparison of class lists. */
#include "dataset/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void dataset_bytes_release(struct dataset_bytes *b)
{
    free(b->data);
    memset(b, 0, sizeof(*b));
}

static void dataset_check_index(const struct dataset *d, int64_t i)
{
    if (i < 0 || i >= d->n)
        BUG("sample %lld of '%s', which has %lld", (long long)i, d->name,
            (long long)d->n);
}

int32_t dataset_label(const struct dataset *d, int64_t i)
{
    dataset_check_index(d, i);
    return d->type->label(d, i);
}

int dataset_read(const struct dataset *d, int64_t i, int64_t limit,
                 struct dataset_bytes *out, struct strbuf *why)
{
    dataset_check_index(d, i);
    return d->type->read(d, i, limit, out, why);
}

void dataset_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    dataset_check_index(d, i);
    d->type->describe(d, i, name);
}

bool dataset_has_labels(const struct dataset *d)
{
    return d->type->read_label != NULL;
}

int dataset_read_label(const struct dataset *d, int64_t i, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why)
{
    dataset_check_index(d, i);
    return d->type->read_label(d, i, limit, out, why);
}

void dataset_describe_label(const struct dataset *d, int64_t i, struct strbuf *name)
{
    dataset_check_index(d, i);
    d->type->describe_label(d, i, name);
}

bool dataset_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out)
{
    dataset_check_index(d, i);
    return d->type->stamp_label && d->type->stamp_label(d, i, out);
}

void dataset_close(struct dataset *d)
{
    if (d)
        d->type->close(d);
}

/* "'x', 'y' and 7 more": the names of `a` that are not in `b`; returns how many. */
static int dataset_only_in(const char *const *a, int na, const char *const *b, int nb,
                           struct strbuf *out)
{
    enum { SHOWN = 5 };
    int n = 0;

    for (int i = 0; i < na; i++) {
        int k = 0;

        while (k < nb && strcmp(a[i], b[k]) != 0)
            k++;
        if (k < nb)
            continue;
        if (n < SHOWN)
            strbuf_addf(out, "%s'%.100s'", n ? ", " : "", a[i]);
        n++;
    }
    if (n > SHOWN)
        strbuf_addf(out, " and %d more", n - SHOWN);
    return n;
}

static bool dataset_lists_equal(const char *const *a, int na, const char *const *b,
                                int nb)
{
    if (na != nb)
        return false;
    for (int i = 0; i < na; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

bool dataset_same_classes(const char *a_name, const char *const *a, int na,
                          const char *b_name, const char *const *b, int nb,
                          struct strbuf *why)
{
    struct strbuf only_a = STRBUF_INIT, only_b = STRBUF_INIT;
    int n;

    if (dataset_lists_equal(a, na, b, nb))
        return true;
    strbuf_addf(why, "the classes of %s (%d) and of %s (%d) differ:", a_name, na, b_name,
                nb);
    n = dataset_only_in(a, na, b, nb, &only_a);
    if (n)
        strbuf_addf(why, " only %s has %s", a_name, only_a.buf);
    if (dataset_only_in(b, nb, a, na, &only_b))
        strbuf_addf(why, "%s only %s has %s", n ? ";" : "", b_name, only_b.buf);
    if (!only_a.len && !only_b.len)
        strbuf_addstr(why, " the same names in another order");
    strbuf_release(&only_a);
    strbuf_release(&only_b);
    return false;
}

void dataset_check_classes(const struct dataset *a, const struct dataset *b)
{
    struct strbuf an = STRBUF_INIT, bn = STRBUF_INIT, why = STRBUF_INIT;

    strbuf_addf(&an, "'%s'", a->name);
    strbuf_addf(&bn, "'%s'", b->name);
    if (!dataset_same_classes(an.buf, (const char *const *)a->class_name, a->nclass,
                              bn.buf, (const char *const *)b->class_name, b->nclass,
                              &why))
        die("%s", why.buf);
    strbuf_release(&an);
    strbuf_release(&bn);
    strbuf_release(&why);
}
