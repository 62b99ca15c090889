#include "ops/window_mix.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr window_mix_attr_table[] = {
    ATTR_INT(struct window_mix_attrs, heads, 1, 1 << 16, "heads"),
    ATTR_INT(struct window_mix_attrs, window_h, 1, 4096, "height of a window"),
    ATTR_INT(struct window_mix_attrs, window_w, 1, 4096, "width of a window"),
    ATTR_INT(struct window_mix_attrs, shift, 0, 4096, "how far windows are shifted"),
    {0},
};

struct tensor *window_mix_(struct builder *b, struct tensor *x,
                           const struct window_mix_attrs *a)
{
    struct window_mix_attrs r = *a;
    struct init normal = {INIT_NORMAL, 0.02f}, zero = {INIT_ZERO, 0};
    struct tensor *in[3] = {[WINDOW_MIX_X] = x};
    int64_t tokens, rows;

    if (r.heads == 0)
        r.heads = 1;
    if (r.window_h == 0 && x->ndim == 4)
        r.window_h = (int)x->dim[1];
    if (r.window_w == 0 && x->ndim == 4)
        r.window_w = (int)x->dim[2];
    tokens = (int64_t)r.window_h * r.window_w;
    rows = r.heads * tokens;
    in[WINDOW_MIX_WEIGHT] = graph_param(b, r.layer, "weight", LAYOUT_PLAIN, 3,
                                        (const int64_t[]){rows, tokens, 1}, normal);
    in[WINDOW_MIX_BIAS] = graph_param(b, r.layer, "bias", LAYOUT_PLAIN, 1, &rows, zero);
    return node(b, &op_window_mix, r.layer, &r, in, 3);
}

struct window_mix_size window_mix_size(const struct window_mix_attrs *a,
                                       const struct tensor *map)
{
    const int64_t *dim = map->dim;
    struct window_mix_size s = {
        .grid = {.height = (int)dim[1],
                 .width = (int)dim[2],
                 .window_h = a->window_h,
                 .window_w = a->window_w,
                 .pad_top = a->shift ? a->window_h - a->shift : 0,
                 .pad_left = a->shift ? a->window_w - a->shift : 0,
                 .rows = (int)dim[1] / a->window_h + (a->shift > 0),
                 .columns = (int)dim[2] / a->window_w + (a->shift > 0)},
        .images = dim[0],
        .pixels = dim[1] * dim[2],
        .heads = a->heads,
        .head = (int)dim[3] / a->heads,
        .channels = (int)dim[3],
    };

    s.windows = window_grid_windows(&s.grid);
    s.tokens = window_grid_tokens(&s.grid);
    return s;
}

static const char *check_map(const struct window_mix_attrs *a, const struct tensor *map)
{
    if (map->layout != LAYOUT_PLAIN || map->ndim != 4)
        return "x must be tokens [B,H,W,C]";
    if (map->dim[3] % a->heads)
        return "the features are not a multiple of the heads";
    if (map->dim[1] * map->dim[2] > 1 << 24)
        return "a map of more than 2^24 tokens";
    if (map->dim[1] % a->window_h || map->dim[2] % a->window_w)
        return "the map is not whole windows";
    if (a->shift >= a->window_h || a->shift >= a->window_w)
        return "the shift must be less than the window";
    return NULL;
}

static const char *check_weight(const struct window_mix_attrs *a, const struct tensor *w)
{
    int64_t tokens = (int64_t)a->window_h * a->window_w;

    if (w->ndim != 3 || w->dim[0] != a->heads * tokens || w->dim[1] != tokens ||
        w->dim[2] != 1)
        return "the weights do not fit";
    return NULL;
}

static const char *window_mix_shape(struct node *n)
{
    const struct window_mix_attrs *a = n->attrs;
    const struct tensor *x = n->in[WINDOW_MIX_X], *w = n->in[WINDOW_MIX_WEIGHT];
    const char *why = check_map(a, x);

    why = why ? why : check_weight(a, w);
    if (why)
        return why;
    if (!tensor_is_vector(n->in[WINDOW_MIX_BIAS], w->dim[0]))
        return "the bias does not fit";
    tensor_like(n->out[0], x);
    return NULL;
}

static void window_mix_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[WINDOW_MIX_X], *w = n->in[WINDOW_MIX_WEIGHT];
    struct tensor *bias = n->in[WINDOW_MIX_BIAS], *dy = grad_of(b, n->out[0]);
    struct tensor *for_x[] = {
        [WINDOW_MIX_DATA_GRAD_WEIGHT] = w, [WINDOW_MIX_DATA_GRAD_DY] = dy};
    struct tensor *for_w[] = {
        [WINDOW_MIX_WEIGHT_GRAD_X] = x, [WINDOW_MIX_WEIGHT_GRAD_DY] = dy};

    if (grad_wanted(w) || grad_wanted(bias)) {
        struct node *g =
            node(b, &op_window_mix_weight_grad, n->layer, n->attrs, for_w, 2)->producer;

        grad_add(b, w, g->out[WINDOW_MIX_WEIGHT_GRAD_DW]);
        grad_add(b, bias, g->out[WINDOW_MIX_WEIGHT_GRAD_DB]);
    }
    if (grad_wanted(x))
        grad_add(b, x, node(b, &op_window_mix_data_grad, n->layer, n->attrs, for_x, 2));
}

/* Includes padded tokens, which are computed, too. */
static int64_t macs_of(const struct node *n, const struct tensor *map)
{
    const struct window_mix_size s = window_mix_size(n->attrs, map);

    return s.images * s.windows * s.tokens * s.tokens * s.channels;
}

static int64_t window_mix_macs(const struct node *n)
{
    return macs_of(n, n->in[WINDOW_MIX_X]);
}

static int64_t window_mix_acts(const struct node *n)
{
    const struct window_mix_size s = window_mix_size(n->attrs, n->in[WINDOW_MIX_X]);

    return s.images * s.windows * s.tokens * s.channels;
}

static int64_t window_mix_flops(const struct node *n)
{
    return 2 * window_mix_macs(n) + tensor_len(n->out[0]);
}

/* Returns the offset on the map of token t of a window, with all features; -1: padding. */
static int64_t token_at(const struct window_mix_size *s, int64_t image, int window, int t)
{
    int p = window_grid_pixel(&s->grid, window, t);

    return p < 0 ? -1 : (image * s->pixels + p) * s->channels;
}

/* Adds W x of one window, or W^T x, to y, without the bias. */
static void mix_window(const struct window_mix_size *s, int64_t image, int window,
                       const float *w, bool transposed, const float *x, double *y)
{
    int n = s->tokens;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int64_t src = token_at(s, image, window, j);

            for (int c = 0; c < s->channels && src >= 0; c++) {
                int64_t first = (int64_t)(c / s->head) * n;

                y[i * s->channels + c] +=
                    (double)x[src + c] *
                    (transposed ? w[(first + j) * n + i] : w[(first + i) * n + j]);
            }
        }
}

/* Mixes all windows; y is one window in the scratch. bias may be NULL. */
static void mix_map(const struct step *s, const struct window_mix_size *z, const float *w,
                    bool transposed, const float *x, const float *bias, float *dst)
{
    double *y = s->workspace;

    for (int64_t image = 0; image < z->images; image++)
        for (int window = 0; window < z->windows; window++) {
            for (int i = 0; i < z->tokens * z->channels; i++)
                y[i] = bias
                           ? bias[i % z->channels / z->head * z->tokens + i / z->channels]
                           : 0;
            mix_window(z, image, window, w, transposed, x, y);
            for (int i = 0; i < z->tokens; i++) {
                int64_t pos = token_at(z, image, window, i);

                for (int c = 0; c < z->channels && pos >= 0; c++)
                    dst[pos + c] = (float)y[i * z->channels + c];
            }
        }
}

static void window_mix_ref(const struct step *s)
{
    const struct window_mix_size z =
        window_mix_size(s->node->attrs, s->node->in[WINDOW_MIX_X]);

    mix_map(s, &z, s->in[WINDOW_MIX_WEIGHT], false, s->in[WINDOW_MIX_X],
            s->in[WINDOW_MIX_BIAS], s->out[0]);
}

static size_t window_mix_scratch(const struct node *n)
{
    const struct window_mix_size z = window_mix_size(n->attrs, n->out[0]);

    return (size_t)z.tokens * (size_t)z.channels * sizeof(double);
}

const struct op op_window_mix = {
    .name = "window_mix",
    .attrs = window_mix_attr_table,
    .attrs_size = sizeof(struct window_mix_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_in = 1u << WINDOW_MIX_BIAS,
    .shape = window_mix_shape,
    .grad = window_mix_grad,
    .flops = window_mix_flops,
    .macs = window_mix_macs,
    .acts = window_mix_acts,
    .ref = window_mix_ref,
    .ref_scratch = window_mix_scratch,
};

static const char *window_mix_data_grad_shape(struct node *n)
{
    const struct window_mix_attrs *a = n->attrs;
    const char *why = check_map(a, n->in[WINDOW_MIX_DATA_GRAD_DY]);

    tensor_like(n->out[0], n->in[WINDOW_MIX_DATA_GRAD_DY]);
    return why ? why : check_weight(a, n->in[WINDOW_MIX_DATA_GRAD_WEIGHT]);
}

static int64_t window_mix_data_grad_flops(const struct node *n)
{
    return 2 * macs_of(n, n->in[WINDOW_MIX_DATA_GRAD_DY]);
}

/* dx = W^T dy */
static void window_mix_data_grad_ref(const struct step *s)
{
    const struct window_mix_size z =
        window_mix_size(s->node->attrs, s->node->in[WINDOW_MIX_DATA_GRAD_DY]);

    mix_map(s, &z, s->in[WINDOW_MIX_DATA_GRAD_WEIGHT], true,
            s->in[WINDOW_MIX_DATA_GRAD_DY], NULL, s->out[0]);
}

const struct op op_window_mix_data_grad = {
    .name = "window_mix_data_grad",
    .attrs = window_mix_attr_table,
    .attrs_size = sizeof(struct window_mix_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .shape = window_mix_data_grad_shape,
    .flops = window_mix_data_grad_flops,
    .ref = window_mix_data_grad_ref,
    .ref_scratch = window_mix_scratch,
};

static const char *window_mix_weight_grad_shape(struct node *n)
{
    const struct window_mix_attrs *a = n->attrs;
    const struct tensor *x = n->in[WINDOW_MIX_WEIGHT_GRAD_X];
    int64_t tokens = (int64_t)a->window_h * a->window_w, rows = a->heads * tokens;

    tensor_plain(n->out[WINDOW_MIX_WEIGHT_GRAD_DW], DTYPE_F32, 3,
                 (const int64_t[]){rows, tokens, 1});
    tensor_plain(n->out[WINDOW_MIX_WEIGHT_GRAD_DB], DTYPE_F32, 1, &rows);
    if (!tensor_same(x, n->in[WINDOW_MIX_WEIGHT_GRAD_DY]))
        return "x and dy differ";
    return check_map(a, x);
}

static int64_t window_mix_weight_grad_flops(const struct node *n)
{
    const struct tensor *x = n->in[WINDOW_MIX_WEIGHT_GRAD_X];

    return 2 * macs_of(n, x) + tensor_len(x);
}

/* Sums dy_i x_j, or dy_i if j < 0, over images, windows, and the head's features. */
static double pair_sum(const struct step *s, const struct window_mix_size *z, int head,
                       int i, int j)
{
    const float *x = s->in[WINDOW_MIX_WEIGHT_GRAD_X];
    const float *dy = s->in[WINDOW_MIX_WEIGHT_GRAD_DY];
    double sum = 0;

    for (int64_t image = 0; image < z->images; image++)
        for (int window = 0; window < z->windows; window++) {
            int64_t dst = token_at(z, image, window, i);
            int64_t src = j < 0 ? 0 : token_at(z, image, window, j);

            if (dst < 0 || src < 0)
                continue;
            for (int c = head * z->head; c < (head + 1) * z->head; c++)
                sum += j < 0 ? (double)dy[dst + c] : (double)dy[dst + c] * x[src + c];
        }
    return sum;
}

static void window_mix_weight_grad_ref(const struct step *s)
{
    const struct window_mix_size z =
        window_mix_size(s->node->attrs, s->node->in[WINDOW_MIX_WEIGHT_GRAD_X]);
    float *dw = s->out[WINDOW_MIX_WEIGHT_GRAD_DW],
          *db = s->out[WINDOW_MIX_WEIGHT_GRAD_DB];
    int n = z.tokens;

    for (int r = 0; r < z.heads * n; r++) {
        for (int j = 0; j < n; j++)
            dw[r * n + j] = (float)pair_sum(s, &z, r / n, r % n, j);
        db[r] = (float)pair_sum(s, &z, r / n, r % n, -1);
    }
}

const struct op op_window_mix_weight_grad = {
    .name = "window_mix_weight_grad",
    .attrs = window_mix_attr_table,
    .attrs_size = sizeof(struct window_mix_attrs),
    .nout = WINDOW_MIX_WEIGHT_GRAD_OUT,
    .precision = PRECISION_HALF,
    .f32_out = 3,
    .shape = window_mix_weight_grad_shape,
    .flops = window_mix_weight_grad_flops,
    .ref = window_mix_weight_grad_ref,
};
