/*
 * resample: Resize, whose attributes say what PyTorch's modes do. What opset 17 cannot say
 * (antialias, positions by a factor) is a product with the matrix of taps of each axis.
 */
#include "ops/resample.h"
#include "onnx/convert.h"
#include "ops/image.h"
#include "ops/separable.h"

static const char *resize(struct convert *c, const struct resample_attrs *a,
                          const char *x)
{
    static const char *const mode[RESAMPLE_MODES] = {"linear", "cubic", "nearest",
                                                     "nearest"};
    bool nearest = a->mode == RESAMPLE_NEAREST;
    const char *sizes = onnx_node(c->x, "Shape", ONNX_IN(x)), *y;

    onnx_int(c->x, "end", 2);
    sizes = convert_concat(
        c, 0, ONNX_IN(sizes, onnx_int64s(c->x, CONVERT_DIMS(a->out_h, a->out_w))));
    y = onnx_node(c->x, "Resize", ONNX_IN(x, "", "", sizes));
    onnx_string(c->x, "mode", mode[a->mode]);
    onnx_string(c->x, "coordinate_transformation_mode",
                a->align_corners ? "align_corners"
                : nearest        ? "asymmetric"
                                 : "half_pixel");
    if (nearest || a->mode == RESAMPLE_NEAREST_EXACT)
        onnx_string(c->x, "nearest_mode", nearest ? "floor" : "round_prefer_ceil");
    if (a->mode == RESAMPLE_BICUBIC)
        onnx_float(c->x, "cubic_coeff_a", -0.75f);
    return y;
}

/* Returns the matrix [out, in] of taps, or [in, out]. */
static const char *matrix(struct convert *c, struct resample_taps t, int64_t in,
                          bool transposed, const char *name)
{
    float *m = arena_new(c->mem, (size_t)(t.n * in) * sizeof(*m));
    int64_t dim[] = {transposed ? in : t.n, transposed ? t.n : in};

    for (int64_t o = 0; o < t.n; o++)
        for (int k = 0; k < t.count[o]; k++) {
            int64_t i = t.first[o] + k;

            m[transposed ? i * t.n + o : o * in + i] = t.weight[o * t.width + k];
        }
    resample_taps_release(&t);
    return onnx_tensor(c->x, name, ONNX_FLOAT, 2, dim, m);
}

const char *convert_separable(struct convert *c, const struct node *n)
{
    const struct tensor *x = n->in[0];
    const char *rows = arena_printf(c->mem, "%s.rows", n->layer);
    const char *columns = arena_printf(c->mem, "%s.columns", n->layer);

    columns = matrix(c, separable_taps(n, IMAGE_W), x->dim[IMAGE_W], true, columns);
    rows = matrix(c, separable_taps(n, IMAGE_H), x->dim[IMAGE_H], false, rows);
    return onnx_node(
        c->x, "MatMul",
        ONNX_IN(rows, onnx_node(c->x, "MatMul", ONNX_IN(convert_value(c, x), columns))));
}

const char *convert_resample(struct convert *c, const struct node *n)
{
    const struct resample_attrs *a = n->attrs;

    if (a->antialias || a->scale_h > 0 || a->scale_w > 0)
        return convert_separable(c, n);
    return resize(c, a, convert_value(c, n->in[RESAMPLE_X]));
}
