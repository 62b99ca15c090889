/* Converts the schema to a tree: a typed leaf with the default for each row. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "config/cfgnode.h"
#include "config/schema.h"

/* Returns the section of a key, created if missing, and sets *last to the key's last
 * part. */
static struct cfgnode *section_of(struct cfgnode *root, const char *key,
                                  const char **last)
{
    struct cfgnode *n = root;
    const char *dot;

    for (*last = key; (dot = strchr(*last, '.')); *last = dot + 1) {
        char *name = xstrndup(*last, (size_t)(dot - *last));
        struct cfgnode *sub = cfgnode_add(n, name);

        cfgnode_entry(n, name)->name =
            arena_printf(root->mem, "%.*s", (int)(dot - key), key);
        free(name);
        n = sub;
    }
    return n;
}

static void add_row(struct cfgnode *root, const struct schema *row)
{
    const char *last;
    struct cfgnode *n = section_of(root, row->key, &last);
    struct decl d = schema_decl(row);
    struct value text = value_str(root->mem, row->def ? row->def : ""), v;
    struct strbuf why = STRBUF_INIT;
    struct cfgnode_entry *e;

    if (!coerce(root->mem, &d, &text, &v, &why))
        BUG("default of %s must be %s", row->key, why.buf);
    e = cfgnode_set(n, last, &v, NULL);
    e->name = row->key;
    e->decl = d;
    e->flags = row->flag;
    strbuf_release(&why);
}

const struct cfgnode *config_defaults(void)
{
    static struct cfgnode *tree;

    if (!tree) {
        tree = cfgnode_new();
        for (const struct schema *row = schema_table; row->key; row++)
            add_row(tree, row);
        cfgnode_freeze(tree);
    }
    return tree;
}

const struct value *config_default(const char *key)
{
    const struct cfgnode_entry *e = cfgnode_find(config_defaults(), key);

    if (!e || e->node)
        BUG("no key %s", key);
    return &e->value;
}
