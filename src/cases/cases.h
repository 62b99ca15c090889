/*
 * The op table's rows: each builds its inputs and one op (or a few that backends fuse) in
 * two sizes. tests/ops/test_ops.c runs every row on every backend and checks the
 * reference against finite differences; `trainc bench --ops` times the same rows in the
 * larger size.
 *
 * Inputs are image or plain fp32 tensors that want gradients, labels, bytes, and lam. The
 * row defines how they are filled: without ties for maxima, without values at kinks.
 * cases/case_run.h builds, fills, and runs.
 */
#ifndef CASES_CASES_H
#define CASES_CASES_H

#include "graph/graph.h"
#include "ops/accumulation_formula.h"

enum case_fill {
    CASE_SIGNED,   /* uniform in [-1, 1) */
    CASE_STEPS,    /* +-0.05, +-0.15, ... +-1.15: never at 0, 0.5 or 1 */
    CASE_DISTINCT, /* all different, in [-4, 4) */
    CASE_TIES,     /* few different values, including both zeros: maxima are shared */
    CASE_UNIT,     /* uniform in [0, 1) */
    CASE_FAR,      /* uniform in [8, 9) */
    CASE_BYTES,    /* 0..255 */
    CASE_LABELS,   /* 0..classes-1 */
    CASE_HOLES,    /* labels; every third is -1 */
    CASE_NO_LABELS /* all -1 */
};

enum { CASE_INPUTS = 10, CASE_OUTPUTS = 3 };

struct op_case;

struct case_input {
    struct tensor *tensor;
    enum case_fill fill;
    int classes; /* labels */
    void (*make)(void *data, const struct tensor *t,
                 const struct op_case *row); /* or NULL */
};

/* Output of a row's build function. */
struct case_build {
    struct builder *b;
    bool bench;
    struct case_input input[CASE_INPUTS];
    int ninput;
    struct tensor *out[CASE_OUTPUTS]; /* compared; the gradient of out[0] is seeded */
    int nout;
};

struct case_size {
    int64_t dim[4]; /* of the first input */
    int out;        /* channels or classes */
    int groups;
};

/* An update phase after the backward nodes: an optimizer and its surrounding ops. */
struct case_update {
    const char *optimizer; /* name of its row */
    float momentum, clip_norm, clip_value;
    bool nesterov, trust_clip, always_adapt;
    struct accumulation accumulation;
};

typedef void case_build_fn(struct case_build *c, const struct op_case *row,
                           const struct case_size *size);

struct op_case {
    const char *name;
    case_build_fn *build;
    struct case_size small, bench; /* bench.dim[0] is 0 for rows without a benchmark */
    const struct case_update *update; /* or NULL */
    const void *attrs;   /* attributes of the op; build fills in layer, out, and groups */
    const char *freeze;  /* a pattern for graph_freeze */
    const struct collective *norms; /* for graph_share_norms; or NULL */
    const struct collective *batch; /* for graph_share_batch; or NULL */
    int half;                       /* of that batch */
    enum case_fill fill;            /* of the main input: a pool's image, labels */
    int seed;            /* of a chain: with this seed no relu is near its kink */
    bool inference;      /* an inference graph */
    bool no_gradient;    /* no backward phase */
    bool chain;          /* several ops: 16-bit floats are rounded in between */
    bool no_nan;         /* results have no NaN if the first input has one */
    bool nan_spreads;    /* a NaN in the input may spread: padding times NaN may be NaN */
    bool nan_spreads_on_tiles; /* same, but only on a CPU with AMX */
    bool signed_scales;        /* every other element of a weight vector is negated */
    bool nan_last; /* the NaN is the last element and negative, not the first */
    int nan_every; /* one in this many elements is NaN, negative in the second half; 0:
                    * a single NaN */
    bool no_differences; /* finite differences are meaningless: maxima tie, or weights
                          * move */
    bool wide;           /* full vectors; 16-bit floats may disagree at kinks */
    bool slow;           /* takes seconds on the emulated GPU: only run unmodified,
                          * without a NaN */
};

/* Returns row i, in the order of display; NULL after the last. */
const struct op_case *op_case_at(int i);

#endif
