/*
 * The generic claim: a list of nodes becomes one cuDNN operation graph. Tensors passed
 * between these nodes are virtual; their inputs and the last one's result are real.
 *
 *   struct cudnn_claim c;
 *
 *   if (!cudnn_chain(&c, g, n, dev, &op_conv2d))
 *       return "no convolution, nor what may follow one";
 *   return cudnn_claim(&c, r);      NULL, or why cuDNN has no engine for this list
 *
 * The claim pass walks backwards, so a kernel is first offered the largest region, from
 * its last node. If it declines, another kernel may claim that node, and the next smaller
 * region is offered from the node before; cuDNN's reason stays with the program.
 *
 * cudnn_emit.h describes how a node is emitted.
 */
#ifndef CUDA_CUDNN_REGION_H
#define CUDA_CUDNN_REGION_H

#include "cuda/cudnn_plan.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_NODES = 8 };

/* The source of a real tensor's bytes. */
enum cudnn_source {
    CUDNN_SOURCE_NONE,           /* virtual */
    CUDNN_SOURCE_READ,           /* a stored tensor */
    CUDNN_SOURCE_HALF,           /* a parameter, from the flat 16-bit copy of weights */
    CUDNN_SOURCE_FOLDED_WEIGHTS, /* a parameter times the scale of a batch norm */
    CUDNN_SOURCE_FOLDED_BIAS,
    CUDNN_SOURCE_PADDED,  /* a parameter padded with zeros: cuda/pad.h */
    CUDNN_SOURCE_WRITE,   /* the result */
    CUDNN_SOURCE_SCRATCH, /* the result in 16 bits, converted and cut after the plan */
    CUDNN_SOURCE_ZERO,    /* a number on the host */
};

struct cudnn_operand {
    enum cudnn_source source;
    struct tensor *tensor;
};

/* A region under construction; on the stack of claim(). */
struct cudnn_claim {
    struct graph *g;
    struct device *dev;
    struct node *node[CUDNN_NODES]; /* first the node that all others depend on */
    int nnode;
    struct cudnn_graph graph;
    struct cudnn_operand operand[CUDNN_TENSORS];  /* for graph.tensor[i] */
    const struct tensor *value_of[CUDNN_TENSORS]; /* tensor computed by graph.tensor[i] */
    int bias;                  /* index of a vector still to be added, or -1 */
    bool bias_apart;           /* do not add the bias in the graph */
    struct tensor *bias_after; /* bias to add after the plan, or NULL */
    struct node *cast;         /* cast of the weights; duplicated */
    struct node *fold;         /* batch norm folded into the weights; duplicated */
    struct tensor *folded; /* the layer's own bias, or NULL */
    int64_t stored;        /* stored channels of the image if padded, else 0 */
    /* tensor whose first channels are the convolution's result, or its gradient, and that
     * is computed as a whole; or NULL */
    struct tensor *joined;
    struct node *slice; /* slice of `joined`; duplicated */
    bool plain;         /* no zero padding */
    bool bits; /* plan as if relus stored bits for cuDNN, and their gradients read them */
};

/*
 * Finds nodes from n down to one with op `core`, through pointwise ones whose inputs have
 * no other readers. Returns false if there is no such chain.
 */
bool cudnn_chain(struct cudnn_claim *c, struct graph *g, struct node *n,
                 struct device *dev, const struct op *core);
/* c->joined may be set for a convolution; the claim then fails rather than ignore it. */
const char *cudnn_claim(struct cudnn_claim *c, struct region *r);

/* The two halves of a claim, for other lists of nodes. The plan has `why` if there is no
 * engine; otherwise cudnn_claim_take() takes the nodes. */
struct cudnn_plan *cudnn_claim_plan(struct cudnn_claim *c);
void cudnn_claim_take(struct cudnn_claim *c, struct region *r, struct cudnn_plan *plan);

/* The state, run, and release of every kernel that claims this way. */
struct cudnn_state {
    struct cudnn_plan *plan;
    struct cudnn *cudnn;
    struct cudnn_pack pack;
    struct {
        enum cudnn_source source;
        int index;            /* among the step's in, out, or derived */
        size_t offset;        /* bytes */
    } operand[CUDNN_TENSORS]; /* in the order of plan->uid */
    enum dtype scratch;       /* type of the result in the workspace */
    int64_t stored;           /* its channels there if padded, else 0 */
    /* index of the read of a bias to add after the plan, or -1 */
    int bias_after;
};

void cudnn_region_run(struct step *s, struct device *dev);
void cudnn_region_release(struct step *s);
void cudnn_region_describe(const struct step *s, struct strbuf *text);

#ifdef __cplusplus
}
#endif

#endif
