/*
 * Builds and writes an ONNX model. Operator set 17, one graph; the first dim of its input
 * and output is the batch, of any size.
 *
 *   struct onnx *x = onnx_new("resnet50");
 *   onnx_layer(x, "fc");                                names the nodes that follow
 *   const char *y = onnx_node(x, "Gemm", ONNX_IN(in, w, b));
 *   onnx_int(x, "transB", 1);                           attribute of the last node
 *   onnx_input(x, "input", 4, dim); onnx_output(x, y, "logits", 2, dim);
 *   if (onnx_write(x, path, &why)) ...
 *   onnx_free(x);
 *
 * Values are passed by name; names belong to the model. The format is that of
 * https://github.com/onnx/onnx (docs/IR.md), with the operators of its docs/Operators.md;
 * src/onnx/onnx.proto has the messages.
 */
#ifndef ONNX_WRITER_H
#define ONNX_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

struct onnx;

enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_BOOL = 9
};

struct onnx *onnx_new(const char *name);
void onnx_free(struct onnx *x);

struct arena *onnx_arena(struct onnx *x); /* memory with the lifetime of the model */

/* Nodes: onnx_node() returns the name of its output. The inputs end with NULL; "" omits
 * an optional input. Attributes belong to the last node. */
#define ONNX_IN(...) ((const char *const[]){__VA_ARGS__, NULL})
void onnx_layer(struct onnx *x, const char *layer);
const char *onnx_node(struct onnx *x, const char *op, const char *const *in);
void onnx_int(struct onnx *x, const char *name, int64_t value);
void onnx_ints(struct onnx *x, const char *name, int n, const int64_t *value);
void onnx_float(struct onnx *x, const char *name, float value);
void onnx_string(struct onnx *x, const char *name, const char *value);

/* Initializers. `data` is not copied. A repeated name is a BUG. */
const char *onnx_tensor(struct onnx *x, const char *name, enum onnx_type type, int ndim,
                        const int64_t *dim, const void *data);
/* Constants; equal ones share an initializer. onnx_int64s: a short vector of n. */
const char *onnx_int64s(struct onnx *x, int n, const int64_t *value);
const char *onnx_scalar(struct onnx *x, float value);
const char *onnx_zero_byte(struct onnx *x, bool is_unsigned); /* a scalar */

/* The first dim is the batch, whatever `dim` says. */
void onnx_input(struct onnx *x, const char *name, int ndim, const int64_t *dim);
/* Renames the value `src`, which no node has read, to `name`. */
void onnx_output(struct onnx *x, const char *src, const char *name, int ndim,
                 const int64_t *dim);
void onnx_meta(struct onnx *x, const char *key, const char *value);

/* Writes the file atomically. Returns -1 with the reason appended on errors. */
int onnx_write(const struct onnx *x, const char *path, struct strbuf *why);

#endif
