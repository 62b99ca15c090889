/* Validation parts, folds, and fractions: see train/data_part.h. */
#include "train/data_part.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/split.h"
#include "dataset/subset.h"

/* DATA.FOLD "2/5": fold 2 of 5 is the validation set. */
struct fold {
    int number, count; /* count 0: no folds */
};

static bool parse_fold(const char *text, struct fold *f)
{
    char *end;
    long number, count;

    *f = (struct fold){0};
    if (!*text)
        return true;
    number = strtol(text, &end, 10);
    if (end == text || *end != '/')
        return false;
    text = end + 1;
    count = strtol(text, &end, 10);
    if (end == text || *end || count < 2 || count > SPLIT_MAX_BINS || number < 1 ||
        number > count)
        return false;
    *f = (struct fold){(int)number, (int)count};
    return true;
}

static struct fold fold_of(const struct config *cfg)
{
    struct fold f;

    if (!parse_fold(cfg->data.fold, &f))
        usage("DATA.FOLD '%s' is not a fold such as 2/5", cfg->data.fold);
    return f;
}

bool data_part_is_carved(const struct config *cfg)
{
    return (cfg->data.val_fraction > 0 || *cfg->data.fold) &&
           config_is_default(cfg, "DATA.VAL_SPLIT");
}

static void compile_group(const struct config *cfg, regex_t *re)
{
    if (regcomp(re, cfg->data.group, REG_EXTENDED))
        usage("DATA.GROUP '%s' is not an extended regular expression", cfg->data.group);
}

void data_part_check(const struct config *cfg, struct problems *p)
{
    bool divides = cfg->data.val_fraction > 0 || *cfg->data.fold;
    struct fold f;
    regex_t re;

    if (!parse_fold(cfg->data.fold, &f))
        config_blame(cfg, p, KEYS("DATA.FOLD"),
                     "DATA.FOLD '%s' is not a fold such as 2/5 (2 to %d folds)",
                     cfg->data.fold, SPLIT_MAX_BINS);
    if (cfg->data.val_fraction > 0 && *cfg->data.fold)
        config_blame(cfg, p, KEYS("DATA.FOLD", "DATA.VAL_FRACTION"),
                     "DATA.FOLD and DATA.VAL_FRACTION both select validation images: set "
                     "only one of them");
    if (*cfg->data.group && regcomp(&re, cfg->data.group, REG_EXTENDED))
        config_blame(cfg, p, KEYS("DATA.GROUP"),
                     "DATA.GROUP '%s' is not an extended regular expression",
                     cfg->data.group);
    else if (*cfg->data.group)
        regfree(&re);
    if (!divides)
        config_warn_unread(cfg, p, "DATA.GROUP",
                           "neither DATA.VAL_FRACTION nor DATA.FOLD is set");
}

/* Returns a hash of the group of a name: what the pattern's first subexpression matches,
 * else the whole match. Returns `default_group` if the pattern does not match. */
static uint64_t group_of(const regex_t *re, const char *name, uint64_t default_group)
{
    regmatch_t m[2];
    const regmatch_t *part = &m[1];

    if (regexec(re, name, 2, m, 0))
        return default_group;
    if (part->rm_so < 0)
        part = &m[0];
    return XXH3_64bits(name + part->rm_so, (size_t)(part->rm_eo - part->rm_so));
}

struct table {
    int32_t *stratum; /* NULL if labels are label maps */
    uint64_t *key, *group;
};

static void table_release(struct table *t)
{
    free(t->stratum);
    free(t->key);
    free(t->group);
}

/* Fills the random sort key, group, and stratum of each sample; keys are hashes of file
 * names, or of indices if there are no names. */
static void table_fill(struct table *t, const struct config *cfg,
                       const struct dataset *all)
{
    XXH64_hash_t seed = (XXH64_hash_t)cfg->data.split_seed;
    bool names = all->type->name, groups = *cfg->data.group;
    size_t n = (size_t)all->n + 1;
    regex_t re;

    *t = (struct table){.key = xcalloc(n, sizeof(*t->key))};
    if (groups) {
        if (!names)
            usage("DATA.GROUP: '%s' has no file names", all->name);
        compile_group(cfg, &re);
        t->group = xcalloc(n, sizeof(*t->group));
    }
    if (!dataset_has_labels(all))
        t->stratum = xcalloc(n, sizeof(*t->stratum));
    for (int64_t i = 0; i < all->n; i++) {
        const char *name = names ? all->type->name(all, i) : NULL;
        int32_t label = t->stratum ? dataset_label(all, i) : 0;

        t->key[i] = name ? XXH3_64bits_withSeed(name, strlen(name), seed)
                         : XXH3_64bits_withSeed(&i, sizeof(i), seed);
        if (groups)
            t->group[i] = group_of(&re, name, XXH3_64bits(name, strlen(name)));
        if (t->stratum) /* invalid labels form a separate stratum */
            t->stratum[i] = label >= 0 && label < all->nclass ? label : all->nclass;
    }
    if (groups)
        regfree(&re);
}

/* The samples selected so far, and a table of all samples. */
struct selection {
    const struct dataset *source;
    struct table table;
    int64_t *index, n;
};

/* Divides the samples into `nbin` bins in proportion to `share`; keeps those of bin
 * `keep`, or with `others` all except those. */
static void choose(struct selection *c, const double *share, int nbin, int keep,
                   bool others)
{
    struct split_samples s = {.n = c->n, .nstratum = c->source->nclass + 1};
    size_t room = (size_t)c->n + 1;
    int32_t *stratum = xcalloc(room, sizeof(*stratum));
    uint64_t *key = xcalloc(room, sizeof(*key)), *group = xcalloc(room, sizeof(*group));
    uint8_t *bin = xcalloc(room, 1);
    int64_t n = 0;

    for (int64_t k = 0; k < c->n; k++) {
        int64_t i = c->index[k];

        stratum[k] = c->table.stratum ? c->table.stratum[i] : 0;
        key[k] = c->table.key[i];
        group[k] = c->table.group ? c->table.group[i] : 0;
    }
    s.stratum = stratum;
    s.key = key;
    s.group = c->table.group ? group : NULL;
    split_assign(&s, share, nbin, bin);
    for (int64_t k = 0; k < c->n; k++)
        if ((bin[k] == keep) != others)
            c->index[n++] = c->index[k];
    c->n = n;
    free(stratum);
    free(key);
    free(group);
    free(bin);
}

static void keep_share(struct selection *c, double share)
{
    choose(c, (double[]){share, 1 - share}, 2, 0, false);
}

/* Selects the training or validation part of a split that contains both. */
static void divide(struct selection *c, const struct config *cfg, enum data_split index,
                   struct strbuf *part)
{
    struct fold f = fold_of(cfg);
    double share[SPLIT_MAX_BINS];
    bool train = index == DATA_TRAIN;

    if (f.count) {
        for (int k = 0; k < f.count; k++)
            share[k] = 1;
        choose(c, share, f.count, f.number - 1, train);
        strbuf_addf(part, "%sfold %d/%d", train ? "without " : "", f.number, f.count);
    } else {
        share[0] = cfg->data.val_fraction;
        share[1] = 1 - share[0];
        choose(c, share, 2, 0, train);
        strbuf_addf(part, "%s part", train ? "training" : "validation");
    }
}

static void reduce(struct selection *c, const struct config *cfg, enum data_split index,
                   struct strbuf *part)
{
    int64_t limit = cfg->data.max_val_images;
    const char *comma = part->len ? ", " : "";

    if (index == DATA_TRAIN && cfg->data.fraction < 1) {
        strbuf_addf(part, "%s%g of it", comma, cfg->data.fraction);
        keep_share(c, cfg->data.fraction);
    } else if (index == DATA_VAL && limit && limit < c->n) {
        strbuf_addf(part, "%s%" PRId64 " of %" PRId64, comma, limit, c->n);
        keep_share(c, (double)limit / (double)c->n);
    }
}

/* Drops evenly spaced samples above DATA.MAX_VAL_IMAGES: stratification may round up. */
static void cut(struct selection *c, const struct config *cfg, enum data_split number)
{
    int64_t limit = cfg->data.max_val_images, excess = c->n - limit, n = 0;

    if (number != DATA_VAL || !limit || excess <= 0)
        return;
    for (int64_t k = 0; k < c->n; k++)
        if ((k + 1) * excess / c->n == k * excess / c->n)
            c->index[n++] = c->index[k];
    c->n = n;
}

struct dataset *data_part(const struct config *cfg, enum data_split number,
                          struct dataset *all)
{
    bool divides = data_part_is_carved(cfg);
    bool reduces = number == DATA_TRAIN ? cfg->data.fraction < 1
                                        : cfg->data.max_val_images > 0 &&
                                              cfg->data.max_val_images < all->n;
    struct selection c = {.source = all, .n = all->n};
    struct strbuf part = STRBUF_INIT;
    struct dataset *d;

    if (!divides && !reduces)
        return all;
    table_fill(&c.table, cfg, all);
    c.index = xcalloc((size_t)all->n + 1, sizeof(*c.index));
    for (int64_t i = 0; i < all->n; i++)
        c.index[i] = i;
    if (divides)
        divide(&c, cfg, number, &part);
    reduce(&c, cfg, number, &part);
    cut(&c, cfg, number);
    if (!c.n)
        die("'%s' has %" PRId64 " images: none is left for the %s part (%s)", all->name,
            all->n, number == DATA_TRAIN ? "training" : "validation", part.buf);
    d = part.len ? dataset_subset(all, c.index, c.n, part.buf) : all;
    table_release(&c.table);
    free(c.index);
    strbuf_release(&part);
    return d;
}
