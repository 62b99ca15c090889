/*
 * The end of a segmentation network in training: the last layer, a transposed convolution
 * (cuda/head.h), with its loss and the confusion matrix, in one kernel. The logits are
 * not stored; the gradients (cuda/head_grad.cu) recompute them. If the logits have other
 * readers, cuDNN computes them instead.
 *
 * Bytes: x once, the labels twice. (Stored 16-bit logits would be 4 K values per pixel of
 * x, written or read nine times by loss, matrix, and gradients.)
 */
#include "cuda/head.h"

#include "cuda/head_step.h"
#include "cuda/kernels.h"
#include "cuda/reduce.h"
#include "ops/confusion.h"

/* matrix NULL: pixels are not counted. */
template <class T>
__global__ void __launch_bounds__(HEAD_BLOCK)
    head_forward(head<T> h, class_weights cw, double *loss, int ignore,
                 unsigned long long *matrix)
{
    SHARED_BYTES(bytes);
    __shared__ double sums[HEAD_BLOCK / 32];
    float *w = reinterpret_cast<float *>(bytes),
          *logits = w + head_weights_len(h.classes);
    unsigned *counts =
        reinterpret_cast<unsigned *>(logits + HEAD_BLOCK * head_pitch(h.classes));
    float *z = logits + (int)threadIdx.x * head_pitch(h.classes), v[HEAD_CHANNELS];
    int cells = matrix ? h.classes * h.classes : 0;
    double sum = 0;

    for (int i = (int)threadIdx.x; i < cells; i += HEAD_BLOCK)
        counts[i] = 0;
    head_load_weights(h, w); /* ends with a barrier */
    for (int tile = (int)blockIdx.x; tile < h.tiles; tile += (int)gridDim.x) {
        head_pixel s = head_pixel_of(h, tile);

        if (!s.valid)
            continue;
        head_logits(h, s, w, v, z);

        int label = head_label_of(h, s);
        float weight = cw.value[label];

        if (weight > 0)
            sum += (double)weight * (double)(log_sum_exp<1>(z, h.classes) - z[label]);
        if (cells && label != ignore && label < h.classes)
            atomicAdd(&counts[label * h.classes + largest<1>(z, h.classes)], 1u);
    }
    sum = block_sum<HEAD_BLOCK>(sum, sums); /* contains barriers */
    if (threadIdx.x == 0)
        loss[blockIdx.x] = sum;
    for (int i = (int)threadIdx.x; i < cells; i += HEAD_BLOCK)
        if (counts[i])
            atomicAdd(&matrix[i], (unsigned long long)counts[i]);
}

/* ---- claim ---- */

struct head_state {
    head_reads in;
    const struct node *up, *loss;
    int ignore;
    const struct confusion_attrs *counts; /* of the confusion node, or NULL */
    int mean, metrics, matrix;            /* indices of writes, or -1 */
};

static int forward_blocks(const struct device *dev, const struct tensor *x,
                          int64_t classes)
{
    return head_blocks(dev, x, classes <= HEAD_FEW_CLASSES ? 8 : 6);
}

static void take_forward(struct region *r, head_state *st, const head_parts *p,
                         struct device *dev)
{
    int64_t classes = p->z->dim[IMAGE_C];
    int64_t doubles = head_label_doubles(p->x) + forward_blocks(dev, p->x, classes);
    struct node *const all[] = {p->up, p->z_cast, p->loss, p->confusion};

    for (struct node *n : all)
        if (n)
            region_claim(r, n);
    st->up = p->up;
    st->loss = p->loss;
    st->in = head_read(r, p, p->loss->in[CROSS_ENTROPY2D_LABELS]);
    st->mean = region_write(r, p->loss->out[0]);
    st->metrics = st->matrix = -1;
    if (p->confusion) {
        st->counts = (const struct confusion_attrs *)p->confusion->attrs;
        st->ignore = st->counts->ignore;
        st->metrics = region_write(r, p->confusion->out[CONFUSION_METRICS]);
        st->matrix = region_write(r, p->confusion->out[CONFUSION_MATRIX]);
    }
    region_workspace(r, (size_t)doubles * sizeof(double) +
                            (size_t)(classes * classes) * sizeof(int64_t));
}

/* True if loss and confusion can be fused with the layer. */
static bool all_free(const head_parts *p)
{
    const struct node *c = p->confusion;

    return node_free(p->loss) && (!c || node_free(c)) &&
           (!p->z_cast || node_free(p->z_cast)) && !p->z->claimed_reads &&
           !p->up->out[0]->claimed_reads && (!p->grad || !node_free(p->grad)) &&
           (!c || (c->in[CONFUSION_LOSS] == p->loss->out[0] &&
                   c->in[CONFUSION_LABELS] == p->loss->in[CROSS_ENTROPY2D_LABELS]));
}

static const char *head_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    head_parts p;

    if (n->op != &op_cross_entropy2d && n->op != &op_confusion)
        return "not the loss of pixels";
    if (!head_find(&p, g, head_of_logits(n->in[0])))
        return head_not_found;
    if (!all_free(&p))
        return "another node reads the logits";
    take_forward(r, (head_state *)region_state(r), &p, dev);
    return nullptr;
}

/* ---- launch ---- */

template <class T>
static void run_forward(struct step *s, struct device *dev, const class_weights &cw,
                        int classes)
{
    const head_state *st = (const head_state *)s->state;
    const struct tensor *x = s->in_tensor[st->in.x];
    head<T> h = head_of<T>(s, st->in, classes);
    int blocks = forward_blocks(dev, x, classes);
    double *total = (double *)s->workspace, *loss = total + head_label_doubles(x);
    unsigned long long *matrix =
        st->metrics < 0 ? nullptr : (unsigned long long *)(loss + blocks);
    /* The loss is not stored if only the confusion reads it; it then overwrites its
     * partial sums. */
    float *mean = s->out[st->mean] ? (float *)s->out[st->mean] : (float *)loss;
    int shared =
        head_weights_len(classes) + HEAD_BLOCK * head_pitch(classes) + classes * classes;

    label_weights(dev, h.label, h.pixels * HEAD_TAPS, cw, total);
    if (matrix)
        confusion_begin(dev, matrix, classes);
    LAUNCH(dev, head_forward<T>, (unsigned)blocks, HEAD_BLOCK,
           (size_t)shared * sizeof(float), h, cw, loss, st->ignore, matrix);
    loss_mean(dev, loss, blocks, total, mean);
    if (matrix)
        confusion_end(dev, matrix, classes, st->counts, mean,
                      (struct metrics *)s->out[st->metrics],
                      (int64_t *)s->out[st->matrix]);
}

static void head_run(struct step *s, struct device *dev)
{
    const head_state *st = (const head_state *)s->state;
    int classes = (int)st->up->out[0]->dim[IMAGE_C];
    class_weights cw =
        class_weights_of((const struct cross_entropy2d_attrs *)st->loss->attrs, classes);

    WITH_DTYPE(s->in_tensor[st->in.x]->dtype, T, run_forward<T>(s, dev, cw, classes));
}

extern const struct kernel cuda_head = {
    .name = "cuda head",
    .claim = head_claim,
    .run = head_run,
    .state_size = sizeof(head_state),
};
