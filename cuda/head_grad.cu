/*
 * All gradients through the last layer of a segmentation network (cuda/head.h): of its
 * input, weights, and bias. The logits are recomputed and become dz in place. Bytes: x
 * once, dx once, the labels twice.
 *
 * dx of a pixel is the sum over its four taps, which belong to four warps: they store
 * their parts in shared memory. dW of a tap is a sum over pixels: a warp has one tap, and
 * each lane sums 4 of its 16 channels times a quarter of the classes over half of the
 * tile's pixels, in registers, for all tiles of the block. An incomplete quarter is
 * padded with classes whose dz is zero. At the end, the two lanes with the two halves are
 * added; a second launch adds the blocks' sums in fp64, in a fixed order.
 */
#include "cuda/head.h"

#include "cuda/batchnorm.h"
#include "cuda/head_step.h"
#include "cuda/kernels.h"
#include "ops/bias_grad.h"

/* Tiling of dW; the number of classes per lane is a template parameter. */
constexpr int LANE_CHANNELS = 4, CHANNEL_GROUPS = HEAD_CHANNELS / LANE_CHANNELS;
constexpr int CLASS_GROUPS = 4, HALF_TILE = HEAD_TILE / 2;
constexpr int ROW = HEAD_CHANNELS + 1; /* per row of sums: dW of all channels, then db */
constexpr int X_ROW =
    HEAD_CHANNELS + 4; /* so that eight lanes' 16 bytes use all 32 banks */

/* The part of dW that a lane sums. */
struct dw_part {
    int first_pixel, first_channel, first_class;
};

template <int CLASSES> __device__ static inline dw_part dw_part_of(int lane)
{
    return {lane / HALF_TILE * HALF_TILE, lane % CHANNEL_GROUPS * LANE_CHANNELS,
            lane / CHANNEL_GROUPS % CLASS_GROUPS * CLASSES};
}

/* dw += x dz over the lane's half of a tile. CLASSES: per lane. */
template <int CLASSES>
__device__ static inline void add_dw(const float *x, const float *dz, int pitch,
                                     float dw[CLASSES][LANE_CHANNELS])
{
    dw_part p = dw_part_of<CLASSES>((int)threadIdx.x % HEAD_TILE);

    x += p.first_pixel * X_ROW + p.first_channel;
    dz += p.first_pixel * pitch + p.first_class;
    UNROLL_WHOLE
    for (int i = 0; i < HALF_TILE; i++) {
        vec<float> a = vec_load(x + i * X_ROW);

        UNROLL_WHOLE
        for (int k = 0; k < CLASSES; k++) {
            float d = dz[i * pitch + k];

            for (int c = 0; c < LANE_CHANNELS; c++)
                dw[k][c] += a.v[c] * d;
        }
    }
}

/* Adds the sums of the two halves of the pixels and writes dW of a tap to
 * sums[class][ROW]. All lanes of the warp must participate. */
template <int CLASSES>
__device__ static inline void write_dw(float dw[CLASSES][LANE_CHANNELS], float *sums,
                                       int classes)
{
    int lane = (int)threadIdx.x % HEAD_TILE;
    dw_part p = dw_part_of<CLASSES>(lane);

    for (int k = 0; k < CLASSES; k++)
        for (int c = 0; c < LANE_CHANNELS; c++) {
            float sum = dw[k][c] + __shfl_xor_sync(0xffffffffu, dw[k][c], HALF_TILE);

            if (lane < HALF_TILE && p.first_class + k < classes)
                sums[(p.first_class + k) * ROW + p.first_channel + c] = sum;
        }
}

/* Replaces a thread's logits z by dz; adds its part of dx to d. */
template <class T>
__device__ static inline void dz_of(const head<T> &h, const class_weights &cw,
                                    const head_pixel &s, const double *total, float dloss,
                                    const float *w, float *z, float *d)
{
    int label = s.valid ? head_label_of(h, s) : 0;
    float weight = s.valid ? cw.value[label] : 0, lse = 0, scale = 0;

    if (weight > 0) {
        lse = log_sum_exp<1>(z, h.classes);
        scale = (float)((double)weight * (double)dloss / *total);
    }
    w += s.tap * h.classes * HEAD_CHANNELS;
    for (int k = 0; k < h.classes; k++, w += HEAD_CHANNELS) {
        float dz = weight > 0 ? (expf(z[k] - lse) - (float)(label == k)) * scale : 0;

        z[k] = dz;
        for (int c = 0; c < HEAD_CHANNELS; c += 4) {
            vec<float> a = vec_load(w + c);

            for (int i = 0; i < 4; i++)
                d[c + i] += dz * a.v[i];
        }
    }
}

/* Writes dx of a tile: the sum of its four warps' `parts`, [tap][pixel][ROW]. */
template <class T>
__device__ static inline void write_dx(const head<T> &h, int tile, const float *parts,
                                       T *dx)
{
    for (int i = (int)threadIdx.x; i < HEAD_TILE * HEAD_CHANNELS; i += HEAD_BLOCK) {
        int p = i / HEAD_CHANNELS, c = i % HEAD_CHANNELS;
        int64_t pixel = (int64_t)tile * HEAD_TILE + p;
        float sum = 0;

        for (int tap = 0; tap < HEAD_TAPS; tap++)
            sum += parts[(tap * HEAD_TILE + p) * ROW + c];
        if (pixel < h.pixels)
            dx[pixel * HEAD_CHANNELS + c] = from_float<T>(sum);
    }
}

/* Writes dx, and the block's sums of dW and db: [tap][class][ROW]. A lane has CLASSES
 * classes for dW and BIASES for db. */
template <class T, int CLASSES, int BIASES>
__global__ void __launch_bounds__(HEAD_BLOCK,
                                  CLASSES *CLASS_GROUPS <= HEAD_FEW_CLASSES ? 5 : 4)
    head_backward(head<T> h, class_weights cw, const double *total, const float *dloss,
                  T *dx, float *sums)
{
    SHARED_BYTES(bytes);
    int t = (int)threadIdx.x, lane = t % HEAD_TILE, pitch = head_pitch(h.classes);
    float *w = reinterpret_cast<float *>(bytes),
          *logits = w + head_weights_len(h.classes);
    float *xs = logits + HEAD_BLOCK * pitch, *parts = xs + HEAD_TILE * X_ROW;
    float *z = logits + t * pitch, *warp = logits + t / HEAD_TILE * HEAD_TILE * pitch;
    float dw[CLASSES][LANE_CHANNELS] = {}, db[BIASES] = {};

    for (int k = h.classes; k < pitch; k++)
        z[k] = 0;
    head_load_weights(h, w);
    for (int tile = (int)blockIdx.x; tile < h.tiles; tile += (int)gridDim.x) {
        head_pixel s = head_pixel_of(h, tile);
        float v[HEAD_CHANNELS] = {}, d[HEAD_CHANNELS] = {};

        if (s.valid)
            head_logits(h, s, w, v, z);
        dz_of(h, cw, s, total, *dloss, w, z, d);
        for (int c = 0; c < HEAD_CHANNELS; c++)
            parts[t * ROW + c] = d[c];
        for (int c = 0; c < HEAD_CHANNELS && s.tap == 0; c += 4)
            vec_store(xs + lane * X_ROW + c, {{v[c], v[c + 1], v[c + 2], v[c + 3]}});
        __syncthreads();
        add_dw<CLASSES>(xs, warp, pitch, dw);
        for (int j = 0; j < BIASES; j++)
            for (int p = 0; p < HEAD_TILE && lane + j * HEAD_TILE < h.classes; p++)
                db[j] += warp[p * pitch + lane + j * HEAD_TILE];
        write_dx(h, tile, parts, dx);
        __syncthreads(); /* the next tile overwrites them */
    }
    sums += ((int64_t)blockIdx.x * HEAD_TAPS + t / HEAD_TILE) * h.classes * ROW;
    write_dw<CLASSES>(dw, sums, h.classes);
    for (int j = 0; j < BIASES; j++)
        if (lane + j * HEAD_TILE < h.classes)
            sums[(lane + j * HEAD_TILE) * ROW + HEAD_CHANNELS] = db[j];
}

/* Adds the blocks' sums. A value of dW belongs to one tap; db of a class is the sum over
 * the taps. COMBINE_CHANNELS values per block; db may be NULL. */
__global__ void __launch_bounds__(COMBINE_THREADS)
    head_combine(const float *sums, int blocks, int classes, float *dw, float *db)
{
    int t = (int)threadIdx.x, all = HEAD_TAPS * classes * ROW;
    int i = (int)blockIdx.x * COMBINE_CHANNELS + t % COMBINE_CHANNELS, c = i % ROW;
    int k = i / ROW % classes, tap = i / ROW / classes;
    int end = c == HEAD_CHANNELS ? HEAD_TAPS : tap + 1;
    double sum = 0;

    for (int b = t / COMBINE_CHANNELS; b < blocks && i < all;
         b += COMBINE_THREADS / COMBINE_CHANNELS)
        for (int q = tap; q < end; q++)
            sum += (double)sums[(int64_t)b * all + (q * classes + k) * ROW + c];
    sum = combine_sum(sum);
    if (t >= COMBINE_CHANNELS || i >= all)
        return;
    if (c < HEAD_CHANNELS)
        dw[(c * HEAD_TAPS + tap) * classes + k] = (float)sum;
    else if (db && tap == 0)
        db[k] = (float)sum;
}

/* ---- claim ---- */

struct head_grad_state {
    head_reads in;
    const struct node *up, *loss; /* loss: the node of its gradient */
    int dloss;                    /* index of a read */
    int dx, dw, db;               /* indices of writes; db -1 if there is no bias */
};

static int backward_blocks(const struct device *dev, const struct tensor *x,
                           int64_t classes)
{
    return head_blocks(dev, x, classes <= HEAD_FEW_CLASSES ? 5 : 4);
}

static void take_backward(struct region *r, head_grad_state *st, const head_parts *p,
                          struct device *dev)
{
    int64_t classes = p->z->dim[IMAGE_C];
    int64_t floats =
        backward_blocks(dev, p->x, classes) * HEAD_TAPS * classes * (int64_t)ROW;
    struct node *const all[] = {p->grad, p->dz_cast, p->dx, p->dw, p->db};

    for (struct node *n : all)
        if (n)
            region_claim(r, n);
    region_duplicate(r, p->up);
    if (p->z_cast)
        region_duplicate(r, p->z_cast);
    st->up = p->up;
    st->loss = p->grad;
    st->in = head_read(r, p, p->grad->in[CROSS_ENTROPY2D_GRAD_LABELS]);
    st->dloss = region_read(r, p->grad->in[CROSS_ENTROPY2D_GRAD_DLOSS]);
    st->dx = region_write(r, p->dx->out[0]);
    st->dw = region_write(r, p->dw->out[0]);
    st->db = p->db ? region_write(r, p->db->out[0]) : -1;
    region_workspace(r, (size_t)head_label_doubles(p->x) * sizeof(double) +
                            (size_t)floats * sizeof(float));
}

static const char *head_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    head_parts p;

    if (n->op != &op_conv2d && n->op != &op_conv2d_weight_grad && n->op != &op_bias_grad)
        return "not a gradient of a transposed convolution";
    if (!head_find(&p, g, head_of_gradient(n)))
        return head_not_found;
    if (!p.grad || !head_find_gradients(&p, g))
        return "not all gradients of a loss of pixels";
    take_backward(r, (head_grad_state *)region_state(r), &p, dev);
    return nullptr;
}

/* ---- launches ---- */

template <class T>
static void run_backward(struct step *s, struct device *dev, const class_weights &cw,
                         int classes)
{
    const head_grad_state *st = (const head_grad_state *)s->state;
    const struct tensor *x = s->in_tensor[st->in.x];
    head<T> h = head_of<T>(s, st->in, classes);
    unsigned blocks = (unsigned)backward_blocks(dev, x, classes);
    double *total = (double *)s->workspace;
    float *sums = (float *)(total + head_label_doubles(x));
    const float *dloss = (const float *)s->in[st->dloss];
    float *db = st->db < 0 ? nullptr : (float *)s->out[st->db];
    T *dx = (T *)s->out[st->dx];
    int shared = head_weights_len(classes) + HEAD_BLOCK * head_pitch(classes) +
                 HEAD_TILE * X_ROW + HEAD_BLOCK * ROW;
    size_t bytes = (size_t)shared * sizeof(float);

    label_weights(dev, h.label, h.pixels * HEAD_TAPS, cw, total);
    if (classes <= HEAD_FEW_CLASSES)
        LAUNCH(dev, (head_backward<T, HEAD_FEW_CLASSES / CLASS_GROUPS, 1>), blocks,
               HEAD_BLOCK, bytes, h, cw, (const double *)total, dloss, dx, sums);
    else
        LAUNCH(dev, (head_backward<T, HEAD_CLASSES / CLASS_GROUPS, 2>), blocks,
               HEAD_BLOCK, bytes, h, cw, (const double *)total, dloss, dx, sums);
    LAUNCH(dev, head_combine, combine_blocks(HEAD_TAPS * classes * ROW), COMBINE_THREADS,
           0, (const float *)sums, (int)blocks, classes, (float *)s->out[st->dw], db);
}

static void head_grad_run(struct step *s, struct device *dev)
{
    const head_grad_state *st = (const head_grad_state *)s->state;
    int classes = (int)st->up->out[0]->dim[IMAGE_C];
    class_weights cw =
        class_weights_of((const struct cross_entropy2d_attrs *)st->loss->attrs, classes);

    WITH_DTYPE(s->in_tensor[st->in.x]->dtype, T, run_backward<T>(s, dev, cw, classes));
}

extern const struct kernel cuda_head_grad = {
    .name = "cuda head gradient",
    .claim = head_grad_claim,
    .run = head_grad_run,
    .state_size = sizeof(head_grad_state),
};
