/*
 * A tensor: a name, a type, logical dims, and the node that makes it. It holds no data;
 * the memory pass places its bytes (`memory`, `offset`).
 *
 * Dims are logical: images N,C,H,W and convolution weights O,I/groups,kH,kW, as in cuDNN
 * and oneDNN. LAYOUT_IMAGE tensors (always four dims) are *stored* channels last: N,H,W,C
 * and O,kH,kW,I. LAYOUT_PLAIN tensors are stored row-major; tokens are plain [B,H,W,C],
 * so images and tokens have the same memory layout. There are no other layouts.
 *
 * Tensors belong to their graph.
 */
#ifndef GRAPH_TENSOR_H
#define GRAPH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TENSOR_DIMS = 5 };

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I32, DTYPE_U8 };

enum layout { LAYOUT_PLAIN, LAYOUT_IMAGE };

enum tensor_kind {
    TENSOR_INPUT,      /* copied in before each run: pixels, labels */
    TENSOR_PARAM,      /* trained; fp32 in the flat weights */
    TENSOR_STATE,      /* lives across steps: buffers, moments, EMA, metrics */
    TENSOR_ACTIVATION, /* made by a node */
    TENSOR_GRADIENT,   /* made by a node of the backward phase */
    TENSOR_CONTROL     /* the control tensor; see ops/control.h */
};

/* The memory blocks to which a program is bound. All but the arena persist across steps. */
enum memory {
    MEMORY_NONE,      /* not stored */
    MEMORY_ARENA,     /* planned by lifetime; no value survives a step */
    MEMORY_INPUT,     /* the batch */
    MEMORY_WEIGHTS,   /* parameters, then buffers: one flat fp32 array */
    MEMORY_GRADS,     /* gradients of the parameters, same offsets, or packed
                       * (ops/half_grads.h) */
    MEMORY_TRAVELS,   /* 16-bit gradients to be sent; see ops/bucket.h */
    MEMORY_GRADS_SUM, /* accumulated gradients, with gradient accumulation */
    MEMORY_MOMENT1,
    MEMORY_MOMENT2,
    MEMORY_EMA,     /* parameters and buffers, same offsets as the weights */
    MEMORY_STATS,   /* this step's batch statistics; same offsets as buffers, from the
                     * first */
    MEMORY_PENDING, /* running statistics not yet committed, with accumulation */
    MEMORY_CONTROL,
    MEMORY_METRICS,
    MEMORY_OUTPUT,    /* read by the host after a run: logits of an eval program */
    MEMORY_DERIVED,   /* packed weights, see region_derive() */
    MEMORY_WORKSPACE, /* scratch inside one step */
    MEMORY_COUNT
};

/* Initialization of a parameter or buffer. */
enum init_kind {
    INIT_ZERO,
    INIT_CONSTANT,
    INIT_NORMAL,
    INIT_TRUNC_NORMAL, /* truncated at -2 and 2, independent of the deviation: timm's
                        * trunc_normal_ */
    INIT_UNIFORM
};

struct init {
    enum init_kind kind;
    float value; /* the constant; the standard deviation; the bound of U(-v, v) */
};

struct node;

struct tensor {
    const char *name; /* parameters and buffers: exactly timm's */
    int id;           /* index in graph->tensor */
    enum tensor_kind kind;
    enum dtype dtype;
    enum layout layout;
    int ndim;
    int64_t dim[TENSOR_DIMS];

    struct node *producer;   /* NULL: input, parameter, state, control */
    int slot;                /* producer->out[slot] is this tensor */
    struct tensor *alias_of; /* a view: the tensor whose bytes it shows, set by
                              * compilation */

    bool trainable; /* parameters: false once frozen */
    bool constant;  /* weights of a second net (graph/flat.h): no update, no checkpoint */
    bool frozen;    /* parameters and buffers: a freeze pattern names it, or held */
    bool held;      /* frozen by graph_hold(), in this program only */
    bool wants_grad; /* set by autodiff: trainable, or depends on a trainable tensor */
    bool root;       /* computed even if no node reads it */
    struct tensor *grad;
    bool integer; /* buffers: of integers, fp32 in memory, int64 in files */
    struct tensor *statistic_of; /* the buffer updated by this batch statistic */
    struct init init;
    const char *const *also; /* other names of a parameter in files (tied weights); */
    int nalso;               /* their number */

    int claimed_reads; /* by regions, during the claim pass */
    size_t room;       /* bytes of storage, if more than tensor_size(): region_room() */
    enum memory memory;
    size_t offset; /* bytes from the start of `memory` */

    /* Parameters: this process has part `shard` of `shards` equal parts along dim[0] of the
     * model's, other processes the rest. shards 0: it has everything. */
    int shards, shard;
};

int64_t tensor_len(const struct tensor *t); /* elements */
size_t tensor_size(const struct tensor *t); /* bytes */
size_t tensor_room(const struct tensor *t); /* bytes reserved in the arena */
/* Returns the tensor whose bytes t shows, at the start of a chain of views; t if it is no
 * view. */
struct tensor *tensor_base(struct tensor *t);
bool tensor_same(const struct tensor *a, const struct tensor *b); /* dims and layout */
bool tensor_is_float(const struct tensor *t);

/* Gets the element strides of the stored order, one per logical dim. */
void tensor_strides(const struct tensor *t, int64_t stride[TENSOR_DIMS]);

/* For the shape functions of ops: sets dims, layout, and dtype of `t` as those of `src`,
 * or as given. */
void tensor_like(struct tensor *t, const struct tensor *src);
void tensor_plain(struct tensor *t, enum dtype dtype, int ndim, const int64_t *dim);
void tensor_image(struct tensor *t, enum dtype dtype, int64_t n, int64_t c, int64_t h,
                  int64_t w);

size_t dtype_size(enum dtype d);
const char *dtype_name(enum dtype d); /* "fp32", "fp16", "bf16", "int32", "uint8" */
bool dtype_is_half(enum dtype d);
const char *memory_name(enum memory m);

/* Writes "128x64x56x56 bf16" to buf, which is returned. */
enum { TENSOR_TEXT = 80 };
const char *tensor_text(const struct tensor *t, char buf[TENSOR_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
