#include "tests/models/net.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "models/init.h"
#include "ops/table.h"
#include "tests/test.h"

const struct model *model_named(const char *name)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = NULL;

    for (int i = 0; !m && model_families[i]; i++)
        m = model_find(model_families[i]->type, name, &why);
    if (!m)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    return m;
}

/* Returns 64, or 96 if those are too few pixels for the family. */
static int side_of(const struct model *m, const struct model_options *o)
{
    struct strbuf why = STRBUF_INIT;
    bool small = m->family->check && m->family->check(m, o, 64, 64, &why);

    strbuf_release(&why);
    return small ? 96 : 64;
}

struct net net_new(const char *name, struct model_options o, uint64_t seed)
{
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    int side = side_of(model_named(name), &o);
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){2, 3, side, side});
    struct net f = {.g = b.g};

    o.classes = 10;
    model_build(&b, model_named(name), &o, x);
    graph_flatten(f.g);
    f.w = xmalloc((size_t)f.g->flat->weights_len * sizeof(float));
    memset(f.w, 0xff, (size_t)f.g->flat->weights_len * sizeof(float)); /* NaN */
    init_weights(f.g->flat, seed, f.w);
    return f;
}

void net_release(struct net *f)
{
    free(f->w);
    graph_free(f->g);
}
