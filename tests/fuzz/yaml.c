/* YAML as a tree: each value is written on one line that reads back as the same value. */
#include "fuzz.h"

#include "config/cfgnode.h"
#include "config/dump.h"
#include "config/yaml.h"

/* Finds the type that a key needs to hold the value; returns false if there is none. */
static bool declare(const struct value *v, struct decl *d)
{
    struct decl item;

    *d = (struct decl){.type = v->type == VALUE_NONE ? VALUE_STR : v->type};
    if (v->type != VALUE_LIST)
        return true;
    d->item = VALUE_STR;
    for (int i = 0; i < v->list.n; i++) {
        if (!declare(&v->list.item[i], &item) || v->list.item[i].type == VALUE_NONE ||
            (i && (item.type != d->item || item.item != d->item2)) ||
            item.item2 != VALUE_NONE)
            return false;
        d->item = item.type;
        d->item2 = item.item;
    }
    return true;
}

static void check(const struct value *v, const struct decl *d, struct problems *p)
{
    struct strbuf text = STRBUF_INIT;
    struct cfgnode *dst = cfgnode_new(), *src;
    struct value none = value_none();
    struct cfgnode_entry *e = cfgnode_set(dst, "K", &none, NULL);

    e->name = "K";
    e->decl = *d;
    strbuf_addstr(&text, "K: ");
    value_add_yaml(&text, v);
    strbuf_addstr(&text, "\n");
    src = yaml_read_text(text.buf, text.len, "line.yaml", p);
    fuzz_expect(src && !p->nerror, "a value is YAML");
    cfgnode_merge(dst, src, p);
    fuzz_expect(!p->nerror, "which its key takes");
    fuzz_expect(value_equal(v, &e->value), "and has again");
    cfgnode_free(src);
    cfgnode_free(dst);
    strbuf_release(&text);
}

static void check_all(const struct cfgnode *n, struct problems *p)
{
    for (int i = 0; i < n->n; i++) {
        const struct cfgnode_entry *e = &n->entry[i];
        struct decl d;

        if (e->node)
            check_all(e->node, p);
        else if (declare(&e->value, &d))
            check(&e->value, &d, p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problems p = {0};
    struct cfgnode *tree = yaml_read_text((const char *)data, size, "fuzz.yaml", &p);

    if (tree && !p.nerror)
        check_all(tree, &p);
    cfgnode_free(tree);
    problems_release(&p);
    return 0;
}
