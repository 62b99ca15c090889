/* Code shared by all storages: calls through the type's table, and the comparison of
 * class lists. */
#include "dataset/dataset.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/hold.h"

void dataset_bytes_release(struct dataset_bytes *b)
{
    if (b->cap)
        free(b->data);
    memset(b, 0, sizeof(*b));
}

void dataset_bytes_reserve(struct dataset_bytes *b, size_t room)
{
    if (b->cap && room <= b->cap)
        return;
    dataset_bytes_release(b);
    b->cap = room ? room : 1;
    b->data = xmalloc(b->cap);
}

void dataset_bytes_view(struct dataset_bytes *b, const void *data, size_t len)
{
    dataset_bytes_release(b);
    b->data = (uint8_t *)(uintptr_t)data; /* read only */
    b->len = len;
}

static void dataset_check_index(const struct dataset *d, int64_t i)
{
    if (i < 0 || i >= d->n)
        BUG("sample %lld of '%s', which has %lld", (long long)i, d->name,
            (long long)d->n);
}

int32_t dataset_label(const struct dataset *d, int64_t i)
{
    int32_t label;

    dataset_check_index(d, i);
    label = d->type->label(d, i);
    return d->order && label >= 0 && label < d->nclass ? d->order[label] : label;
}

int dataset_read(const struct dataset *d, int64_t i, int64_t limit,
                 struct dataset_bytes *out, struct strbuf *why)
{
    int rc;

    dataset_check_index(d, i);
    if (d->hold && hold_get(d->hold, i, false, limit, out))
        return 0;
    rc = d->type->read(d, i, limit, out, why);
    if (d->hold && rc == 0 && out->cap) /* a view is in memory already */
        hold_put(d->hold, i, false, out);
    return rc;
}

void dataset_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    dataset_check_index(d, i);
    d->type->describe(d, i, name);
}

bool dataset_has_targets(const struct dataset *d)
{
    return d->type->targets != NULL;
}

size_t dataset_target_size(const struct dataset *d)
{
    return (size_t)d->nclass * (d->values ? sizeof(float) : 1);
}

void dataset_order_classes(struct dataset *d, const char *const *name)
{
    size_t n = (size_t)d->nclass;
    int32_t *order = xcalloc(n + 1, sizeof(*order));
    char **old = xcalloc(n + 1, sizeof(*old));

    memcpy(old, d->class_name, n * sizeof(*old));
    for (int j = 0; j < d->nclass; j++)
        for (int i = 0; i < d->nclass; i++)
            if (!strcmp(old[j], name[i])) {
                order[j] = i;
                d->class_name[i] = old[j];
            }
    free(old);
    d->order = order;
}

void dataset_targets(const struct dataset *d, int64_t i, void *target)
{
    dataset_check_index(d, i);
    d->type->targets(d, i, target);
}

bool dataset_has_labels(const struct dataset *d)
{
    return d->type->read_label != NULL;
}

int dataset_read_label(const struct dataset *d, int64_t i, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why)
{
    int rc;

    dataset_check_index(d, i);
    if (d->hold && hold_get(d->hold, i, true, limit, out))
        return 0;
    rc = d->type->read_label(d, i, limit, out, why);
    if (d->hold && rc == 0 && out->cap)
        hold_put(d->hold, i, true, out);
    return rc;
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

double dataset_weight(const struct dataset *d, int64_t i)
{
    dataset_check_index(d, i);
    return d->type->weight ? d->type->weight(d, i) : 1;
}

const int64_t *dataset_shards(const struct dataset *d, int64_t *n)
{
    return d->type->shards ? d->type->shards(d, n) : NULL;
}

bool dataset_stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    dataset_check_index(d, i);
    return d->type->stamp && d->type->stamp(d, i, out);
}

static void digest_targets(XXH3_state_t *x, const struct dataset *d, int64_t i,
                           uint8_t *room)
{
    d->type->targets(d, i, room);
    (void)XXH3_64bits_update(x, room, dataset_target_size(d));
}

static void digest_name(XXH3_state_t *x, const char *name)
{
    (void)XXH3_64bits_update(x, name, strlen(name) + 1);
}

uint64_t dataset_digest(const struct dataset *d)
{
    XXH3_state_t *x = XXH3_createState();
    uint8_t *room = xcalloc(dataset_target_size(d) + 1, 1);
    uint64_t digest;

    if (!x)
        die("out of memory: no room for a checksum");
    (void)XXH3_64bits_reset(x);
    (void)XXH3_64bits_update(x, &d->n, sizeof(d->n));
    for (int64_t i = 0; i < d->n; i++) {
        int32_t label = dataset_label(d, i);

        (void)XXH3_64bits_update(x, &label, sizeof(label));
        if (d->type->targets)
            digest_targets(x, d, i, room);
        if (d->type->name)
            digest_name(x, d->type->name(d, i));
        if (d->type->label_name)
            digest_name(x, d->type->label_name(d, i));
    }
    digest = XXH3_64bits_digest(x);
    (void)XXH3_freeState(x);
    free(room);
    return digest ? digest : 1;
}

void dataset_close(struct dataset *d)
{
    struct hold *hold = d ? d->hold : NULL;
    int32_t *order = d ? d->order : NULL;

    if (d)
        d->type->close(d);
    hold_free(hold);
    free(order);
}

/* Appends "'x', 'y' and 7 more", the names of `a` that are not in `b`; returns their
 * number. */
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
        strbuf_addstr(why, "  the names are the same but in another order");
    strbuf_release(&only_a);
    strbuf_release(&only_b);
    return false;
}

bool dataset_fits(const struct dataset *a, const struct dataset *b, struct strbuf *why)
{
    struct strbuf an = STRBUF_INIT, bn = STRBUF_INIT;
    bool same;

    strbuf_addf(&an, "'%s'", a->name);
    strbuf_addf(&bn, "'%s'", b->name);
    same =
        dataset_same_classes(an.buf, (const char *const *)a->class_name, a->nclass,
                             bn.buf, (const char *const *)b->class_name, b->nclass, why);
    strbuf_release(&an);
    strbuf_release(&bn);
    return same;
}
