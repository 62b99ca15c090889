/* YAML as a tree: what is dumped reads back as the same tree, where keys have types. */
#include "fuzz.h"

#include "config/cfgnode.h"
#include "config/dump.h"
#include "config/yaml.h"

static bool all_texts(const struct value *list)
{
    for (int i = 0; i < list->list.n; i++)
        if (list->list.item[i].type != VALUE_STR)
            return false;
    return true;
}

/* Where no type is declared, a text in quotes gets one more layer of them and keeps it.
 */
static bool holds_quoted(const struct value *v)
{
    if (v->type == VALUE_STR)
        return *v->s == '\'' || *v->s == '"';
    for (int i = 0; v->type == VALUE_LIST && i < v->list.n; i++)
        if (holds_quoted(&v->list.item[i]))
            return true;
    return false;
}

/* Declares lists of texts, as a schema does. false: other lists cannot be brought back.
 */
static bool declare(struct cfgnode *n)
{
    for (int i = 0; i < n->n; i++) {
        struct cfgnode_entry *e = &n->entry[i];

        if (e->node) {
            if (!declare(e->node))
                return false;
        } else if (e->value.type == VALUE_LIST) {
            if (all_texts(&e->value))
                e->decl.item = VALUE_STR;
            else if (holds_quoted(&e->value))
                return false;
        }
    }
    return true;
}

static bool same_keys(const struct cfgnode *a, const struct cfgnode *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++) {
        const struct cfgnode_entry *x = &a->entry[i], *y = cfgnode_entry(b, x->key);

        if (!y || !x->node != !y->node || (x->node && !same_keys(x->node, y->node)))
            return false;
    }
    return true;
}

static void check(struct cfgnode *tree, struct problems *p)
{
    struct strbuf text = STRBUF_INIT;
    struct cfgnode *again, *into = cfgnode_clone(tree);

    cfgnode_dump(&text, tree);
    again = yaml_read_text(text.buf, text.len, "dump.yaml", p);
    fuzz_expect(again && !p->nerror, "a dump is YAML");
    fuzz_expect(same_keys(tree, again), "with the same keys");
    fuzz_expect(cfgnode_merge(into, again, p), "which takes the values");
    fuzz_expect(cfgnode_equal(tree, into), "and has the same");
    cfgnode_free(into);
    cfgnode_free(again);
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problems p = {0};
    struct cfgnode *tree = yaml_read_text((const char *)data, size, "fuzz.yaml", &p);

    if (tree && !p.nerror && declare(tree))
        check(tree, &p);
    cfgnode_free(tree);
    problems_release(&p);
    return 0;
}
