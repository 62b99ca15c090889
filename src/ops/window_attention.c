#include "ops/window_attention.h"

#include <math.h>

#include "graph/autodiff.h"
#include "ops/dropout.h"
#include "ops/image.h"
#include "ops/state.h"
#include "ops/window_attention_ref.h"

static const struct attr window_attention_attr_table[] = {
    ATTR_INT(struct window_attention_attrs, heads, 1, 1 << 16, "heads"),
    ATTR_INT(struct window_attention_attrs, window_h, 1, 1 << 20, "height of a window"),
    ATTR_INT(struct window_attention_attrs, window_w, 1, 1 << 20, "width of a window"),
    ATTR_INT(struct window_attention_attrs, shift_h, 0, 1 << 20, "rows of the roll"),
    ATTR_INT(struct window_attention_attrs, shift_w, 0, 1 << 20, "columns of the roll"),
    ATTR_FLOAT(struct window_attention_attrs, scale, 1e-6, 1e6, "of the scores"),
    ATTR_FLOAT(struct window_attention_attrs, dropout, 0, 0.999, "share of weights"),
    {0},
};

enum { OPTIONS = WINDOW_ATTENTION_OPTIONS };

static int count(int has)
{
    int n = 0;

    for (int o = 0; o < OPTIONS; o++)
        n += has >> o & 1;
    return n;
}

int window_attention_slot(const struct node *n, enum window_attention_option o)
{
    const struct window_attention_attrs *a = n->attrs;
    int first =
        n->op == &op_window_attention ? WINDOW_ATTENTION_IN : WINDOW_ATTENTION_GRAD_IN;

    return a->has >> o & 1 ? first + count(a->has & ((1 << o) - 1)) : -1;
}

/* Replaces zeros by defaults; indivisible sizes are refused by the shape function. */
static void resolve(struct builder *b, const struct tensor *qkv,
                    struct window_attention_attrs *r)
{
    bool map = qkv->ndim == 4;

    if (r->heads == 0)
        r->heads = 1;
    if (r->window_h == 0 && map)
        r->window_h = (int)qkv->dim[1];
    if (r->window_w == 0 && map)
        r->window_w = (int)qkv->dim[2];
    if (r->scale == 0 && map && r->heads > 0)
        r->scale = (float)(1 / sqrt((double)qkv->dim[3] / 3 / r->heads));
    if (!b->g->training)
        r->dropout = 0;
    r->salt = dropout_salt(r->layer);
    r->share = share_of(b->g);
}

struct tensor *window_attention_(struct builder *b, struct tensor *qkv,
                                 const struct window_attention_attrs *a)
{
    struct window_attention_attrs r = *a;
    struct tensor *option[OPTIONS] = {
        [WINDOW_ATTENTION_TABLE] = r.table,
        [WINDOW_ATTENTION_LOGIT_SCALE] = r.logit_scale,
        [WINDOW_ATTENTION_PAD] = r.pad,
    };
    struct tensor *in[WINDOW_ATTENTION_IN + OPTIONS] = {qkv};
    int nin = WINDOW_ATTENTION_IN;

    resolve(b, qkv, &r);
    if (r.dropout > 0)
        option[WINDOW_ATTENTION_CONTROL] = control_tensor(b);
    r.has = 0;
    r.table = r.logit_scale = r.pad = NULL;
    for (int o = 0; o < OPTIONS; o++)
        if (option[o]) {
            r.has |= 1 << o;
            in[nin++] = option[o];
        }
    return node(b, &op_window_attention, r.layer, &r, in, nin);
}

/* ---- shapes ---- */

struct window_attention_size window_attention_size(const struct node *n)
{
    const struct window_attention_attrs *a = n->attrs;
    const int64_t *dim = n->in[WINDOW_ATTENTION_QKV]->dim;
    struct window_attention_size s = {
        .grid = {.height = (int)dim[1],
                 .width = (int)dim[2],
                 .window_h = a->window_h,
                 .window_w = a->window_w,
                 .roll_h = a->shift_h,
                 .roll_w = a->shift_w},
        .images = dim[0],
        .pixels = dim[1] * dim[2],
        .heads = a->heads,
        .channels = (int)(dim[3] / 3),
    };

    s.grid.rows = (s.grid.height + a->window_h - 1) / a->window_h;
    s.grid.columns = (s.grid.width + a->window_w - 1) / a->window_w;
    s.head = s.channels / s.heads;
    s.windows = window_grid_windows(&s.grid);
    s.tokens = window_grid_tokens(&s.grid);
    return s;
}

static const char *check_map(const struct node *n)
{
    const struct window_attention_attrs *a = n->attrs;
    const struct tensor *qkv = n->in[WINDOW_ATTENTION_QKV];
    const int64_t *dim = qkv->dim, features = 3 * (int64_t)a->heads;

    if (qkv->layout != LAYOUT_PLAIN || qkv->ndim != 4)
        return "qkv must be tokens [B,H,W,3C]";
    if (dim[3] % features)
        return "the features are not 3 times a multiple of the heads";
    if (dim[3] / features > WINDOW_ATTENTION_HEAD)
        return "a head of more than 256 features";
    if (dim[1] * dim[2] > 1 << 24)
        return "a map of more than 2^24 tokens";
    if (a->shift_h >= a->window_h || a->shift_w >= a->window_w || a->shift_h >= dim[1] ||
        a->shift_w >= dim[2])
        return "the shift must be less than the window and the map";
    if ((int64_t)a->window_h * a->window_w > WINDOW_ATTENTION_TOKENS)
        return "a window of more than 4096 tokens";
    return NULL;
}

static const char *check_options(const struct node *n)
{
    const struct window_attention_size s = window_attention_size(n);
    int table = window_attention_slot(n, WINDOW_ATTENTION_TABLE);
    int logit = window_attention_slot(n, WINDOW_ATTENTION_LOGIT_SCALE);
    int pad = window_attention_slot(n, WINDOW_ATTENTION_PAD);
    const int64_t *dim;

    if (table >= 0) {
        dim = n->in[table]->dim;
        if (n->in[table]->ndim != 2 || dim[0] != window_grid_offsets(&s.grid) ||
            dim[1] != s.heads)
            return "the table must be (2 window_h - 1)(2 window_w - 1) x heads";
    }
    if (logit >= 0) {
        dim = n->in[logit]->dim;
        if (n->in[logit]->ndim != 3 || dim[0] != s.heads || dim[1] != 1 || dim[2] != 1)
            return "logit_scale must be heads x 1 x 1";
    }
    if (pad >= 0 && !tensor_is_vector(n->in[pad], 3 * (int64_t)s.channels))
        return "pad must have a number for each feature of qkv";
    return NULL;
}

static const char *window_attention_shape(struct node *n)
{
    const struct window_attention_attrs *a = n->attrs;
    const int64_t *dim = n->in[WINDOW_ATTENTION_QKV]->dim;
    const char *why = check_map(n);

    why = why ? why : check_options(n);
    if (why)
        return why;
    tensor_plain(n->out[WINDOW_ATTENTION_Y], DTYPE_F32, 4,
                 (const int64_t[]){dim[0], dim[1], dim[2], dim[3] / 3});
    tensor_plain(n->out[WINDOW_ATTENTION_LSE], DTYPE_F32, 4,
                 (const int64_t[]){dim[0], dim[1], dim[2], a->heads});
    return NULL;
}

static const char *window_attention_grad_shape(struct node *n)
{
    static const enum window_attention_option option[] = {
        [WINDOW_ATTENTION_GRAD_DTABLE] = WINDOW_ATTENTION_TABLE,
        [WINDOW_ATTENTION_GRAD_DLOGIT_SCALE] = WINDOW_ATTENTION_LOGIT_SCALE,
        [WINDOW_ATTENTION_GRAD_DPAD] = WINDOW_ATTENTION_PAD,
    };
    const int64_t one = 1;

    tensor_like(n->out[WINDOW_ATTENTION_GRAD_DQKV], n->in[WINDOW_ATTENTION_GRAD_QKV]);
    for (int i = WINDOW_ATTENTION_GRAD_DTABLE; i < WINDOW_ATTENTION_GRAD_OUT; i++) {
        int slot = window_attention_slot(n, option[i]);

        if (slot >= 0)
            tensor_like(n->out[i], n->in[slot]);
        else
            tensor_plain(n->out[i], DTYPE_F32, 1, &one);
    }
    return NULL;
}

static void window_attention_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[WINDOW_ATTENTION_GRAD_IN + OPTIONS] = {
        [WINDOW_ATTENTION_GRAD_QKV] = n->in[WINDOW_ATTENTION_QKV],
        [WINDOW_ATTENTION_GRAD_DY] = grad_of(b, n->out[WINDOW_ATTENTION_Y]),
        [WINDOW_ATTENTION_GRAD_LSE] = n->out[WINDOW_ATTENTION_LSE],
    };
    int nin = WINDOW_ATTENTION_GRAD_IN;
    struct tensor **d;

    for (int i = WINDOW_ATTENTION_IN; i < n->nin; i++)
        in[nin++] = n->in[i];
    d = node(b, &op_window_attention_grad, n->layer, n->attrs, in, nin)->producer->out;
    grad_add(b, n->in[WINDOW_ATTENTION_QKV], d[WINDOW_ATTENTION_GRAD_DQKV]);
    for (int o = 0; o < WINDOW_ATTENTION_CONTROL; o++) {
        int slot = window_attention_slot(n, (enum window_attention_option)o);

        if (slot >= 0 && grad_wanted(n->in[slot]))
            grad_add(b, n->in[slot], d[WINDOW_ATTENTION_GRAD_DTABLE + o]);
    }
}

/* ---- counts: padded tokens are computed, too ---- */

static int64_t scores(const struct node *n)
{
    const struct window_attention_size s = window_attention_size(n);

    return s.images * s.windows * s.heads * s.tokens * s.tokens;
}

/* q k^T and a v */
static int64_t window_attention_macs(const struct node *n)
{
    return 2 * scores(n) * window_attention_size(n).head;
}

static int64_t window_attention_acts(const struct node *n)
{
    return scores(n) + tensor_len(n->out[WINDOW_ATTENTION_Y]);
}

/* bias, maximum, exponential, sum, and division of each score */
static int64_t window_attention_flops(const struct node *n)
{
    return 2 * window_attention_macs(n) + 5 * scores(n);
}

/* q k^T, dy v^T, a^T dy, ds k and ds^T q; bias, exponential, sum, ds, gradient of bias */
static int64_t window_attention_grad_flops(const struct node *n)
{
    return 5 * window_attention_macs(n) + 7 * scores(n);
}

const struct op op_window_attention = {
    .name = "window_attention",
    .attrs = window_attention_attr_table,
    .attrs_size = sizeof(struct window_attention_attrs),
    .nout = 2,
    .precision = PRECISION_HALF,
    .f32_in = ((1u << OPTIONS) - 1) << WINDOW_ATTENTION_IN,
    .f32_out = 1u << WINDOW_ATTENTION_LSE,
    .shape = window_attention_shape,
    .grad = window_attention_grad,
    .flops = window_attention_flops,
    .macs = window_attention_macs,
    .acts = window_attention_acts,
    .ref = window_attention_ref,
    .ref_scratch = window_attention_scratch,
};

const struct op op_window_attention_grad = {
    .name = "window_attention_grad",
    .attrs = window_attention_attr_table,
    .attrs_size = sizeof(struct window_attention_attrs),
    .nout = WINDOW_ATTENTION_GRAD_OUT,
    .precision = PRECISION_HALF,
    .f32_in = 1u << WINDOW_ATTENTION_GRAD_LSE | ((1u << OPTIONS) - 1)
                                                    << WINDOW_ATTENTION_GRAD_IN,
    .f32_out = ((1u << WINDOW_ATTENTION_GRAD_OUT) - 2),
    .shape = window_attention_grad_shape,
    .flops = window_attention_grad_flops,
    .ref = window_attention_grad_ref,
    .ref_scratch = window_attention_scratch,
};
