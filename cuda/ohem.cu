/*
 * Cross entropy of hard rows (OHEM) and its gradient. The losses of rows are written
 * once. Counts are integers, so the order of atomics does not matter. To find the
 * smallest of the kept losses, four rounds select it by the bits of the losses, one byte
 * per round: a histogram, then the byte that contains the wanted rank.
 */
#include "ops/ohem.h"

#include "cuda/kernels.h"
#include "cuda/row_loss.h"
#include "ops/ohem_formula.h"

enum { OHEM_BLOCK = 256, OHEM_BYTES = 256 };

struct ohem_input {
    row_input row;
    float thresh, min_share;
};

/* Results of the rounds, at the start of the workspace; partial sums follow. */
struct ohem_search {
    unsigned long long valid, above; /* valid rows, and rows above the threshold */
    unsigned long long histogram[OHEM_BYTES];
    long long left, kept; /* rank below the prefix; number of kept rows */
    unsigned prefix, mask;
    float cut;
    int search; /* fewer rows are hard than required */
};

static ohem_input input_of(const struct step *s)
{
    const struct ohem_attrs *a = (const struct ohem_attrs *)s->node->attrs;
    ohem_input in;

    in.row = row_input_of(s, a->ignore);
    in.thresh = a->thresh;
    in.min_share = a->min_share;
    return in;
}

static unsigned element_blocks(const struct device *dev, int64_t rows)
{
    return row_blocks(dev, rows, 1);
}

static const char *ohem_claim(struct region *r, struct graph *, struct node *n,
                              struct device *dev)
{
    const struct tensor *z = n->in[ROW_LOSS_LOGITS];

    if (n->op != &op_ohem && n->op != &op_ohem_grad)
        return "not a cross entropy of hard rows";
    if (z->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    if (n->op == &op_ohem)
        region_workspace(r, sizeof(ohem_search) + element_blocks(dev, row_loss_rows(z)) *
                                                      3 * sizeof(double));
    return nullptr;
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK) ohem_losses(ohem_input in, float *loss)
{
    __shared__ float shared[ROWS_BLOCK / 32];
    const row_input &r = in.row;

    for (int64_t i = row_first<THREADS>(); i < r.rows; i += row_step<THREADS>()) {
        const float *z = r.z + i * r.classes;
        int label = row_label(&r.labels, i);
        float lse = row_lse<THREADS, N>(z, r.classes, 1, shared);

        if (!row_thread<THREADS>())
            loss[i] = label < 0 ? -1 : label < r.classes ? ohem_row(lse, z[label]) : (float)NAN;
    }
}

__global__ void __launch_bounds__(OHEM_BLOCK) ohem_begin(float thresh, ohem_search *o)
{
    o->histogram[threadIdx.x] = 0;
    if (threadIdx.x)
        return;
    o->valid = o->above = 0;
    o->prefix = o->mask = 0;
    o->cut = ohem_cut(thresh);
}

__global__ void __launch_bounds__(OHEM_BLOCK)
    ohem_count(const float *loss, int64_t rows, ohem_search *o)
{
    __shared__ int shared[OHEM_BLOCK / 32];
    int valid = 0, above = 0;

    for (int64_t i = (int64_t)blockIdx.x * OHEM_BLOCK + threadIdx.x; i < rows;
         i += (int64_t)gridDim.x * OHEM_BLOCK) {
        valid += !(loss[i] < 0);
        above += !(loss[i] < 0) && !(loss[i] <= o->cut);
    }
    valid = block_sum<OHEM_BLOCK>(valid, shared);
    above = block_sum<OHEM_BLOCK>(above, shared);
    if (threadIdx.x)
        return;
    atomicAdd(&o->valid, (unsigned long long)valid);
    atomicAdd(&o->above, (unsigned long long)above);
}

__global__ void ohem_decide(float min_share, ohem_search *o)
{
    long long least = (long long)ohem_least((int64_t)o->valid, min_share);

    o->search = (long long)o->above < least;
    o->kept = o->search ? least : (long long)o->above;
    o->left = least;
}

__global__ void __launch_bounds__(OHEM_BLOCK)
    ohem_histogram(const float *loss, int64_t rows, int shift, ohem_search *o)
{
    __shared__ unsigned counts[OHEM_BYTES];

    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * OHEM_BLOCK + threadIdx.x;
         i < rows && o->search; i += (int64_t)gridDim.x * OHEM_BLOCK) {
        unsigned bits = ohem_bits(loss[i]) & 0x7fffffffu;

        if (!(loss[i] < 0) && (bits & o->mask) == o->prefix)
            atomicAdd(&counts[bits >> shift & (OHEM_BYTES - 1)], 1u);
    }
    __syncthreads();
    if (counts[threadIdx.x])
        atomicAdd(&o->histogram[threadIdx.x], (unsigned long long)counts[threadIdx.x]);
}

/* Run with one block; its first thread selects the byte. */
__global__ void __launch_bounds__(OHEM_BLOCK) ohem_byte(int shift, ohem_search *o)
{
    if (!threadIdx.x && o->search) {
        unsigned byte = OHEM_BYTES - 1;

        while (byte && (long long)o->histogram[byte] < o->left)
            o->left -= (long long)o->histogram[byte--];
        o->prefix |= byte << shift;
        o->mask |= 0xffu << shift;
        if (!shift)
            o->cut = ohem_loss(o->prefix);
    }
    __syncthreads();
    o->histogram[threadIdx.x] = 0;
}

/* Sums losses and number of rows above the threshold; counts the rows at it. */
__global__ void __launch_bounds__(OHEM_BLOCK)
    ohem_sum(const float *loss, int64_t rows, const ohem_search *o, double *partial)
{
    __shared__ double shared[OHEM_BLOCK / 32];
    double sum = 0, above = 0, pos = 0;

    for (int64_t i = (int64_t)blockIdx.x * OHEM_BLOCK + threadIdx.x; i < rows;
         i += (int64_t)gridDim.x * OHEM_BLOCK) {
        if (!(loss[i] < 0) && !(loss[i] <= o->cut)) {
            sum += (double)loss[i];
            above += 1;
        }
        pos += loss[i] == o->cut;
    }
    sum = block_sum<OHEM_BLOCK>(sum, shared);
    above = block_sum<OHEM_BLOCK>(above, shared);
    pos = block_sum<OHEM_BLOCK>(pos, shared);
    if (threadIdx.x)
        return;
    partial[3 * blockIdx.x] = sum;
    partial[3 * blockIdx.x + 1] = above;
    partial[3 * blockIdx.x + 2] = pos;
}

__global__ void __launch_bounds__(OHEM_BLOCK)
    ohem_mean(const double *partial, unsigned blocks, const ohem_search *o, float *loss,
              float *sums)
{
    __shared__ double shared[OHEM_BLOCK / 32];
    double sum = 0, above = 0, pos = 0, kept = (double)o->kept;

    for (unsigned i = threadIdx.x; i < blocks; i += OHEM_BLOCK) {
        sum += partial[3 * i];
        above += partial[3 * i + 1];
        pos += partial[3 * i + 2];
    }
    sum = block_sum<OHEM_BLOCK>(sum, shared);
    above = block_sum<OHEM_BLOCK>(above, shared);
    pos = block_sum<OHEM_BLOCK>(pos, shared);
    if (threadIdx.x)
        return;
    if (kept > above)
        sum += (kept - above) * (double)o->cut;
    sums[OHEM_CUT] = o->cut;
    sums[OHEM_TIE] = kept > above ? (float)((kept - above) / pos) : 0;
    sums[OHEM_SCALE] = kept > 0 ? (float)(1 / kept) : 0;
    *loss = kept > 0 ? (float)(sum / kept) : 0;
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    ohem_gradient(ohem_input in, const float *dloss, const float *sums, const float *loss,
                  float *dst)
{
    __shared__ float shared[ROWS_BLOCK / 32];
    const row_input &r = in.row;
    float scale = sums[OHEM_SCALE] * *dloss;

    for (int64_t i = row_first<THREADS>(); i < r.rows; i += row_step<THREADS>()) {
        const float *z = r.z + i * r.classes;
        float w = ohem_weight(loss[i], sums[OHEM_CUT], sums[OHEM_TIE]) * scale;
        float lse = row_lse<THREADS, N>(z, r.classes, 1, shared);
        int label = row_label(&r.labels, i);

        row_map<THREADS, N>(z, dst + i * r.classes, r.classes, [&](int64_t k, float v) {
            return w == 0 ? 0.0f : (expf(v - lse) - (k == label ? 1.0f : 0.0f)) * w;
        });
    }
}

static void run_gradient(struct step *s, struct device *dev, const ohem_input &in)
{
    WITH_ROWS(in.row.classes, THREADS, N, {
        LAUNCH(dev, (ohem_gradient<THREADS, N>), row_blocks(dev, in.row.rows, THREADS),
               ROWS_BLOCK, 0, in, (const float *)s->in[ROW_LOSS_GRAD_DLOSS],
               (const float *)s->in[ROW_LOSS_GRAD_SUMS],
               (const float *)s->in[ROW_LOSS_GRAD_OTHER], (float *)s->out[0]);
    });
}

static void ohem_run(struct step *s, struct device *dev)
{
    ohem_input in = input_of(s);
    int64_t rows = in.row.rows;
    unsigned blocks = element_blocks(dev, rows);
    ohem_search *o = (ohem_search *)s->workspace;
    double *partial = (double *)(o + 1);
    float *loss;

    if (s->node->op == &op_ohem_grad) {
        run_gradient(s, dev, in);
        return;
    }
    loss = (float *)s->out[ROW_LOSS_ROWS];
    WITH_ROWS(in.row.classes, THREADS, N, {
        LAUNCH(dev, (ohem_losses<THREADS, N>), row_blocks(dev, rows, THREADS), ROWS_BLOCK,
               0, in, loss);
    });
    LAUNCH(dev, ohem_begin, 1, OHEM_BLOCK, 0, in.thresh, o);
    LAUNCH(dev, ohem_count, blocks, OHEM_BLOCK, 0, (const float *)loss, rows, o);
    LAUNCH(dev, ohem_decide, 1, 1, 0, in.min_share, o);
    for (int shift = 24; shift >= 0; shift -= 8) {
        LAUNCH(dev, ohem_histogram, blocks, OHEM_BLOCK, 0, (const float *)loss, rows,
               shift, o);
        LAUNCH(dev, ohem_byte, 1, OHEM_BLOCK, 0, shift, o);
    }
    LAUNCH(dev, ohem_sum, blocks, OHEM_BLOCK, 0, (const float *)loss, rows,
           (const ohem_search *)o, partial);
    LAUNCH(dev, ohem_mean, 1, OHEM_BLOCK, 0, (const double *)partial, blocks,
           (const ohem_search *)o, (float *)s->out[ROW_LOSS_LOSS],
           (float *)s->out[ROW_LOSS_SUMS]);
}

extern const struct kernel cuda_ohem = {
    .name = "cuda ohem",
    .claim = ohem_claim,
    .run = ohem_run,
};
