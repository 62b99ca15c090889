#include "models/stages.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "models/table.h"
#include "ops/table.h"

static bool add(struct model_stages *s, const struct model_stage *stage)
{
    if (s->n == MODEL_STAGES)
        BUG("more than %d stages", MODEL_STAGES);
    s->stage[s->n] = *stage;
    return s->n++ == s->last;
}

bool model_stage(const struct model_options *o, const char *name, int reduction,
                 struct tensor *x)
{
    bool last = x->layout == LAYOUT_PLAIN; /* tokens have channels last */
    struct model_stage stage = {
        .name = name,
        .reduction = reduction,
        .x = x,
        .channels = (int)x->dim[last ? 3 : 1],
        .height = (int)x->dim[last ? 1 : 2],
        .width = (int)x->dim[last ? 2 : 3],
        .channels_last = last,
    };

    return o->stages && add(o->stages, &stage);
}

bool model_stage_tokens(const struct model_options *o, const char *name, int reduction,
                        struct tensor *x, int prefix, int height, int width)
{
    struct model_stage stage = {
        .name = name,
        .reduction = reduction,
        .x = x,
        .prefix = prefix,
        .channels = (int)x->dim[2],
        .height = height,
        .width = width,
    };

    return o->stages && add(o->stages, &stage);
}

double model_aux_weight(const struct model_options *o, double weight)
{
    return o->aux_weight.has ? o->aux_weight.value : weight;
}

void model_aux(const struct model_options *o, struct tensor *logits, double weight)
{
    struct model_stages *s = o->stages;

    if (!s)
        return;
    if (s->naux == MODEL_AUX)
        BUG("more than %d auxiliary heads", MODEL_AUX);
    s->aux[s->naux].x = logits;
    s->aux[s->naux++].weight = model_aux_weight(o, weight);
}

/* Builds the whole net for one image; the caller frees the graph. */
static struct graph *build_stages(const struct model *m, const struct model_options *o,
                                  int channels, int height, int width,
                                  struct model_stages *all)
{
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){1, channels, height, width});
    struct model_options options = *o;

    *all = (struct model_stages){.last = INT_MAX};
    options.stages = all;
    model_build(&b, m, &options, x);
    return b.g;
}

/* Returns -1 if the text is neither the name of a stage nor its index. */
static int find_stage(const struct model_stages *all, const char *text)
{
    char *end;
    long k = strtol(text, &end, 10);

    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->stage[i].name, text))
            return i;
    k = k < 0 ? k + all->n : k;
    return *text && !*end && k >= 0 && k < all->n ? (int)k : -1;
}

int model_stage_find(const struct model *m, const struct model_options *o, int channels,
                     int height, int width, const char *text, struct strbuf *why)
{
    struct model_stages all;
    struct graph *g = build_stages(m, o, channels, height, width, &all);
    int found = find_stage(&all, text);

    if (found < 0) {
        strbuf_addf(why, "'%s' is no stage; there are", text);
        for (int i = 0; i < all.n; i++)
            strbuf_addf(why, "%s %s", i ? "," : "", all.stage[i].name);
    }
    graph_free(g);
    return found;
}

void model_stages_list(const struct model *m, const struct model_options *o, int channels,
                       int height, int width, struct model_stages *all)
{
    struct graph *g = build_stages(m, o, channels, height, width, all);

    for (int i = 0; i < all->n; i++) {
        all->stage[i].x = NULL;
        all->stage[i].name = NULL; /* in the graph's memory */
    }
    graph_free(g);
}

int model_stages_pick(const struct int_list *out, int n, int dflt,
                      int index[MODEL_STAGES], struct strbuf *why)
{
    bool want[MODEL_STAGES] = {false};
    int picked = 0;

    for (int i = 0; i < out->n; i++) {
        int64_t k = out->item[i] < 0 ? out->item[i] + n : out->item[i];

        if (k < 0 || k >= n)
            strbuf_addf(why, "%lld is no stage: there are %d, 0 to %d",
                        (long long)out->item[i], n, n - 1);
        else if (want[k])
            strbuf_addf(why, "stage %lld is named twice", (long long)k);
        if (why->len)
            return 0;
        want[k] = true;
    }
    for (int i = 0; i < n; i++)
        if (out->n ? want[i] : !dflt || i >= n - dflt)
            index[picked++] = i;
    return picked;
}
