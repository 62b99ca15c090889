/*
 * Dice and its gradient. A warp computes a row; its lanes share the classes, and each
 * adds to the sums of its own classes in shared memory, one set per warp. The sums are
 * then added over the warps of a block and over the blocks, in order.
 */
#include "ops/dice.h"

#include "cuda/kernels.h"
#include "cuda/row_loss.h"
#include "cuda/shared_memory.h"

enum { WARPS = ROWS_BLOCK / 32, DICE_CLASSES = 256 };

struct dice_input {
    row_input row;
    float smooth;
    bool squared;
};

static dice_input input_of(const struct step *s)
{
    const struct dice_attrs *a = (const struct dice_attrs *)s->node->attrs;
    dice_input in;

    in.row = row_input_of(s, a->ignore);
    in.smooth = a->smooth;
    in.squared = a->squared != 0;
    return in;
}

static const char *dice_claim(struct region *r, struct graph *, struct node *n,
                              struct device *dev)
{
    const struct tensor *z = n->in[ROW_LOSS_LOGITS];

    if (n->op != &op_dice && n->op != &op_dice_grad)
        return "not a Dice loss";
    if (z->dtype != DTYPE_F32)
        return "fp32 only";
    if (row_loss_classes(z) > DICE_CLASSES)
        return "more than 256 classes";

    region_claim_node(r, n);
    if (n->op == &op_dice)
        region_workspace(r, (size_t)row_blocks(dev, row_loss_rows(z), ROWS_WARP) *
                                (size_t)row_loss_classes(z) * sizeof(struct dice_class));
    return nullptr;
}

__global__ void __launch_bounds__(ROWS_BLOCK)
    dice_sums(dice_input in, struct dice_class *partial)
{
    SHARED_BYTES(bytes);
    __shared__ float shared[WARPS];
    const row_input &r = in.row;
    int classes = (int)r.classes, lane = (int)threadIdx.x % 32;
    struct dice_class *all = reinterpret_cast<struct dice_class *>(bytes);
    struct dice_class *warp_sums = all + (int)threadIdx.x / 32 * classes;

    for (int k = lane; k < classes; k += 32)
        warp_sums[k].overlap = warp_sums[k].mass = warp_sums[k].labels = 0;
    for (int64_t i = row_first<ROWS_WARP>(); i < r.rows; i += row_step<ROWS_WARP>()) {
        const float *z = r.z + i * classes;
        int label = row_label(&r.labels, i);
        float lse;

        if (label < 0)
            continue;
        lse = row_lse<ROWS_WARP, 1>(z, classes, 1, shared);
        for (int k = lane; k < classes; k += 32) {
            double p = (double)expf(z[k] - lse);

            warp_sums[k].mass += label >= classes ? (double)NAN : in.squared ? p * p : p;
            warp_sums[k].overlap += k == label ? p : 0;
            warp_sums[k].labels += k == label;
        }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < classes; k += ROWS_BLOCK) {
        struct dice_class c = {};

        for (int w = 0; w < WARPS; w++) {
            c.overlap += all[w * classes + k].overlap;
            c.mass += all[w * classes + k].mass;
            c.labels += all[w * classes + k].labels;
        }
        partial[(int64_t)blockIdx.x * classes + k] = c;
    }
}

__global__ void __launch_bounds__(DICE_CLASSES)
    dice_finish(dice_input in, const struct dice_class *partial, unsigned blocks,
                float *loss, float *sums)
{
    __shared__ double shared[DICE_CLASSES / 32];
    int classes = (int)in.row.classes, k = (int)threadIdx.x;
    double sum = 0;

    if (k < classes) {
        struct dice_class c = {};
        double on_label, always;

        for (unsigned b = 0; b < blocks; b++) {
            c.overlap += partial[(int64_t)b * classes + k].overlap;
            c.mass += partial[(int64_t)b * classes + k].mass;
            c.labels += partial[(int64_t)b * classes + k].labels;
        }
        sum = dice_end(&c, (double)in.smooth, in.squared, (double)classes, &on_label,
                       &always);
        sums[k] = (float)on_label;
        sums[classes + k] = (float)always;
    }
    sum = block_sum<DICE_CLASSES>(sum, shared);
    if (!threadIdx.x)
        *loss = (float)sum;
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    dice_gradient(dice_input in, const float *dloss, const float *sums, float *dst)
{
    __shared__ float shared[WARPS];
    const row_input &r = in.row;
    float scale = *dloss;

    for (int64_t i = row_first<THREADS>(); i < r.rows; i += row_step<THREADS>()) {
        const float *z = r.z + i * r.classes;
        int label = row_label(&r.labels, i);
        float lse = row_lse<THREADS, N>(z, r.classes, 1, shared), all = 0;
        auto slope = [&](int64_t k, float p) {
            return sums[r.classes + k] * (in.squared ? p : 1) +
                   (k == label ? sums[k] : 0);
        };

        row_each<THREADS, N>(z, r.classes, [&](int64_t k, float v) {
            float p = expf(v - lse);

            all += p * slope(k, p);
        });
        all = row_sum<THREADS>(all, shared);
        row_map<THREADS, N>(z, dst + i * r.classes, r.classes, [&](int64_t k, float v) {
            float p = expf(v - lse);

            if (label < 0)
                return 0.0f;
            return label < r.classes ? p * (slope(k, p) - all) * scale : (float)NAN;
        });
    }
}

static void dice_run(struct step *s, struct device *dev)
{
    dice_input in = input_of(s);
    int64_t classes = in.row.classes;
    unsigned blocks = row_blocks(dev, in.row.rows, ROWS_WARP);
    struct dice_class *partial = (struct dice_class *)s->workspace;
    size_t shared = (size_t)WARPS * (size_t)classes * sizeof(*partial);

    if (s->node->op == &op_dice_grad) {
        WITH_ROWS(classes, THREADS, N, {
            LAUNCH(dev, (dice_gradient<THREADS, N>),
                   row_blocks(dev, in.row.rows, THREADS), ROWS_BLOCK, 0, in,
                   (const float *)s->in[ROW_LOSS_GRAD_DLOSS],
                   (const float *)s->in[ROW_LOSS_GRAD_SUMS], (float *)s->out[0]);
        });
        return;
    }
    ALLOW_SHARED(dev, dice_sums, shared);
    LAUNCH(dev, dice_sums, blocks, ROWS_BLOCK, shared, in, partial);
    LAUNCH(dev, dice_finish, 1, DICE_CLASSES, 0, in, (const struct dice_class *)partial,
           blocks, (float *)s->out[ROW_LOSS_LOSS], (float *)s->out[ROW_LOSS_SUMS]);
}

extern const struct kernel cuda_dice = {
    .name = "cuda dice",
    .claim = dice_claim,
    .run = dice_run,
};
