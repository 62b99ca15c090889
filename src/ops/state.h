/*
 * The small structs of ops/control.h as tensors of a graph: plain bytes (DTYPE_U8). Each
 * exists once per graph; a second call returns the same tensor.
 */
#ifndef OPS_STATE_H
#define OPS_STATE_H

#include "graph/graph.h"

struct tensor *control_tensor(struct builder *b); /* struct control */
struct tensor *metrics_tensor(struct builder *b); /* struct metrics */

/* int64 [classes * classes] after struct metrics; see ops/confusion.h. */
struct tensor *confusion_tensor(struct builder *b, int64_t classes);

#endif
