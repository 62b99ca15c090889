/*
 * prepend_token: a thread writes one pack of the result. Bytes: the tokens, x, and the
 * result.
 */
#include "ops/tokens.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

/* A sample of y has `out` packs, of which the first `front` are the tokens'. */
template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    tokens_copy(const T *x, const float *token, T *y, int64_t items, int out, int front)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, sample = i / out;
    int pos = (int)(i % out);
    pack<T, N> a = {};

    if (i >= items)
        return;
    if (pos >= front)
        a = pack_load<N>(x + (sample * (out - front) + pos - front) * N);
    else
        for (int e = 0; e < N; e++)
            a.set(e, token[pos * N + e]);
    pack_store<T, N>(y + i * N, a);
}

static const char *tokens_claim(struct region *r, struct graph *, struct node *n,
                                struct device *)
{
    if (n->op != &op_prepend_token)
        return "no tokens before others";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_claim_node(r, n);
    return nullptr;
}

template <class T, int N>
static void tokens_launch(const struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    int64_t items = tensor_len(y) / N;
    int front = (int)(tensor_len(s->in_tensor[PREPEND_TOKEN_TOKEN]) / N);

    LAUNCH(dev, (tokens_copy<T, N>), cuda_blocks(items, BLOCK, 1), BLOCK, 0,
           (const T *)s->in[PREPEND_TOKEN_X], (const float *)s->in[PREPEND_TOKEN_TOKEN],
           (T *)s->out[0], items, (int)(items / y->dim[0]), front);
}

static void tokens_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];

    WITH_DTYPE(y->dtype, T, WITH_PACK(T, y->dim[2], N, tokens_launch<T, N>(s, dev)));
}

extern const struct kernel cuda_tokens = {
    .name = "cuda tokens",
    .claim = tokens_claim,
    .run = tokens_run,
};
