/* Patch merging, prepended tokens, added positions, and multiples. */
#include "cases/case_build.h"
#include "ops/concat.h"
#include "ops/expr.h"
#include "ops/patch_merge.h"
#include "ops/position.h"
#include "ops/tokens.h"

static struct tensor *tokens(struct case_build *c, const struct case_size *s)
{
    return case_tensor(c, "x", DTYPE_F32, LAYOUT_PLAIN, s->dim[3] ? 4 : 3, s->dim,
                       CASE_SIGNED);
}

void case_scale_by(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    (void)row;
    case_output(c, expr_scale_by(c->b, tokens(c, s), 0.75f, "scale_by"));
}

void case_patch_merge(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    (void)row;
    case_output(c, patch_merge(c->b, tokens(c, s), "downsample"));
}

/* `out` tokens in front, or one. */
void case_prepend_token(struct case_build *c, const struct op_case *row,
                        const struct case_size *s)
{
    struct tensor *x = tokens(c, s);
    int64_t dim[] = {1, s->out ? s->out : 1, s->dim[2]};

    (void)row;
    case_output(c, prepend_token(c->b, x,
                                 graph_param(c->b, "net", "cls_token", LAYOUT_PLAIN, 3,
                                             dim, (struct init){0}),
                                 "cls"));
}

/* `out` tokens, after the first. */
void case_slice_tokens(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    (void)row;
    case_output(c, slice_tokens(c->b, tokens(c, s), 1, s->out, "slice"));
}

/* Channels [1, 1 + out) of an image. */
void case_slice(struct case_build *c, const struct op_case *row,
                const struct case_size *s)
{
    struct slice_attrs a = {.layer = "slice", .axis = 1, .first = 1, .len = s->out};
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);

    (void)row;
    case_output(c, node(c->b, &op_slice, "slice", &a, &x, 1));
}

void case_select_token(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    (void)row;
    case_output(c, select_token(c->b, tokens(c, s), s->out, "select"));
}

/* As in vision transformers, or as in Swin: height and width joined. */
void case_add_position(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct tensor *x = tokens(c, s);
    int64_t c0 = x->dim[x->ndim - 1], dim[] = {1, tensor_len(x) / x->dim[0] / c0, c0};

    (void)row;
    case_output(c, add_position(c->b, x,
                                graph_param(c->b, "net", "pos_embed", LAYOUT_PLAIN, 3,
                                            dim, (struct init){0}),
                                "pos"));
}
