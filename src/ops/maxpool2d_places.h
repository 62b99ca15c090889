/*
 * maxpool2d that also stores the position of each window's maximum, in a byte, and the
 * gradient that reads these instead of x: for backends that would have to read x again to
 * find them.
 *
 *   maxpool2d_places        x -> y, places: row * kernel + column within the window
 *   maxpool2d_places_grad   places, dy -> dx, of in_h x in_w
 *
 * Models do not create them: maxpool2d_lower() does, from maxpool2d and its gradient.
 */
#ifndef OPS_MAXPOOL2D_PLACES_H
#define OPS_MAXPOOL2D_PLACES_H

#include "ops/pool2d.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest kernel, whose places fit a byte. Attributes are the pool's. */
enum { MAXPOOL2D_PLACES = 16 };
enum { MAXPOOL2D_PLACES_Y, MAXPOOL2D_PLACES_WON };
enum { MAXPOOL2D_PLACES_GRAD_WON, MAXPOOL2D_PLACES_GRAD_DY };

extern const struct op op_maxpool2d_places, op_maxpool2d_places_grad;

/*
 * Replaces each max pool of g that has a gradient, and the gradient, by these ops. Larger
 * windows and those that are not square stay, and so do pools of concatenated tensors, whose channels are not adjacent.
 */
void maxpool2d_lower(struct graph *g);

#ifdef __cplusplus
}
#endif

#endif
