/* A subset of a data set: see dataset/subset.h. */
#include "dataset/subset.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct subset {
    struct dataset base;
    struct dataset_type type; /* has the optional members that the whole data set has */
    struct dataset *source;
    int64_t *index; /* [n] */
    int64_t *first; /* [nfile + 1], or NULL without containers */
    int64_t nfile;
};

static const struct subset *subset_of(const struct dataset *d)
{
    return (const struct subset *)(const void *)d;
}

static int32_t subset_label(const struct dataset *d, int64_t i)
{
    const struct subset *s = subset_of(d);

    return dataset_label(s->source, s->index[i]);
}

static int subset_read(const struct dataset *d, int64_t i, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why)
{
    const struct subset *s = subset_of(d);

    return dataset_read(s->source, s->index[i], limit, out, why);
}

static void subset_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    const struct subset *s = subset_of(d);

    dataset_describe(s->source, s->index[i], name);
}

static void subset_targets(const struct dataset *d, int64_t i, void *target)
{
    const struct subset *s = subset_of(d);

    dataset_targets(s->source, s->index[i], target);
}

static const char *subset_name(const struct dataset *d, int64_t i)
{
    const struct subset *s = subset_of(d);

    return s->source->type->name(s->source, s->index[i]);
}

static bool subset_stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    const struct subset *s = subset_of(d);

    return dataset_stamp(s->source, s->index[i], out);
}

static double subset_weight(const struct dataset *d, int64_t i)
{
    const struct subset *s = subset_of(d);

    return dataset_weight(s->source, s->index[i]);
}

static const char *subset_label_name(const struct dataset *d, int64_t i)
{
    const struct subset *s = subset_of(d);

    return s->source->type->label_name(s->source, s->index[i]);
}

static const int64_t *subset_shards(const struct dataset *d, int64_t *n)
{
    const struct subset *s = subset_of(d);

    *n = s->nfile;
    return s->first;
}

static int subset_read_label(const struct dataset *d, int64_t i, int64_t limit,
                             struct dataset_bytes *out, struct strbuf *why)
{
    const struct subset *s = subset_of(d);

    return dataset_read_label(s->source, s->index[i], limit, out, why);
}

static void subset_describe_label(const struct dataset *d, int64_t i, struct strbuf *name)
{
    const struct subset *s = subset_of(d);

    dataset_describe_label(s->source, s->index[i], name);
}

static bool subset_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out)
{
    const struct subset *s = subset_of(d);

    return dataset_stamp_label(s->source, s->index[i], out);
}

static void subset_close(struct dataset *d)
{
    struct subset *s = (struct subset *)(void *)d;

    dataset_close(s->source);
    free(s->base.name);
    free(s->index);
    free(s->first);
    free(s);
}

/* Finds the containers of the subset; those without samples are dropped. */
static void find_shards(struct subset *s)
{
    int64_t nfile = 0, i = 0;
    const int64_t *first = dataset_shards(s->source, &nfile);

    if (!first)
        return;
    s->first = xcalloc((size_t)nfile + 1, sizeof(*s->first));
    for (int64_t k = 0; k < nfile; k++) {
        int64_t start = i;

        while (i < s->base.n && s->index[i] < first[k + 1])
            i++;
        if (i > start)
            s->first[++s->nfile] = i;
    }
}

struct dataset *dataset_subset(struct dataset *all, const int64_t *index, int64_t n,
                               const char *part)
{
    struct subset *s = xcalloc(1, sizeof(*s));
    const struct dataset_type *t = all->type;

    s->type = (struct dataset_type){
        .label = subset_label,
        .read = subset_read,
        .describe = subset_describe,
        .close = subset_close,
        .name = t->name ? subset_name : NULL,
        .stamp = t->stamp ? subset_stamp : NULL,
        .weight = t->weight ? subset_weight : NULL,
        .label_name = t->label_name ? subset_label_name : NULL,
        .targets = t->targets ? subset_targets : NULL,
        .read_label = t->read_label ? subset_read_label : NULL,
        .describe_label = t->describe_label ? subset_describe_label : NULL,
        .stamp_label = t->stamp_label ? subset_stamp_label : NULL,
    };
    s->base = *all;
    s->base.type = &s->type;
    s->base.name = xasprintf("%s (%s)", all->name, part);
    s->base.hold = NULL;
    s->base.n = n;
    s->source = all;
    s->index = xcalloc((size_t)n + 1, sizeof(*s->index));
    memcpy(s->index, index, (size_t)n * sizeof(*index));
    find_shards(s);
    s->type.shards = s->first ? subset_shards : NULL;
    return &s->base;
}
