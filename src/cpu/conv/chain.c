#include "cpu/conv/chain.h"

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/linear.h"

static bool find_conv(struct conv_chain *f, const struct graph *g, struct node *n)
{
    f->bn = NULL;
    if (n && n->op == &op_batchnorm_inference) {
        f->bn = n;
        n = sole_producer(g, n->in[BATCHNORM_X], NULL);
    }
    f->conv = n && (n->op == &op_conv2d || n->op == &op_linear) ? n : NULL;
    return f->conv != NULL;
}

static bool find_add(struct conv_chain *f, const struct graph *g, struct node *add)
{
    if (add->nin != 2)
        return false;
    f->add = add;
    for (int i = 1; i >= 0; i--) { /* the residual branch is the add's first input */
        f->other = add->in[i];
        if (find_conv(f, g, sole_producer(g, add->in[1 - i], NULL)))
            return f->other != add->in[1 - i];
    }
    return false;
}

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
    if (f->bn)
        region_claim(r, f->bn);
    if (f->add)
        region_claim(r, f->add);
    if (f->act)
        region_claim(r, f->act);
}
