/*
 * The generic claim: a list of nodes becomes one cuDNN operation graph. What the nodes
 * pass among themselves is virtual; what they read and the last one's result are real.
 *
 *   struct cudnn_claim c;
 *
 *   if (!cudnn_chain(&c, g, n, dev, &op_conv2d))
 *       return "no convolution, nor what may follow one";
 *   return cudnn_claim(&c, r);      NULL, or why cuDNN has no engine for this list
 *
 * The claim pass walks backwards, so a kernel is asked for the largest region first: from
 * its last node. Declined, that node goes to another kernel and the next smaller region
 * is asked for from the node before; cuDNN's reason stays with the program.
 *
 * How a node is emitted is in cudnn_emit.h.
 */
#ifndef CUDA_CUDNN_REGION_H
#define CUDA_CUDNN_REGION_H

#include "cuda/cudnn_plan.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_NODES = 8 };

/* Where the bytes of a real tensor come from. */
enum cudnn_source {
    CUDNN_SOURCE_NONE,           /* virtual */
    CUDNN_SOURCE_READ,           /* a stored tensor */
    CUDNN_SOURCE_HALF,           /* a parameter, from the flat 16-bit copy of weights */
    CUDNN_SOURCE_FOLDED_WEIGHTS, /* a parameter times the scale of a batch norm */
    CUDNN_SOURCE_FOLDED_BIAS,
    CUDNN_SOURCE_PADDED,  /* a parameter with zeros after it: cuda/pad.h */
    CUDNN_SOURCE_WRITE,   /* the result */
    CUDNN_SOURCE_SCRATCH, /* the result in 16 bits, widened and cut after the plan */
};

struct cudnn_operand {
    enum cudnn_source source;
    struct tensor *tensor;
};

/* A region in the making; lives on claim()'s stack. */
struct cudnn_claim {
    struct graph *g;
    struct device *dev;
    struct node *node[CUDNN_NODES]; /* first the one that all stand on */
    int nnode;
    struct cudnn_graph graph;
    struct cudnn_operand operand[CUDNN_TENSORS];  /* of graph.tensor[i] */
    const struct tensor *value_of[CUDNN_TENSORS]; /* what graph.tensor[i] computes */
    int bias;              /* a vector that is still to be added, or -1 */
    bool bias_apart;       /* do not put it into the graph */
    struct tensor *bias_after; /* a bias that is added after the plan, or NULL */
    struct node *cast;     /* of the weights; duplicated */
    struct node *fold;     /* the batch norm that is in the weights; duplicated */
    struct tensor *folded; /* the layer's own bias, or NULL */
    int64_t stored;        /* channels of the image, if more than it has; else 0 */
    /* of which the convolution's result, or its gradient, is the first channels, and all
     * are computed; or NULL */
    struct tensor *joined;
    struct node *slice; /* of it; duplicated */
    bool plain;         /* nothing is filled up with zeros */
};

/*
 * Finds nodes from n down to one with op `core`, through pointwise ones whose inputs
 * nobody else reads. False: there is no such chain.
 */
bool cudnn_chain(struct cudnn_claim *c, struct graph *g, struct node *n,
                 struct device *dev, const struct op *core);
/* c->joined may be set for a convolution, and only then there is no claim without it. */
const char *cudnn_claim(struct cudnn_claim *c, struct region *r);

/* The state, run and release of every kernel that claims so. */
struct cudnn_state {
    struct cudnn_plan *plan;
    struct cudnn *cudnn;
    struct cudnn_pack pack;
    struct {
        enum cudnn_source source;
        int index;            /* of the step's in, out or derived */
        size_t offset;        /* bytes */
    } operand[CUDNN_TENSORS]; /* in the order of plan->uid */
    enum dtype scratch;       /* type of the result in the workspace */
    int64_t stored;           /* its channels there, if more than the result's; else 0 */
    int bias_after;           /* the read of a bias that is added after the plan, or -1 */
};

void cudnn_region_run(struct step *s, struct device *dev);
void cudnn_region_release(struct step *s);
void cudnn_region_describe(const struct step *s, struct strbuf *text);

#ifdef __cplusplus
}
#endif

#endif
