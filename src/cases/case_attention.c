/* The build functions of cases/rows_attention.c. */
#include "cases/case_build.h"

#include "ops/cpb_table.h"
#include "ops/qkv_bias.h"
#include "ops/window_attention.h"
#include "ops/window_mix.h"

/* dim is that of qkv; out is the number of heads. */
static struct window_attention_attrs begin(struct case_build *c,
                                           const struct op_case *row,
                                           const struct case_size *s, struct tensor **qkv)
{
    struct window_attention_attrs a = *(const struct window_attention_attrs *)row->attrs;

    a.layer = "attn";
    a.heads = s->out;
    *qkv = case_tensor(c, "qkv", DTYPE_F32, LAYOUT_PLAIN, 4, s->dim, CASE_SIGNED);
    return a;
}

static void add_table(struct case_build *c, const struct case_size *s,
                      struct window_attention_attrs *a)
{
    int64_t table[] = {(2 * a->window_h - 1) * (2 * a->window_w - 1), a->heads};

    a->table = case_tensor(c, "table", DTYPE_F32, LAYOUT_PLAIN, 2, table, CASE_SIGNED);
    a->pad = case_tensor(c, "pad", DTYPE_F32, LAYOUT_PLAIN, 1, &s->dim[3], CASE_SIGNED);
}

void case_attention(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct tensor *qkv;
    struct window_attention_attrs a = begin(c, row, s, &qkv);

    case_output(c, window_attention_(c->b, qkv, &a));
}

/* Swin's attention. */
void case_window_attention(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    struct tensor *qkv;
    struct window_attention_attrs a = begin(c, row, s, &qkv);

    add_table(c, s, &a);
    case_output(c, window_attention_(c->b, qkv, &a));
}

/* Swin's attention without biases: padding is zeros. */
void case_unbiased_attention(struct case_build *c, const struct op_case *row,
                             const struct case_size *s)
{
    struct tensor *qkv;
    struct window_attention_attrs a = begin(c, row, s, &qkv);

    case_output(c, window_attention_(c->b, qkv, &a));
}

static void add_scale(struct case_build *c, struct window_attention_attrs *a)
{
    int64_t heads[] = {a->heads, 1, 1};

    a->logit_scale =
        case_tensor(c, "logit_scale", DTYPE_F32, LAYOUT_PLAIN, 3, heads, CASE_SIGNED);
}

/* SwinV2's attention. */
void case_cosine_attention(struct case_build *c, const struct op_case *row,
                           const struct case_size *s)
{
    struct tensor *qkv;
    struct window_attention_attrs a = begin(c, row, s, &qkv);

    add_table(c, s, &a);
    add_scale(c, &a);
    case_output(c, window_attention_(c->b, qkv, &a));
}

/* Same without biases: padding has no direction. */
void case_unbiased_cosine_attention(struct case_build *c, const struct op_case *row,
                                    const struct case_size *s)
{
    struct tensor *qkv;
    struct window_attention_attrs a = begin(c, row, s, &qkv);

    add_scale(c, &a);
    case_output(c, window_attention_(c->b, qkv, &a));
}

/* Depends only on weights: no inputs. */
void case_cpb_table(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct cpb_table_attrs a = *(const struct cpb_table_attrs *)row->attrs;

    a.layer = "cpb_mlp";
    a.heads = s->out;
    case_output(c, cpb_table_(c->b, &a));
}

void case_qkv_bias(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    struct tensor *q =
        case_tensor(c, "q", DTYPE_F32, LAYOUT_PLAIN, 1, s->dim, CASE_SIGNED);
    struct tensor *v =
        case_tensor(c, "v", DTYPE_F32, LAYOUT_PLAIN, 1, s->dim, CASE_SIGNED);

    (void)row;
    case_output(c, qkv_bias(c->b, q, v, "attn"));
}

void case_window_mix(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct window_mix_attrs a = *(const struct window_mix_attrs *)row->attrs;
    struct tensor *x =
        case_tensor(c, "x", DTYPE_F32, LAYOUT_PLAIN, 4, s->dim, CASE_SIGNED);

    a.layer = "mix";
    a.heads = s->out;
    case_output(c, window_mix_(c->b, x, &a));
}
