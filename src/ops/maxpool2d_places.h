/*
 * maxpool2d that notes which place of each window won, in a byte, and the gradient that
 * needs those and not x: for backends that would have to read x once more to find them.
 *
 *   maxpool2d_places        x -> y, places: row * kernel + column within the window
 *   maxpool2d_places_grad   places, dy -> dx, of in_h x in_w
 *
 * Models do not make these: maxpool2d_lower() does, of maxpool2d and its gradient.
 */
#ifndef OPS_MAXPOOL2D_PLACES_H
#define OPS_MAXPOOL2D_PLACES_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first three are maxpool2d's. */
struct maxpool2d_places_attrs {
    const char *layer;
    int kernel; /* at most MAXPOOL2D_PLACES: all places fit a byte */
    int stride;
    int padding;
    int in_h, in_w; /* of x */
};

enum { MAXPOOL2D_PLACES = 16 };
enum { MAXPOOL2D_PLACES_Y, MAXPOOL2D_PLACES_WON };
enum { MAXPOOL2D_PLACES_GRAD_WON, MAXPOOL2D_PLACES_GRAD_DY };

extern const struct op op_maxpool2d_places, op_maxpool2d_places_grad;

/*
 * Where a max pool of g has a gradient: both of these ops instead. Left alone are those of
 * larger windows, and those that are joined with something, whose channels lie apart.
 */
void maxpool2d_lower(struct graph *g);

#ifdef __cplusplus
}
#endif

#endif
