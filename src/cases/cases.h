/*
 * The op table's rows: each builds its inputs and one op (or a few that backends fuse) in
 * two sizes. tests/ops/test_ops.c runs every row on every backend, and checks the
 * reference against finite differences; `trainc bench --ops` times the same rows in the
 * larger size.
 *
 * Inputs are image or plain fp32 tensors that want gradients, labels, bytes and lam.
 * How they are filled is part of the row: no ties where a maximum decides, no values at
 * kinks. cases/case_run.h builds, fills and runs.
 */
#ifndef CASES_CASES_H
#define CASES_CASES_H

#include "graph/graph.h"
#include "ops/accumulation_formula.h"

enum case_fill {
    CASE_SIGNED,   /* uniform in [-1, 1) */
    CASE_STEPS,    /* +-0.05, +-0.15, ... +-1.15: never at 0, 0.5 or 1 */
    CASE_DISTINCT, /* all different, in [-4, 4) */
    CASE_TIES,     /* few different ones, both zeros among them: maxima are shared */
    CASE_UNIT,     /* uniform in [0, 1) */
    CASE_FAR,      /* uniform in [8, 9) */
    CASE_BYTES,    /* 0..255 */
    CASE_LABELS,   /* 0..classes-1 */
    CASE_HOLES,    /* labels; every third is -1 */
    CASE_NO_LABELS /* all -1 */
};

enum { CASE_INPUTS = 6, CASE_OUTPUTS = 3 };

struct op_case;

struct case_input {
    struct tensor *tensor;
    enum case_fill fill;
    int classes; /* labels */
    void (*make)(void *at, const struct tensor *t, const struct op_case *row); /* or NULL */
};

/* What a row's build function makes. */
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

/* An update phase after the backward nodes: an optimizer with all that goes with it. */
struct case_update {
    const char *optimizer; /* the name of its row */
    float momentum, clip_norm, clip_value;
    bool nesterov, trust_clip, always_adapt;
    struct accumulation accumulation;
};

typedef void case_build_fn(struct case_build *c, const struct op_case *row,
                           const struct case_size *size);

struct op_case {
    const char *name;
    case_build_fn *build;
    struct case_size small, bench;
    const struct case_update *update; /* or NULL */
    const void *attrs;   /* of the op; layer, out and groups are filled in by build */
    const char *freeze;  /* a pattern for graph_freeze */
    const struct collective *norms; /* for graph_share_norms; or NULL */
    const struct collective *batch; /* for graph_share_batch; or NULL */
    int half;                       /* of that batch */
    enum case_fill fill; /* of the input that matters: a pool's image, labels */
    int seed;            /* of a chain: with this one no relu is near its kink */
    bool inference;      /* a graph that is not for training */
    bool no_gradient;    /* nothing flows back */
    bool chain;          /* several ops: 16-bit floats are rounded in between */
    bool no_nan;         /* a NaN in the first input leaves none in the results */
    bool nan_spreads;    /* with a NaN in the input: padding times NaN may be NaN too */
    bool nan_spreads_on_tiles; /* the same, but only where the CPU has AMX */
    bool signed_scales;        /* every other element of a vector of weights is negated */
    bool nan_last; /* the NaN is the last element, not the first, and negative */
    int nan_every; /* one of so many is NaN, negative from the middle on; 0: one in all */
    bool no_differences; /* finite differences say nothing: maxima tie, or weights move */
    bool wide;           /* full vectors; 16-bit floats need not agree at kinks */
    bool slow;           /* seconds on the emulated GPU: as it is alone, without a NaN */
};

/* Row i, in the order in which users see them; NULL after the last. */
const struct op_case *op_case_at(int i);

#endif
