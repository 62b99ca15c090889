/*
 * scale_channels: y[n,c,h,w] = x[n,c,h,w] * s[n,c], the last step of squeeze and
 * excitation; s is an image [N,C,1,1]. dx is scale_channels(dy, s);
 * ds = sum of x dy over H and W.
 */
#ifndef OPS_SCALE_CHANNELS_H
#define OPS_SCALE_CHANNELS_H

#include "graph/graph.h"

enum { SCALE_CHANNELS_X, SCALE_CHANNELS_S };
enum { SCALE_CHANNELS_SCALE_GRAD_X, SCALE_CHANNELS_SCALE_GRAD_DY }; /* ds */

struct tensor *scale_channels(struct builder *b, struct tensor *x, struct tensor *s,
                              const char *layer);

extern const struct op op_scale_channels, op_scale_channels_scale_grad;

#endif
