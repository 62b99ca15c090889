#include "pt2/fold.h"

#include <string.h>

int pt2_fold_dtype(const struct pt2_import *c)
{
    const struct pt2_arg *out = c->node->nout ? &c->node->out[0] : NULL;
    const char *name = out && out->kind == PT2_TENSOR              ? out->name
                       : out && out->kind == PT2_TENSORS && out->n ? out->names[0]
                                                                   : NULL;
    const struct pt2_meta *m = name ? pt2_program_meta(c->p, name) : NULL;

    return m ? m->dtype : PT2_F32;
}

static bool in_place(const struct pt2_import *c)
{
    const char *dot = strrchr(c->node->target, '.');

    return dot && dot > c->node->target && dot[-1] == '_';
}

/* Writes v, which broadcasts, to the first operand. */
static void write(struct pt2_import *c, struct pt2_value v)
{
    struct pt2_value dst = pt2_fold_operand(c, c->node->in[0].name);

    if (!pt2_value_expand(&v, dst.ndim, dst.dim))
        pt2_refuse(c, "what it writes in place does not fit");
    if (c->why->len)
        return;
    for (int64_t i = 0; i < pt2_value_len(&dst); i++)
        *pt2_host_at(&dst, i) = pt2_host_round(*pt2_host_at(&v, i), dst.host->dtype);
    dst.host->writes++;
    pt2_result_view(c, &dst, dst);
}

void pt2_fold_result(struct pt2_import *c, struct pt2_value v)
{
    if (c->why->len)
        return;
    if (in_place(c))
        write(c, v);
    else
        pt2_result_view(c, &v, v);
}

struct pt2_value pt2_fold_operand(struct pt2_import *c, const char *name)
{
    struct pt2_value *v = pt2_any(c, name);

    if (c->why->len || v->kind != PT2_VALUE_CONSTANT)
        return pt2_host_new(c, PT2_F32, 0, NULL);
    return *v;
}

/* ---- nodes ---- */

static bool is_constant(const struct pt2_import *c, const char *name)
{
    const struct pt2_value *v = name ? strmap_get(&c->value, name) : NULL;

    return v && v->kind == PT2_VALUE_CONSTANT;
}

/* True if the node has operands that are tensors, and all are constants. */
static bool of_constants(const struct pt2_import *c)
{
    int n = 0;

    for (int i = 0; i < c->node->nin; i++) {
        const struct pt2_arg *a = &c->node->in[i].arg;

        if (a->kind == PT2_TENSOR && (n++, !is_constant(c, a->name)))
            return false;
        for (int k = 0; a->kind == PT2_TENSORS && k < a->n; k++)
            if (a->names[k] && (n++, !is_constant(c, a->names[k])))
                return false;
    }
    return n > 0;
}

static const struct pt2_fold_row *find(const char *target,
                                       const struct pt2_fold_row *rows)
{
    size_t len;

    if (strncmp(target, "aten.", 5) != 0)
        return NULL;
    target += 5;
    len = strcspn(target, ".");
    if (len > 1 && target[len - 1] == '_')
        len--;
    for (; rows->name; rows++)
        if (strlen(rows->name) == len && !strncmp(rows->name, target, len))
            return rows;
    return NULL;
}

bool pt2_fold(struct pt2_import *c)
{
    const struct pt2_fold_row *row = find(c->node->target, pt2_fold_shapes);

    if (!row)
        row = find(c->node->target, pt2_fold_numbers);
    if (!row || !(row->creates || of_constants(c)))
        return false;
    row->fold(c, row);
    return true;
}
