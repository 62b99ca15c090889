/*
 * Stands in for the files with loops for the vectors and tiles of x86-64, which the Makefile
 * leaves out for other processors: the convolutions decline, and attention on tiles is never
 * called, as amx_usable() is false.
 */
#include "base/error.h"
#include "cpu/conv/conv.h"
#include "cpu/simd/attention_amx.h"

static const char *decline(const struct device *dev, const struct conv_shape *s)
{
    (void)dev;
    (void)s;
    return "it has loops only for x86-64 processors";
}

#define DECLINE                                                                          \
    {                                                                                    \
        .forward_can = decline, .data_grad_can = decline, .weight_grad_can = decline     \
    }

const struct conv_loops conv_amx = DECLINE, conv_direct = DECLINE, conv_narrow = DECLINE;

int64_t attention_amx_room(int tokens, int head, bool gradient)
{
    (void)tokens;
    (void)head;
    (void)gradient;
    BUG("this processor has no tiles");
}

void attention_amx_forward(const struct attention *a)
{
    (void)a;
    BUG("this processor has no tiles");
}

void attention_amx_grad(const struct attention *a)
{
    (void)a;
    BUG("this processor has no tiles");
}
