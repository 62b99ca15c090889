/* Bytes: lse twice, which is at most 1/64 of y. */
#include "cuda/attention_lse.h"

#include "cuda/launch.h"

enum { THREADS = 256 };

/* Neighboring threads read or write `heads` floats apart; the cache combines their accesses. */
template <bool BY_HEAD>
__global__ void __launch_bounds__(THREADS)
    lse_order(const float *src, float *dst, int *lengths, unsigned images, unsigned heads,
              unsigned tokens)
{
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    unsigned token = i % tokens, row = i / tokens, head = row % heads;
    unsigned pos = (row / heads * tokens + token) * heads + head;

    if (lengths && i < images)
        lengths[i] = (int)tokens;
    if (i >= images * heads * tokens)
        return;
    if (BY_HEAD)
        dst[i] = src[pos];
    else
        dst[pos] = src[i];
}

template <bool BY_HEAD>
static void order(struct device *dev, const struct attention_lse *k, const void *src,
                  void *dst, void *lengths)
{
    unsigned blocks = cuda_blocks(k->images * k->heads * k->tokens, THREADS, 1);

    LAUNCH(dev, lse_order<BY_HEAD>, blocks, THREADS, 0, (const float *)src, (float *)dst,
           (int *)lengths, (unsigned)k->images, (unsigned)k->heads, (unsigned)k->tokens);
}

void cuda_lse_by_head(struct device *dev, const struct attention_lse *k, const void *lse,
                      void *by_head, void *lengths)
{
    order<true>(dev, k, lse, by_head, lengths);
}

void cuda_lse_by_token(struct device *dev, const struct attention_lse *k,
                       const void *by_head, void *lse)
{
    order<false>(dev, k, by_head, lse, nullptr);
}
