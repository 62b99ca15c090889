#include "config/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

/* --- the tree of a schema
 * ------------------------------------------------------------------ */

static struct cfgnode *section_of(struct cfgnode *root, const char *key,
                                  const char **name)
{
    struct cfgnode *n = root;
    const char *dot;

    for (; (dot = strchr(key, '.')); key = dot + 1) {
        char *section = xstrndup(key, (size_t)(dot - key));

        n = cfgnode_add(n, section);
        free(section);
    }
    *name = key;
    return n;
}

static void add_row(struct cfgnode *root, const struct schema *row)
{
    struct problems p = {0};
    const char *name;

    if (row->type == SCHEMA_GONE) {
        (void)cfgnode_deprecate(root, row->key, row->deprecated);
        return;
    }

    struct cfgnode *n = section_of(root, row->key, &name);
    struct value v = schema_default(row, root->mem);

    if (!cfgnode_set(n, name, &v, NULL, &p))
        BUG("row %s", row->key);
    cfgnode_entry(n, name)->decl = schema_decl(row);
    cfgnode_entry(n, name)->flags = row->flag;
    if (row->renamed_from) {
        (void)cfgnode_rename(root, row->renamed_from, row->key, NULL);
        root->note[root->nnote - 1].forward = true;
    }
}

struct cfgnode *schema_tree(const struct schema *table)
{
    struct cfgnode *root = cfgnode_new();

    root->interpolate = true;
    for (const struct schema *row = table; row->key; row++)
        add_row(root, row);
    return root;
}

/* --- the sources
 * ------------------------------------------------------------------------------ */

static bool is_base(const char *key)
{
    return !strcmp(key, "BASE") || !strcmp(key, "_BASE_");
}

static void merge_set(struct cfgnode *tree, const struct cmd_set *set, struct problems *p)
{
    struct arena mem = {0};
    struct value v = value_str(&mem, set->text);

    v.text = v.s;
    if (is_base(set->name))
        problems_error(p, set->where, "%s works in files only; name several --cfg files",
                       set->name);
    else if (!utf8_valid(set->text))
        problems_error(p, set->where, "%s: not a text in UTF-8, which config.yaml is",
                       set->name);
    else
        cfgnode_merge_pair(tree, set->name, &v, set->where, p);
    arena_release(&mem);
}

/* A flag beats --opts wherever it stands; say so if they differ. */
static void warn_if_beaten(const struct cfgnode_entry *e, const struct value *was,
                           const char *was_where, const struct cmd_set *set,
                           struct problems *p)
{
    struct strbuf old = STRBUF_INIT;

    if (!was_where || !strstr(was_where, "--opts") || value_equal(was, &e->value))
        return;
    value_add_repr(&old, was);
    problems_warn(p, set->where, "%s is %s, not %s as %s says: a flag comes after --opts",
                  set->name, set->text, old.buf, was_where);
    strbuf_release(&old);
}

void config_merge(struct cfgnode *tree, const struct cmdline *line, struct problems *p)
{
    for (int i = 0; i < line->ncfg; i++) {
        const char *path = line->cfg[i].text;

        cfgnode_merge_chain(tree, !strcmp(path, "-") ? "/dev/stdin" : path, "--cfg", p);
    }
    for (int i = 0; i < line->nopt; i++)
        merge_set(tree, &line->opt[i], p);
    for (int i = 0; i < line->nflag; i++) {
        const struct cfgnode_entry *e = cfgnode_find(tree, line->flag[i].name);
        struct value was = e ? e->value : value_none();
        const char *where = e ? e->where : NULL;

        merge_set(tree, &line->flag[i], p);
        if (e)
            warn_if_beaten(e, &was, where, &line->flag[i], p);
    }
}

/* --- checks
 * --------------------------------------------------------------------------------------
 */

/* None for a text whose default is empty means empty: RESUME: null. */
static void none_is_empty(const struct schema *row, struct cfgnode_entry *e,
                          struct cfgnode *tree)
{
    if (e->value.type == VALUE_NONE && schema_decl(row).type == VALUE_STR &&
        !row->nullable && (!row->def || !*row->def))
        e->value = value_str(tree->mem, "");
}

static void check_notes(const struct schema *row, const struct cfgnode_entry *e,
                        struct problems *p)
{
    struct arena mem = {0};
    struct value def = schema_default(row, &mem);
    bool same = value_equal(&def, &e->value);

    if (e->where && row->deprecated)
        problems_warn(p, e->where, "%s is deprecated: %s", row->key, row->deprecated);
    if (!same && row->no_effect)
        problems_warn(p, e->where, "%s has no effect: %s", row->key, row->no_effect);
    if (!same && row->unsupported)
        problems_error(p, e->where, "%s is not supported: %s", row->key,
                       row->unsupported);
    arena_release(&mem);
}

static void refuse(struct cfgnode_entry *e, struct problems *p, const char *key,
                   const char *why)
{
    int before = p->nerror;

    problems_error(p, e->where, "%s %s", key, why);
    p->nkey += p->nerror - before;
    e->bad = true;
}

void config_check(struct cfgnode *tree, const struct schema *table, struct problems *p)
{
    for (const struct schema *row = table; row->key; row++) {
        struct cfgnode_entry *e = cfgnode_find(tree, row->key);
        struct strbuf why = STRBUF_INIT;

        if (row->type == SCHEMA_GONE || !e || e->node || e->pending)
            continue;
        none_is_empty(row, e, tree);
        if (schema_check(row, &e->value, &why))
            check_notes(row, e, p);
        else
            refuse(e, p, row->key, why.buf);
        strbuf_release(&why);
    }
}

/* --- all together
 * ---------------------------------------------------------------------------------- */

static void bind(struct cfgnode *tree, struct config *cfg)
{
    int n = 0;

    while (schema_table[n].key)
        n++;
    cfg->source = arena_new(&cfg->mem, (size_t)n * sizeof(*cfg->source));
    for (int i = 0; i < n; i++) {
        const struct schema *row = &schema_table[i];
        const struct cfgnode_entry *e = cfgnode_find(tree, row->key);
        const char *raw = e && e->value.text ? strstr(e->value.text, "${") : NULL;

        if (!e)
            continue;
        if (!e->bad && !e->pending)
            schema_bind(row, &e->value, cfg, &cfg->mem);
        cfg->source[i].bad = e->bad || e->pending;
        cfg->source[i].where = e->where ? arena_strdup(&cfg->mem, e->where) : NULL;
        cfg->source[i].raw = raw ? arena_strdup(&cfg->mem, e->value.text) : NULL;
    }
}

bool config_load(struct config *cfg, const struct cmdline *line, struct problems *p)
{
    struct cfgnode *tree = schema_tree(schema_table);

    config_init(cfg);
    config_merge(tree, line, p);
    config_interpolate(tree, p);
    config_check(tree, schema_table, p);
    bind(tree, cfg);
    cfg->doubt = p->nerror > p->nkey;
    config_check_rules(cfg, p);
    cfgnode_free(tree);
    return !p->nerror;
}
