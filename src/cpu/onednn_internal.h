/*
 * Shared by the files onednn*.c: the descriptors of oneDNN 2.x and 3.x
 * (onednn_descriptors.c), and the struct of a primitive, which onednn_create.c creates
 * and onednn.c runs; onednn_pack.c packs its weights.
 */
#ifndef CPU_ONEDNN_INTERNAL_H
#define CPU_ONEDNN_INTERNAL_H

#include <oneapi/dnnl/dnnl.h>

#include "cpu/onednn.h"

/* A memory descriptor: a struct in 2.x, a handle that must be destroyed in 3.x. */
struct md {
    dnnl_memory_desc_t d;
    bool made;
};

struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct md *packings; /* distinct packings, numbered by onednn_prim_packing() */
    int npackings, packings_cap;
};

#if DNNL_VERSION_MAJOR >= 3
#define MD(m) ((m)->made ? (m)->d : NULL)
#else
#define MD(m) ((m)->made ? &(m)->d : NULL)
#endif

enum { ARG_SRC, ARG_WEIGHTS, ARG_BIAS, ARG_DST, ARG_ADD, ARG_SCRATCH, ARG_COUNT };

struct onednn_prim {
    struct onednn *o;
    dnnl_primitive_t prim;
    char *name;
    dnnl_memory_t memory[ARG_COUNT];
    void *pointer[ARG_COUNT]; /* current pointer of memory[] */
    dnnl_exec_arg_t arg[ARG_COUNT];
    int slot[ARG_COUNT]; /* the ARG_ of arg[i] */
    int narg;
    size_t scratch;
    struct md packed, plain; /* the weights in both formats */
};

/* Dies if oneDNN is out of memory; any other failure is a bug. */
#define ONEDNN_CHECK(call) onednn_check((call), __FILE__, __LINE__, #call)
void onednn_check(dnnl_status_t s, const char *file, int line, const char *call);

void md_release(struct md *m);
struct md md_copy(const struct md *m); /* to be released, too */
bool md_equal(const struct md *a, const struct md *b);
size_t md_size(const struct md *m); /* bytes */
/* Returns a copy of the primitive's descriptor for one of its tensors. */
struct md md_query(dnnl_primitive_desc_t pd, dnnl_query_t what);

/* The fields of a blocked descriptor. */
struct blocking {
    int ndim, count; /* of dimensions, of inner blocks */
    const dnnl_dim_t *padded, *stride, *size, *index;
};
bool md_blocking(const struct md *m, struct blocking *b); /* false if it is not blocked */

/*
 * The tensors of a primitive: .weights in any format, .plain the same weights as fp32 in
 * the stored order. bias.made: whether there is a bias.
 */
struct shapes {
    struct md src, weights, bias, dst, plain;
};
struct shapes conv_shapes(const struct onednn_conv *c);
struct shapes linear_shapes(const struct onednn_linear *l);
void shapes_release(struct shapes *s);

/* Creates the primitive descriptor; the caller destroys it. hint: descriptor of the
 * forward pass, required by a backward pass. */
dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
                        const struct onednn_conv *c, const struct shapes *s,
                        dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint);
dnnl_status_t linear_desc(dnnl_primitive_desc_t *pd, struct onednn *o,
                          const struct onednn_linear *l, const struct shapes *s,
                          dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint);

/* Points `m` to `p`, unless it already does (`ptr`). */
void onednn_point(dnnl_memory_t m, void **ptr, void *p);
/* Runs a primitive and waits for it. */
void onednn_execute(struct onednn *o, dnnl_primitive_t prim, int n,
                    const dnnl_exec_arg_t *arg);

#endif
