#include "cpu/conv/chain.h"

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/layer_scale.h"
#include "ops/linear.h"

/* Returns the producer of t, or of what t is a view of, if nothing else reads them. */
static struct node *producer(const struct graph *g, const struct tensor *t)
{
    while (t->alias_of && tensor_only_reader(g, t))
        t = t->producer->in[0];
    return sole_producer(g, t, NULL);
}

/* True if n multiplies each channel by a parameter. */
static bool is_scale(const struct node *n)
{
    return n->op == &op_layer_scale && n->in[LAYER_SCALE_GAMMA]->memory == MEMORY_WEIGHTS;
}

static bool find_conv(struct conv_chain *f, const struct graph *g, struct node *n)
{
    f->fold = NULL;
    if (n && (n->op == &op_batchnorm_inference || is_scale(n))) {
        f->fold = n;
        n = producer(g, n->in[BATCHNORM_X]);
    }
    f->conv = n && (n->op == &op_conv2d || n->op == &op_linear) ? n : NULL;
    return f->conv && (!f->fold || f->conv->nin <= CONV2D_BIAS ||
                       f->conv->in[CONV2D_BIAS]->memory == MEMORY_WEIGHTS);
}

static bool find_add(struct conv_chain *f, const struct graph *g, struct node *add)
{
    if (add->nin != 2)
        return false;
    f->add = add;
    for (int i = 1; i >= 0; i--) { /* the residual branch is the add's first input */
        f->other = add->in[i];
        if (find_conv(f, g, producer(g, add->in[1 - i])))
            return f->other != add->in[1 - i];
    }
    return false;
}

_Static_assert((int)LAYER_SCALE_X == (int)BATCHNORM_X, "both read x first");

bool conv_chain_find(struct conv_chain *f, const struct graph *g, struct node *n)
{
    *f = (struct conv_chain){0};
    if (activation_of(n)) {
        f->act = n;
        n = last_producer(g, n->in[ACTIVATION_X], n, NULL);
    }
    if (n && n->op == &op_add)
        return find_add(f, g, n);
    return n && find_conv(f, g, n);
}

void conv_chain_claim(struct region *r, const struct conv_chain *f)
{
    region_claim(r, f->conv);
    if (f->fold)
        region_claim(r, f->fold);
    if (f->add)
        region_claim(r, f->add);
    if (f->act)
        region_claim(r, f->act);
}
