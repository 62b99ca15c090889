/*
 * Trainc's interface to oneDNN. Only the files onednn*.c know its two kinds of
 * descriptors (2.x and 3.x) and its quirks. Activations are channels last, [N,H,W,C] or
 * [rows, channels]; weights use whatever packing oneDNN prefers; the caller provides
 * scratch memory. _run allocates nothing.
 *
 *   p = onednn_conv_new(o, &(struct onednn_conv){...});   NULL: no optimized code for it
 *   pack = onednn_pack_new(o, p, ONEDNN_PACK);
 *   onednn_pack_run(pack, packed, weights);   after each change of the weights
 *   onednn_prim_run(p, &(struct onednn_args){...});
 *
 * Quirks reflected in this interface: unpacked weights run code a hundred times slower;
 * the eltwise relu turns NaN into 0, so no activation is offered; a convolution
 * implemented as a GEMM adds the wrong elements of args->add (2.6), so such code is
 * refused; a memory object zeroes the padding of its buffer when its pointer changes, so
 * pointers are only set when they change.
 */
#ifndef CPU_ONEDNN_H
#define CPU_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/tensor.h"

struct onednn;      /* an engine and a stream */
struct onednn_prim; /* a convolution or a linear layer in one direction */
struct onednn_pack; /* a reorder between plain fp32 weights and packed ones */

enum onednn_direction { ONEDNN_FORWARD, ONEDNN_BACKWARD_DATA, ONEDNN_BACKWARD_WEIGHTS };

struct onednn *onednn_open(void);
void onednn_close(struct onednn *o);
const char *onednn_version(void);    /* "2.6.3" */
bool onednn_has_dtype(enum dtype d); /* can compute in it, with or without emulation */
bool onednn_has_vnni(void);          /* sums of byte products are 32-bit */
bool onednn_has_native_dtype(enum dtype d); /* has instructions for it */

struct onednn_conv {
    enum onednn_direction direction;
    /* Type of activations and packed weights: F32 or BF16. U8 (forward, no bias): bytes,
     * int8 if .is_signed; weights are int8, converted from fp32 integers, and dst is
     * int32. */
    enum dtype type;
    bool is_signed;
    int64_t groups, batch;
    int64_t in, height, width; /* in: channels of all groups */
    int64_t out, out_height, out_width;
    int64_t kernel[2], stride[2], dilation[2]; /* height, width; dilation 1: none */
    int64_t pad[2], pad_end[2];                /* top and left, bottom and right */
    bool bias; /* fp32; forward: added; backward weights: its gradient is computed */
    bool add;  /* forward: adds args->add before the result is rounded */
};

/* y[rows,out] = x[rows,in] w[out,in]^T + bias */
struct onednn_linear {
    enum onednn_direction direction;
    enum dtype type;
    bool is_signed;
    int64_t rows, in, out;
    bool bias;
};

/* Returns NULL if oneDNN has no code for it, only reference code, or only incorrect code. */
struct onednn_prim *onednn_conv_new(struct onednn *o, const struct onednn_conv *c);
struct onednn_prim *onednn_linear_new(struct onednn *o, const struct onednn_linear *l);
void onednn_prim_free(struct onednn_prim *p); /* accepts NULL */

size_t onednn_prim_scratch(const struct onednn_prim *p);      /* bytes */
size_t onednn_prim_weights_size(const struct onednn_prim *p); /* packed bytes */
/* bytes of plain fp32 weights */
size_t onednn_prim_plain_size(const struct onednn_prim *p);
const char *onednn_prim_name(const struct onednn_prim *p);    /* "jit:avx512_core" */
/* packed weights are plain fp32: no unpacking */
bool onednn_prim_plain(const struct onednn_prim *p);
/* Returns a number that identifies the packing: primitives of one struct onednn have the same
 * number if and only if their packings are equal. */
int onednn_prim_packing(const struct onednn_prim *p);

/* Details of the packing if it consists of blocks of O and I (no groups). Sizes are
 * elements. */
struct onednn_blocks {
    int64_t out_padded, in_padded;
    int64_t stride_o, stride_i, stride_h, stride_w; /* between blocks */
    int count;                                      /* number of inner blocks */
    int64_t size[4];                                /* outermost first */
    bool of_in[4];                                  /* blocks of I, else of O */
};
bool onednn_prim_blocks(const struct onednn_prim *p, struct onednn_blocks *b);

/* Named as in the forward pass, also for gradients: backward data writes src. */
struct onednn_args {
    void *src, *weights, *bias, *dst, *scratch;
    const void *add;
};
void onednn_prim_run(struct onednn_prim *p, const struct onednn_args *a);

/* Plain weights are fp32 in the stored order: O,H,W,I (or O,I), groups in O. */
enum onednn_packing { ONEDNN_PACK, ONEDNN_UNPACK };
struct onednn_pack *onednn_pack_new(struct onednn *o, const struct onednn_prim *p,
                                    enum onednn_packing d);
void onednn_pack_run(struct onednn_pack *pack, void *packed, void *plain);
void onednn_pack_free(struct onednn_pack *pack); /* accepts NULL */

#endif
