/* sigmoid and its gradient, on the few numbers of a squeeze-and-excitation gate. */
#include "ops/sigmoid.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/pointwise.h"

enum { BLOCK = 256 };

/* dy NULL: forward, of x; else the gradient, of y. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    sigmoid_each(const T *x, const T *dy, T *out, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        out[i] = from_float<T>(dy ? sigmoid_slope(to_float(x[i]), to_float(dy[i]))
                                  : sigmoid_value(to_float(x[i])));
}

static const char *sigmoid_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_sigmoid && n->op != &op_sigmoid_grad)
        return "not a sigmoid";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, n->nin - 1);
    return nullptr;
}

static void sigmoid_run(struct step *s, struct device *dev)
{
    int64_t n = tensor_len(s->out_tensor[0]);
    const void *dy = s->nin > 1 ? s->in[1] : nullptr;

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        LAUNCH(dev, sigmoid_each<T>, cuda_blocks(n, BLOCK, 1), BLOCK, 0,
               (const T *)s->in[0], (const T *)dy, (T *)s->out[0], n);
    });
}

extern const struct kernel cuda_sigmoid = {
    .name = "cuda sigmoid",
    .claim = sigmoid_claim,
    .run = sigmoid_run,
};
