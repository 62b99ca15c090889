#include "tests/layers/yaml_net.h"

#include <string.h>

#include "config/problems.h"
#include "config/yaml.h"
#include "tests/test.h"

static struct cfgnode *checked(struct cfgnode *tree, struct problems *p)
{
    if (p->nerror)
        fail_msg("%s", p->item[0].text);
    problems_release(p);
    return tree;
}

struct cfgnode *yaml_net_file(const char *path)
{
    struct problems p = {0};

    return checked(yaml_read_file(path, NULL, &p), &p);
}

struct cfgnode *yaml_net_text(const char *text, const char *name)
{
    struct problems p = {0};

    return checked(yaml_read_text(text, strlen(text), name, &p), &p);
}

static void calm(struct value *v)
{
    const struct value *op = v->type == VALUE_MAP ? value_of_key(v, "op") : NULL;
    bool drops = op && !strncmp(op->s, "drop", 4);

    for (int i = 0; value_has_items(v) && i < v->list.n; i++) {
        bool p = drops && i % 2 && !strcmp(v->list.item[i - 1].s, "p");

        if (p)
            v->list.item[i] = value_float(0);
        else
            calm(&v->list.item[i]);
    }
}

static struct cfgnode_entry *find(const struct cfgnode *tree, const char *key)
{
    return cfgnode_find(tree, key);
}

void yaml_net_calm(struct cfgnode *tree)
{
    if (find(tree, "MODEL.BLOCKS"))
        calm(&find(tree, "MODEL.BLOCKS")->value);
    calm(&find(tree, "MODEL.LAYERS")->value);
}

struct layers_source yaml_net_source(const struct cfgnode *tree)
{
    static const struct value none = {.type = VALUE_LIST};
    const struct cfgnode_entry *layers = find(tree, "MODEL.LAYERS"),
                               *blocks = find(tree, "MODEL.BLOCKS");

    return (struct layers_source){.layers = layers ? &layers->value : &none,
                                  .blocks = blocks ? &blocks->value : &none,
                                  .layers_origin = layers ? layers->origin : NULL,
                                  .blocks_origin = blocks ? blocks->origin : NULL};
}
