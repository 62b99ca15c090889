/*
 * The end of a segmentation network: a transposed convolution, 2x2 with stride 2, from 16
 * channels to the classes, its loss, and the confusion matrix, without its logits in
 * memory; and all gradients that pass through them. In training alone: where somebody
 * else reads the logits they are made by cuDNN.
 *
 *   forward    x once, the labels twice           (logits in halves: 4 K values a pixel
 * of backward   x once, dx once, the labels twice   x, written or read nine times)
 *
 * A warp has 32 pixels of x and one of the four places under them; its four neighbours in
 * the block have the others. Logits lie in shared memory, a thread's own column, rounded
 * as they would have been; dz takes their place. Then dx is summed over the places, and
 * dW over the pixels: each lane keeps some (channel, class) for all tiles of its block.
 * Blocks' sums are added in fp64, in a fixed order, by a second launch.
 */
#include "cuda/batchnorm.h"
#include "cuda/cross_entropy2d.h"
#include "cuda/head_find.h"
#include "cuda/kernels.h"
#include "cuda/reduce.h"
#include "graph/kernel.h"
#include "ops/bias_grad.h"
#include "ops/confusion.h"
#include "ops/conv2d.h"
#include "ops/image.h"

enum {
    CHANNELS = HEAD_CHANNELS,
    PLACES = 4,
    TILE = 32,
    BLOCK = TILE * PLACES,
    BLOCKS = 4, /* of a multiprocessor */
    MOST_CLASSES = HEAD_CLASSES,
    ROW = CHANNELS + 1
};

template <class T> struct head {
    const T *x;
    const float *w, *bias; /* w [channel][place][class] */
    const uint8_t *label;
    int64_t pixels; /* of x */
    int height, width, classes, tiles;
};

/* Floats of shared memory: weights [place][class][channel], logits of the threads. */
HOST_DEVICE static inline int weights_len(int classes)
{
    return PLACES * classes * CHANNELS;
}

/* Odd, so that 32 lanes meet no bank twice. */
HOST_DEVICE static inline int column(int classes)
{
    return classes | 1;
}

template <class T> __device__ static inline float as_stored(float v)
{
    return to_float(from_float<T>(v));
}

template <class T> __device__ static inline void stage_weights(const head<T> &h, float *w)
{
    for (int i = (int)threadIdx.x; i < weights_len(h.classes); i += BLOCK) {
        int c = i % CHANNELS, k = i / CHANNELS % h.classes;
        int place = i / CHANNELS / h.classes;

        w[i] = as_stored<T>(h.w[(c * PLACES + place) * h.classes + k]);
    }
    __syncthreads();
}

/* A thread's pixel of x in the tile, and the place of its warp. */
struct spot {
    int64_t pixel;
    int place;
    bool on;
};

template <class T> __device__ static inline spot spot_of(const head<T> &h, int tile)
{
    int64_t pixel = (int64_t)tile * TILE + threadIdx.x % TILE;

    return {pixel, (int)threadIdx.x / TILE, pixel < h.pixels};
}

template <class T> __device__ static inline int label_of(const head<T> &h, const spot &s)
{
    int64_t row = s.pixel / h.width, column = s.pixel % h.width;

    return h.label[(2 * row + s.place / 2) * 2 * h.width + 2 * column + s.place % 2];
}

/* x of the pixel to v, and the logits of its place to z. */
template <class T>
__device__ static inline void logits_of(const head<T> &h, const spot &s, const float *w,
                                        float *v, float *z)
{
    constexpr int N = vec<T>::N;

    for (int c = 0; c < CHANNELS; c += N) {
        vec<T> a = vec_load(h.x + s.pixel * CHANNELS + c);

        for (int i = 0; i < N; i++)
            v[c + i] = a.get(i);
    }
    w += s.place * h.classes * CHANNELS;
    for (int k = 0; k < h.classes; k++, w += CHANNELS) {
        float sum = h.bias ? h.bias[k] : 0;

        for (int c = 0; c < CHANNELS; c += 4) {
            vec<float> a = vec_load(w + c);

            for (int i = 0; i < 4; i++)
                sum += v[c + i] * a.v[i];
        }
        z[k] = as_stored<T>(sum);
    }
}

/* matrix NULL: nothing is counted. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    head_forward(head<T> h, class_weights cw, double *loss, int ignore,
                 unsigned long long *matrix)
{
    SHARED_BYTES(bytes);
    __shared__ double sums[BLOCK / 32];
    float *w = reinterpret_cast<float *>(bytes), *logits = w + weights_len(h.classes);
    unsigned *counts = reinterpret_cast<unsigned *>(logits + BLOCK * column(h.classes));
    float *z = logits + (int)threadIdx.x * column(h.classes), v[CHANNELS];
    int cells = matrix ? h.classes * h.classes : 0;
    double sum = 0;

    for (int i = (int)threadIdx.x; i < cells; i += BLOCK)
        counts[i] = 0;
    stage_weights(h, w); /* with a barrier */
    for (int tile = (int)blockIdx.x; tile < h.tiles; tile += (int)gridDim.x) {
        spot s = spot_of(h, tile);

        if (!s.on)
            continue;
        logits_of(h, s, w, v, z);

        int own = label_of(h, s);
        float weight = cw.of[own];

        if (weight > 0)
            sum += (double)weight * (double)(log_sum_exp<1>(z, h.classes) - z[own]);
        if (cells && own != ignore && own < h.classes)
            atomicAdd(&counts[own * h.classes + largest<1>(z, h.classes)], 1u);
    }
    sum = block_sum<BLOCK>(sum, sums); /* with barriers */
    if (threadIdx.x == 0)
        loss[blockIdx.x] = sum;
    for (int i = (int)threadIdx.x; i < cells; i += BLOCK)
        if (counts[i])
            atomicAdd(&matrix[i], (unsigned long long)counts[i]);
}

/* Sums of a block for dW and db: [place][class][ROW], the bias behind the channels. J:
 * classes of a lane, every other one. */
template <class T, int J>
__global__ void __launch_bounds__(BLOCK)
    head_backward(head<T> h, class_weights cw, const double *total, const float *dloss,
                  T *dx, float *partial)
{
    SHARED_BYTES(bytes);
    float *w = reinterpret_cast<float *>(bytes), *logits = w + weights_len(h.classes);
    float *xs = logits + BLOCK * column(h.classes), *ds = xs + TILE * ROW;
    int t = (int)threadIdx.x, lane = t % TILE, wide = column(h.classes);
    float *z = logits + t * wide, *places = logits + t / TILE * TILE * wide;
    float dw[J] = {}, db[2] = {};

    stage_weights(h, w);
    for (int tile = (int)blockIdx.x; tile < h.tiles; tile += (int)gridDim.x) {
        spot s = spot_of(h, tile);
        float v[CHANNELS] = {}, d[CHANNELS] = {}, weight = 0, lse = 0, scale = 0;
        int own = 0;

        if (s.on) {
            own = label_of(h, s);
            weight = cw.of[own];
        }
        if (s.on)
            logits_of(h, s, w, v, z);
        if (weight > 0) {
            lse = log_sum_exp<1>(z, h.classes);
            scale = (float)((double)weight * (double)*dloss / *total);
        }
        for (int k = 0; k < h.classes; k++) {
            const float *from = w + (s.place * h.classes + k) * CHANNELS;
            float dz = weight > 0 ? (expf(z[k] - lse) - (float)(own == k)) * scale : 0;

            z[k] = dz;
            for (int c = 0; c < CHANNELS; c += 4) {
                vec<float> a = vec_load(from + c);

                for (int i = 0; i < 4; i++)
                    d[c + i] += dz * a.v[i];
            }
        }
        for (int c = 0; c < CHANNELS; c++) {
            ds[t * ROW + c] = d[c];
            if (s.place == 0)
                xs[lane * ROW + c] = v[c];
        }
        __syncthreads();
        for (int p = 0; p < TILE; p++) {
            float a = xs[p * ROW + lane % CHANNELS];

            for (int j = 0; j < J; j++)
                if (lane / CHANNELS + 2 * j < h.classes)
                    dw[j] += a * places[p * wide + lane / CHANNELS + 2 * j];
            for (int j = 0; j < 2; j++)
                if (lane + j * TILE < h.classes)
                    db[j] += places[p * wide + lane + j * TILE];
        }
        for (int i = t; i < TILE * CHANNELS; i += BLOCK) {
            int p = i / CHANNELS, c = i % CHANNELS;
            float sum = 0;

            for (int place = 0; place < PLACES; place++)
                sum += ds[(place * TILE + p) * ROW + c];
            if ((int64_t)tile * TILE + p < h.pixels)
                dx[((int64_t)tile * TILE + p) * CHANNELS + c] = from_float<T>(sum);
        }
        __syncthreads(); /* the next tile takes their place */
    }
    partial += ((int64_t)blockIdx.x * PLACES + t / TILE) * h.classes * ROW;
    for (int j = 0; j < J; j++)
        if (lane / CHANNELS + 2 * j < h.classes)
            partial[(lane / CHANNELS + 2 * j) * ROW + lane % CHANNELS] = dw[j];
    for (int j = 0; j < 2; j++)
        if (lane + j * TILE < h.classes)
            partial[(lane + j * TILE) * ROW + CHANNELS] = db[j];
}

/* COMBINE_CHANNELS numbers a block: weights, and each class's bias; db may be NULL. */
__global__ void __launch_bounds__(COMBINE_THREADS)
    head_weights(const float *partial, int blocks, int classes, float *dw, float *db)
{
    int t = (int)threadIdx.x, all = PLACES * classes * ROW;
    int i = (int)blockIdx.x * COMBINE_CHANNELS + t % COMBINE_CHANNELS, c = i % ROW;
    int k = i / ROW % classes, place = i / ROW / classes;
    double sum = 0;

    for (int b = t / COMBINE_CHANNELS; b < blocks && i < all;
         b += COMBINE_THREADS / COMBINE_CHANNELS)
        for (int q = place; q < (c == CHANNELS ? (int)PLACES : place + 1); q++)
            sum += (double)partial[(int64_t)b * all + (q * classes + k) * ROW + c];
    sum = combine_sum(sum);
    if (t >= COMBINE_CHANNELS || i >= all)
        return;
    if (c < CHANNELS)
        dw[(c * PLACES + place) * classes + k] = (float)sum;
    else if (db && place == 0)
        db[k] = (float)sum;
}

/* ---- claims ---- */

struct head_state {
    bool backward;
    const struct node *up, *loss; /* loss: whose attributes count */
    int ignore;
    int x, w, bias, label, dloss, confusion_loss; /* reads, or -1 */
    int out[3]; /* loss, metrics, matrix; dx, dw, db: writes, or -1 */
};

static int64_t tiles_of(const struct tensor *x)
{
    return (tensor_len(x) / CHANNELS + TILE - 1) / TILE;
}

static int blocks_of(const struct device *dev, const struct tensor *x)
{
    int64_t most = (int64_t)dev->what.multiprocessors * BLOCKS, tiles = tiles_of(x);

    return (int)(tiles < most ? tiles : most);
}

static size_t labels_space(const struct tensor *x)
{
    return (size_t)(1 + label_parts(tensor_len(x) / CHANNELS * PLACES)) * sizeof(double);
}

static void read_inputs(struct region *r, head_state *st, const head_parts *p,
                        struct tensor *labels)
{
    if (p->up->in[CONV2D_DATA_GRAD_WEIGHT]->producer)
        region_duplicate(r, p->up->in[CONV2D_DATA_GRAD_WEIGHT]->producer);
    st->up = p->up;
    st->x = region_read(r, p->x);
    st->w = region_read(r, p->w);
    st->bias = p->bias ? region_read(r, p->bias) : -1;
    st->label = region_read(r, labels);
}

static void take_backward(struct region *r, head_state *st, const head_parts *p,
                          struct device *dev)
{
    int64_t classes = p->z->dim[IMAGE_C];

    st->backward = true;
    st->loss = p->grad;
    struct node *const all[] = {p->grad, p->dz_cast, p->dx, p->dw, p->db};

    for (struct node *n : all)
        if (n)
            region_take(r, n);
    region_duplicate(r, p->up);
    if (p->z_cast)
        region_duplicate(r, p->z_cast);
    read_inputs(r, st, p, p->grad->in[CROSS_ENTROPY2D_GRAD_LABELS]);
    st->dloss = region_read(r, p->grad->in[CROSS_ENTROPY2D_GRAD_DLOSS]);
    st->out[0] = region_write(r, p->dx->out[0]);
    st->out[1] = region_write(r, p->dw->out[0]);
    st->out[2] = p->db ? region_write(r, p->db->out[0]) : -1;
    region_workspace(r, labels_space(p->x) + (size_t)blocks_of(dev, p->x) * PLACES *
                                                 (size_t)classes * ROW * sizeof(float));
}

static void take_forward(struct region *r, head_state *st, const head_parts *p,
                         struct device *dev)
{
    int64_t classes = p->z->dim[IMAGE_C];

    st->loss = p->loss;
    struct node *const all[] = {p->up, p->z_cast, p->loss, p->confusion};

    for (struct node *n : all)
        if (n)
            region_take(r, n);
    read_inputs(r, st, p, p->loss->in[CROSS_ENTROPY2D_LABELS]);
    st->out[0] = region_write(r, p->loss->out[0]);
    st->out[1] = st->out[2] = -1;
    if (p->confusion) {
        st->ignore = ((const struct confusion_attrs *)p->confusion->attrs)->ignore;
        st->out[1] = region_write(r, p->confusion->out[CONFUSION_METRICS]);
        st->out[2] = region_write(r, p->confusion->out[CONFUSION_MATRIX]);
    }
    region_workspace(r, labels_space(p->x) +
                            (size_t)blocks_of(dev, p->x) * sizeof(double) +
                            (size_t)(classes * classes) * sizeof(int64_t));
}

static const char *head_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    head_state *st = (head_state *)region_state(r);
    bool gradient =
        n->op == &op_conv2d || n->op == &op_conv2d_weight_grad || n->op == &op_bias_grad;
    bool loss = n->op == &op_cross_entropy2d || n->op == &op_confusion;
    head_parts p;

    if (!gradient && !loss)
        return "neither the loss of pixels nor a gradient behind it";
    if (!head_find(&p, g, gradient ? head_behind(n) : head_of_logits(n->in[0])))
        return "no logits of a 2x2 transposed convolution of 16 channels that only their "
               "loss reads";
    if (gradient) {
        if (!p.grad || !head_find_gradients(&p, g))
            return "not all gradients of a loss of pixels";
        take_backward(r, st, &p, dev);
        return nullptr;
    }
    if (!node_free(p.loss) || (p.confusion && !node_free(p.confusion)) ||
        (p.z_cast && !node_free(p.z_cast)) || p.z->claimed_reads ||
        p.up->out[0]->claimed_reads || (p.grad && node_free(p.grad)) ||
        (p.confusion &&
         (p.confusion->in[CONFUSION_LOSS] != p.loss->out[0] ||
          p.confusion->in[CONFUSION_LABELS] != p.loss->in[CROSS_ENTROPY2D_LABELS])))
        return "somebody else reads the logits";
    take_forward(r, st, &p, dev);
    return nullptr;
}

/* ---- launches ---- */

template <class T>
static head<T> head_of(const struct step *s, const head_state *st, int classes)
{
    const struct tensor *x = s->in_tensor[st->x];

    return {(const T *)s->in[st->x],
            (const float *)s->in[st->w],
            st->bias < 0 ? nullptr : (const float *)s->in[st->bias],
            (const uint8_t *)s->in[st->label],
            tensor_len(x) / CHANNELS,
            (int)x->dim[IMAGE_H],
            (int)x->dim[IMAGE_W],
            classes,
            (int)tiles_of(x)};
}

template <class T>
static void run_forward(struct step *s, struct device *dev, const class_weights &cw,
                        int classes)
{
    const head_state *st = (const head_state *)s->state;
    head<T> h = head_of<T>(s, st, classes);
    int blocks = blocks_of(dev, s->in_tensor[st->x]);
    double *total = (double *)s->workspace;
    double *loss = total + 1 + label_parts(h.pixels * PLACES);
    unsigned long long *matrix =
        st->out[1] < 0 ? nullptr : (unsigned long long *)(loss + blocks);
    /* read by nobody but the confusion, the mean lies where it was summed from */
    float *mean = s->out[st->out[0]] ? (float *)s->out[st->out[0]] : (float *)loss;
    int shared = weights_len(classes) + BLOCK * column(classes) + classes * classes;

    label_weights(dev, h.label, h.pixels * PLACES, cw, total);
    if (matrix)
        confusion_begin(dev, matrix, classes);
    LAUNCH(dev, head_forward<T>, (unsigned)blocks, BLOCK, (size_t)shared * sizeof(float),
           h, cw, loss, st->ignore, matrix);
    loss_mean(dev, loss, blocks, total, mean);
    if (matrix)
        confusion_end(dev, matrix, classes, mean, (struct metrics *)s->out[st->out[1]],
                      (int64_t *)s->out[st->out[2]]);
}

template <class T>
static void run_backward(struct step *s, struct device *dev, const class_weights &cw,
                         int classes)
{
    const head_state *st = (const head_state *)s->state;
    head<T> h = head_of<T>(s, st, classes);
    int blocks = blocks_of(dev, s->in_tensor[st->x]);
    double *total = (double *)s->workspace;
    float *partial = (float *)(total + 1 + label_parts(h.pixels * PLACES));
    const float *dloss = (const float *)s->in[st->dloss];
    float *db = st->out[2] < 0 ? nullptr : (float *)s->out[st->out[2]];
    T *dx = (T *)s->out[st->out[0]];
    size_t shared =
        (size_t)(weights_len(classes) + BLOCK * column(classes) + (TILE + BLOCK) * ROW) *
        sizeof(float);

    label_weights(dev, h.label, h.pixels * PLACES, cw, total);
    if (classes <= MOST_CLASSES / 2)
        LAUNCH(dev, (head_backward<T, MOST_CLASSES / 4>), (unsigned)blocks, BLOCK, shared,
               h, cw, (const double *)total, dloss, dx, partial);
    else
        LAUNCH(dev, (head_backward<T, MOST_CLASSES / 2>), (unsigned)blocks, BLOCK, shared,
               h, cw, (const double *)total, dloss, dx, partial);
    LAUNCH(dev, head_weights, combine_blocks(PLACES * classes * ROW), COMBINE_THREADS, 0,
           (const float *)partial, blocks, classes, (float *)s->out[st->out[1]], db);
}

static void head_run(struct step *s, struct device *dev)
{
    const head_state *st = (const head_state *)s->state;
    int classes = (int)st->up->out[0]->dim[IMAGE_C];
    class_weights cw =
        class_weights_of((const struct cross_entropy2d_attrs *)st->loss->attrs, classes);

    WITH_DTYPE(s->in_tensor[st->x]->dtype, T, {
        if (st->backward)
            run_backward<T>(s, dev, cw, classes);
        else
            run_forward<T>(s, dev, cw, classes);
    });
}

extern const struct kernel cuda_head = {
    .name = "cuda head",
    .claim = head_claim,
    .run = head_run,
    .state_size = sizeof(head_state),
};
