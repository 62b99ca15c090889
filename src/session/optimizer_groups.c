#include "session/optimizer_groups.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "config/names.h"
#include "config/records.h"
#include "config/value.h"
#include "graph/flat.h"
#include "session/optimizer_config.h"

static const char GROUPS[] = "TRAIN.OPTIMIZER.GROUPS";

static const struct config_group *item_of(const struct config *cfg, int i)
{
    return RECORD(cfg->train.optimizer.groups, struct config_group, i);
}

/* ---- checks ---- */

/* True if every optimizer has the field. */
static bool is_common(const char *field)
{
    static const char *const common[] = {"match", "name", "lr_scale", "weight_decay"};

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        if (!strcmp(field, common[i]))
            return true;
    return false;
}

/* Field betas corresponds to TRAIN.OPTIMIZER.BETAS. */
static bool reads_field(const struct optimizer *o, const char *field)
{
    char key[64] = "TRAIN.OPTIMIZER.";
    size_t pos = strlen(key);

    for (; *field && pos + 1 < sizeof(key); field++)
        key[pos++] = (char)toupper((unsigned char)*field);
    key[pos] = 0;
    return named_reads(&(struct named){.reads = o->reads}, key);
}

static void check_fields(const struct config *cfg, const struct optimizer *o, int i,
                         struct problems *p)
{
    const struct config_group *c = item_of(cfg, i);
    const struct value *map = &config_get(cfg, GROUPS)->list.item[i];

    for (int k = 0; k < map->list.n; k += 2) {
        const char *field = map->list.item[k].s;

        if (!is_common(field) && !reads_field(o, field))
            config_blame(cfg, p, KEYS(GROUPS),
                         "%s: item %d has a field %s, which %s does not read", GROUPS, i,
                         field, o->name);
    }
    for (int k = 0; k < c->betas.n; k++)
        if (!(c->betas.item[k] < 1))
            config_blame(cfg, p, KEYS(GROUPS), "%s: betas of its item %d must be below 1",
                         GROUPS, i);
    if (!(c->alpha.value < 1))
        config_blame(cfg, p, KEYS(GROUPS), "%s: alpha of its item %d must be below 1",
                     GROUPS, i);
}

static void check_item(const struct config *cfg, int i, struct problems *p)
{
    const struct config_group *c = item_of(cfg, i);
    const char *name = *c->name ? c->name : cfg->train.optimizer.name;
    const struct optimizer *o = optimizer_find(name);
    struct strbuf why = STRBUF_INIT;

    if (*c->name && !names_known(&optimizer_names, c->name, &why))
        config_blame(cfg, p, KEYS(GROUPS), "%s: the name of its item %d %s", GROUPS, i,
                     why.buf);
    strbuf_release(&why);
    if (!*c->match)
        config_blame(cfg, p, KEYS(GROUPS), "%s: its item %d matches nothing: match is ''",
                     GROUPS, i);
    if (o)
        check_fields(cfg, o, i, p);
}

void optimizer_groups_check(const struct config *cfg, struct problems *p)
{
    int n = cfg->train.optimizer.groups.n;

    if (n > OPTIMIZER_GROUPS_MAX)
        config_blame(cfg, p, KEYS(GROUPS), "%s has %d items, more than %d", GROUPS, n,
                     OPTIMIZER_GROUPS_MAX);
    for (int i = 0; i < n; i++)
        check_item(cfg, i, p);
}

/* ---- from the configuration ---- */

static void override(double *dst, struct float_opt src)
{
    if (src.has)
        *dst = src.value;
}

static void override_bool(bool *dst, struct bool_opt src)
{
    if (src.has)
        *dst = src.value;
}

static struct hyperparameters hyperparameters_of(const struct config *cfg,
                                                 const struct config_group *c)
{
    struct hyperparameters h = hyperparameters_of_config(cfg);

    override(&h.eps, c->eps);
    override(&h.momentum, c->momentum);
    override(&h.alpha, c->alpha);
    override(&h.trust_coeff, c->trust_coeff);
    override_bool(&h.nesterov, c->nesterov);
    override_bool(&h.trust_clip, c->trust_clip);
    override_bool(&h.always_adapt, c->always_adapt);
    if (c->betas.item) {
        h.beta1 = c->betas.item[0];
        h.beta2 = c->betas.item[1];
    }
    return h;
}

static bool same(const struct hyperparameters *a, const struct hyperparameters *b)
{
    return a->momentum == b->momentum && a->alpha == b->alpha && a->beta1 == b->beta1 &&
           a->beta2 == b->beta2 && a->eps == b->eps && a->trust_coeff == b->trust_coeff &&
           a->nesterov == b->nesterov && a->trust_clip == b->trust_clip &&
           a->always_adapt == b->always_adapt;
}

static int use_of(struct optimizer_groups *g, const struct optimizer *o,
                  const struct hyperparameters *h)
{
    for (int i = 0; i < g->nuse; i++)
        if (g->use[i].optimizer == o && same(&g->use[i].h, h))
            return i;
    g->use[g->nuse] = (struct optimizer_use){o, *h};
    return g->nuse++;
}

void optimizer_groups_init(struct optimizer_groups *g, const struct config *cfg)
{
    const struct optimizer *defaults = optimizer_of_config(cfg);
    struct hyperparameters h = hyperparameters_of_config(cfg);

    if (cfg->train.optimizer.groups.n > OPTIMIZER_GROUPS_MAX)
        usage("%s has more than %d items", GROUPS, OPTIMIZER_GROUPS_MAX);
    *g = (struct optimizer_groups){0};
    (void)use_of(g, defaults, &h);
    for (int i = 0; i < cfg->train.optimizer.groups.n; i++) {
        const struct config_group *c = item_of(cfg, i);
        const struct optimizer *o = *c->name ? optimizer_find(c->name) : defaults;

        if (!o)
            usage("%s: there is no optimizer '%s'", GROUPS, c->name);
        h = hyperparameters_of(cfg, c);
        g->group[g->n++] = (struct optimizer_group){c->match, use_of(g, o, &h),
                                                    c->lr_scale, c->weight_decay};
    }
    g->group[g->n++] = (struct optimizer_group){.lr_scale = 1};
}

const struct optimizer_group *optimizer_group_of(const struct optimizer_groups *g,
                                                 const char *name)
{
    int i = 0;

    while (g->group[i].match && fnmatch(g->group[i].match, name, 0) != 0)
        i++;
    return &g->group[i];
}

const struct optimizer_use *optimizer_use_of(const struct optimizer_groups *g,
                                             const char *name)
{
    return &g->use[optimizer_group_of(g, name)->use];
}

bool optimizer_groups_trust(const struct optimizer_groups *g)
{
    for (int i = 0; i < g->nuse; i++)
        if (g->use[i].optimizer->trust)
            return true;
    return false;
}

bool optimizer_groups_adaptive(const struct optimizer_groups *g)
{
    for (int i = 0; i < g->nuse; i++)
        if (g->use[i].optimizer->adaptive)
            return true;
    return false;
}

/* ---- matching parameters ---- */

/* Appends "conv1, bn1, layer1, fc": the first components of names, in the order of the
 * net. */
static void add_beginnings(struct strbuf *s, const struct flat *f)
{
    size_t len = 0;
    const char *last = "";

    for (int i = f->nparam; i-- > 0;) {
        const char *name = f->segment[i].tensor->name;
        size_t n = strcspn(name, ".");

        if (n == len && !strncmp(name, last, n))
            continue;
        strbuf_addf(s, "%s%.*s", len ? ", " : "", (int)n, name);
        last = name;
        len = n;
    }
}

static void try_name(struct suggest *s, struct strbuf *best, const char *name)
{
    s->best = NULL;
    suggest_try(s, name);
    if (!s->best)
        return;
    strbuf_reset(best);
    strbuf_addstr(best, name);
}

/* Appends the nearest name, or LAYER.* for the nearest layer, with a question mark; or
 * nothing. */
static void add_near(struct strbuf *s, const struct flat *f, const char *match)
{
    struct strbuf best = STRBUF_INIT, layer = STRBUF_INIT;
    struct suggest match_search;

    suggest_init(&match_search, match);
    for (int i = f->nparam; i-- > 0;) {
        const char *name = f->segment[i].tensor->name;

        try_name(&match_search, &best, name);
        for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
            strbuf_reset(&layer);
            strbuf_addf(&layer, "%.*s.*", (int)(dot - name), name);
            try_name(&match_search, &best, layer.buf);
        }
    }
    if (best.len)
        strbuf_addf(s, " (did you mean '%s'?)", best.buf);
    strbuf_release(&best);
    strbuf_release(&layer);
}

static void refuse(const struct config *cfg, const struct flat *f, int i, int matches,
                   int first, const char *match)
{
    struct strbuf hint = STRBUF_INIT, begin = STRBUF_INIT;

    if (first)
        config_refuse(cfg, KEYS(GROUPS),
                      "%s: '%s' of item %d matches only frozen parameters (TRAIN.FREEZE)",
                      GROUPS, match, i);
    if (matches)
        config_refuse(cfg, KEYS(GROUPS),
                      "%s: '%s' of item %d matches only parameters of earlier items: the "
                      "first match applies",
                      GROUPS, match, i);
    add_near(&hint, f, match);
    add_beginnings(&begin, f);
    config_refuse(cfg, KEYS(GROUPS),
                  "%s: no parameter of %s matches '%s' of item %d%s: names begin with %s",
                  GROUPS, cfg->model.name, match, i, hint.len ? hint.buf : "", begin.buf);
}

void optimizer_groups_check_matches(const struct config *cfg,
                                    const struct optimizer_groups *g,
                                    const struct graph *graph)
{
    const struct flat *f = graph->flat;

    for (int i = 0; i + 1 < g->n; i++) {
        int matches = 0, first = 0, trained = 0;

        for (int k = 0; k < f->nparam; k++) {
            const struct tensor *t = f->segment[k].tensor;
            bool defaults = optimizer_group_of(g, t->name) == &g->group[i];

            matches += !fnmatch(g->group[i].match, t->name, 0);
            first += defaults;
            trained += defaults && t->grad;
        }
        if (!trained)
            refuse(cfg, f, i, matches, first, g->group[i].match);
    }
}
