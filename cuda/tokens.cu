/*
 * prepend_token, slice_tokens and its gradient: a thread writes one pack of the result,
 * including zeros. Bytes: the result, and the elements of the input that it uses.
 */
#include "ops/tokens.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

/*
 * A sample of y has `out` packs. The packs from `first` on are `len` packs of a sample of
 * x, which has `in` packs and is read from pack `skip` on; the packs before and after are
 * the tokens' in front, or zeros.
 */
struct tokens {
    int64_t items;
    int in, out, first, skip, len;
};

template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    tokens_copy(const T *x, const float *token, T *y, tokens k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, sample = i / k.out;
    int pos = (int)(i % k.out), c = pos - k.first;
    pack<T, N> a = {};

    if (i >= k.items)
        return;
    if (c >= 0 && c < k.len)
        a = pack_load<N>(x + (sample * k.in + k.skip + c) * N);
    else if (token)
        for (int e = 0; e < N; e++)
            a.set(e, token[pos * N + e]);
    pack_store<T, N>(y + i * N, a);
}

static const char *tokens_claim(struct region *r, struct graph *, struct node *n,
                                struct device *)
{
    if (n->op != &op_prepend_token && n->op != &op_slice_tokens &&
        n->op != &op_slice_tokens_grad)
        return "no tokens before others, nor a slice of them";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_claim_node(r, n);
    return nullptr;
}

static int sample_len(const struct tensor *t)
{
    return (int)(tensor_len(t) / t->dim[0]);
}

template <class T, int N>
static void tokens_launch(const struct step *s, struct device *dev, int c)
{
    const struct op *op = s->node->op;
    const struct slice_tokens_attrs *a =
        (const struct slice_tokens_attrs *)s->node->attrs;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    bool prepend = op == &op_prepend_token, slice = op == &op_slice_tokens;
    tokens k = {.items = tensor_len(y) / N,
                .in = sample_len(x) / N,
                .out = sample_len(y) / N,
                .first = (prepend ? sample_len(y) - sample_len(x)
                          : slice ? 0
                                  : a->first * c) /
                         N,
                .skip = (slice ? a->first * c : 0) / N,
                .len = sample_len(slice ? y : x) / N};
    const float *token = prepend ? (const float *)s->in[PREPEND_TOKEN_TOKEN] : nullptr;

    LAUNCH(dev, (tokens_copy<T, N>), cuda_blocks(k.items, BLOCK, 1), BLOCK, 0,
           (const T *)s->in[0], token, (T *)s->out[0], k);
}

static void tokens_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    int c = (int)y->dim[y->ndim - 1];

    WITH_DTYPE(y->dtype, T, WITH_PACK(T, c, N, tokens_launch<T, N>(s, dev, c)));
}

extern const struct kernel cuda_tokens = {
    .name = "cuda tokens",
    .claim = tokens_claim,
    .run = tokens_run,
};
