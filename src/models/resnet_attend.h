/*
 * Attention of ResNets over channels, with timm's names of parameters.
 *
 * efficient_attention: x times the sigmoid of a convolution over the channels of its mean,
 * ECA-Net (Wang et al. 2019, 1910.03151). Creates PREFIX.conv.weight [1, 1, k], where k
 * grows with the logarithm of the channels.
 *
 * selective_kernel: two 3x3 convolutions, the second one with twice the dilation, weighted
 * for each channel by a softmax over both, SK-Net (Li et al. 2019, 1903.06586). Creates
 * PREFIX.paths.N.{conv,bn} and PREFIX.attn.{fc_reduce,bn,fc_select}.
 */
#ifndef MODELS_RESNET_ATTEND_H
#define MODELS_RESNET_ATTEND_H

#include "models/blocks.h"

struct tensor *efficient_attention(struct net *n, struct tensor *x, const char *prefix);

struct selective_kernel_attrs {
    const char *prefix;
    int out, stride, dilation, groups;
    int ratio, divisor; /* attention has out / ratio channels, rounded to the divisor */
    bool split;         /* each convolution reads half of the channels of x */
};

#define selective_kernel(n, x, ...)                                                      \
    selective_kernel_((n), (x),                                                          \
                      &(const struct selective_kernel_attrs){.prefix = __VA_ARGS__})
struct tensor *selective_kernel_(struct net *n, struct tensor *x,
                                 const struct selective_kernel_attrs *a);

#endif
