/* Products of tensors. */
#include <string.h>

#include "ops/matmul.h"
#include "pt2/compose.h"
#include "pt2/table.h"

/* Gives v the dims [p, q, rows, columns]: missing ones are 1, more than two of the batch
 * are joined, and those of `batch` are repeated. Refuses what does not fit. */
static bool as_matrices(struct pt2_import *c, struct pt2_value *v, const int64_t batch[2])
{
    int64_t dim[4] = {1, 1, 0, 0};
    int n = v->ndim;

    if (n < 2) {
        pt2_refuse(c, "a product of vectors");
        return false;
    }
    dim[2] = v->dim[n - 2];
    dim[3] = v->dim[n - 1];
    for (int d = 0; d < n - 2; d++)
        dim[n > 3 && d == n - 3] *= v->dim[d];
    if (!pt2_value_view(v, 4, dim)) {
        int order[PT2_DIMS];

        for (int d = 0; d < n; d++)
            order[d] = d;
        if (!pt2_store(c, v, order) || !pt2_value_view(v, 4, dim))
            return false;
    }
    if (batch && (v->dim[0] != batch[0] || v->dim[1] != batch[1]) &&
        !pt2_value_expand(v, 4, (const int64_t[]){batch[0], batch[1], dim[2], dim[3]})) {
        pt2_refuse(c, "a product of batches of different dims");
        return false;
    }
    return pt2_dense(c, v);
}

struct pt2_value pt2_multiply(struct pt2_import *c, struct pt2_value a,
                              struct pt2_value b, double alpha)
{
    struct matmul_attrs m = {.layer = pt2_layer(c), .alpha = (float)alpha};
    struct pt2_value y = {.kind = PT2_VALUE_TENSOR, .ndim = 4};
    bool rows_first;

    if (!as_matrices(c, &a, NULL) || !as_matrices(c, &b, NULL))
        return y;
    for (int i = 0; i < 2; i++)
        m.batch[i] = a.dim[i] > b.dim[i] ? a.dim[i] : b.dim[i];
    if (!as_matrices(c, &a, m.batch) || !as_matrices(c, &b, m.batch))
        return y;
    if (a.dim[3] != b.dim[2]) {
        pt2_refuse(c, "a product of matrices of different dims");
        return y;
    }
    m.rows = a.dim[2];
    m.sums = a.dim[3];
    m.columns = b.dim[3];
    memcpy(m.a, a.stride, sizeof(m.a));
    memcpy(m.b, b.stride, sizeof(m.b));
    memcpy(y.dim, (const int64_t[]){m.batch[0], m.batch[1], m.rows, m.columns},
           4 * sizeof(*y.dim));
    rows_first = b.stride[3] == 1 && m.batch[1] > 1 && b.stride[1] < b.stride[2];
    pt2_value_store(&y,
                    rows_first ? (const int[]){0, 2, 1, 3} : (const int[]){0, 1, 2, 3});
    memcpy(m.y, y.stride, sizeof(m.y));
    m.ndim = 4;
    for (int d = 0; d < 4; d++)
        m.dim[d] = y.dim[rows_first && (d == 1 || d == 2) ? 3 - d : d];
    y.t = matmul(c->b, a.t, b.t, &m);
    return y;
}

struct pt2_value pt2_product(struct pt2_import *c, const struct pt2_value *a,
                             const struct pt2_value *b)
{
    int order[PT2_DIMS];
    struct tensor *t = c->why->len ? NULL : pt2_rows(c, a, order);
    struct pt2_value rows, y;

    if (!t)
        return *a;
    rows = (struct pt2_value){.kind = PT2_VALUE_TENSOR, .t = t, .ndim = 2};
    rows.dim[1] = a->dim[a->ndim - 1];
    rows.dim[0] = tensor_len(t) / rows.dim[1];
    pt2_value_store(&rows, (const int[]){0, 1});
    y = pt2_multiply(c, rows, *b, 1);
    if (c->why->len)
        return *a;
    rows = *a;
    rows.t = y.t;
    rows.dim[rows.ndim - 1] = b->dim[1];
    pt2_value_store(&rows, order);
    return rows;
}

void pt2_map_matmul(struct pt2_import *c)
{
    const struct pt2_value *a = pt2_tensor(c, "self"),
                           *b = pt2_tensor(c, pt2_has(c, "mat2") ? "mat2" : "other");
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    struct pt2_value y;
    int64_t dim[PT2_DIMS];

    if (c->why->len)
        return;
    if (b->ndim == 2 && a->ndim > 2) {
        y = pt2_product(c, a, b);
        if (!c->why->len)
            pt2_result(c, y);
        return;
    }
    if (n > 4 && a->ndim != b->ndim) {
        pt2_refuse(c, "a product of batches of different dims");
        return;
    }
    y = pt2_multiply(c, *a, *b, 1);
    if (c->why->len)
        return;
    memcpy(dim, a->ndim == n ? a->dim : b->dim, sizeof(dim));
    for (int d = 0; n <= 4 && d < n - 2; d++)
        dim[d] = y.dim[n == 3 ? 0 : d];
    dim[n - 2] = y.dim[2];
    dim[n - 1] = y.dim[3];
    if (!pt2_value_view(&y, n, dim))
        pt2_refuse(c, "a product of batches of different dims");
    pt2_result(c, y);
}

/* ---- einsum ---- */

enum { LETTERS = 52 };

/* One of the two operands: the dim of each letter, or -1. */
struct term {
    struct pt2_value v;
    int index[LETTERS];
};

static int index_of(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* Reads the letters of a term. Returns their number, or -1. */
static int read_term(const char **s, struct term *t)
{
    int n = 0;

    for (int i = 0; i < LETTERS; i++)
        t->index[i] = -1;
    for (; **s && **s != ',' && **s != '-'; ++*s) {
        if (**s == ' ')
            continue;
        if (index_of(**s) < 0 || t->index[index_of(**s)] >= 0 || n == PT2_DIMS)
            return -1;
        t->index[index_of(**s)] = n++;
    }
    return n;
}

/* Letters by what becomes of them. */
struct letters {
    int n[4];
    int letter[4][PT2_DIMS];
};
enum { BATCH, OF_A, OF_B, SUMMED };

static bool sort_letters(const struct term *a, const struct term *b, const struct term *y,
                         struct letters *l)
{
    for (int i = 0; i < LETTERS; i++) {
        bool in_a = a->index[i] >= 0, in_b = b->index[i] >= 0, in_y = y->index[i] >= 0;
        int kind = in_a && in_b ? (in_y ? BATCH : SUMMED) : in_a ? OF_A : OF_B;

        if (!in_a && !in_b && !in_y)
            continue;
        if ((kind == OF_A || kind == OF_B) && (!in_y || !(in_a || in_b)))
            return false;
        if (l->n[kind] == PT2_DIMS)
            return false;
        l->letter[kind][l->n[kind]++] = i;
    }
    return true;
}

/* Gives v the dims [batch, rows, columns], joined. */
static struct pt2_value as_three(struct pt2_import *c, const struct term *t,
                                 const struct letters *l, int rows, int columns)
{
    const int kinds[] = {BATCH, rows, columns};
    struct pt2_value v = t->v;
    int src[PT2_DIMS], n = 0;
    int64_t dim[3] = {1, 1, 1};

    for (int k = 0; k < 3; k++)
        for (int i = 0; i < l->n[kinds[k]]; i++) {
            src[n] = t->index[l->letter[kinds[k]][i]];
            dim[k] *= t->v.dim[src[n++]];
        }
    pt2_value_permute(&v, src);
    if (!pt2_value_view(&v, 3, dim)) {
        if (!pt2_store(c, &v, (const int[]){0, 1, 2, 3, 4, 5, 6, 7}) ||
            !pt2_value_view(&v, 3, dim))
            pt2_refuse(c, "its operands cannot be seen as matrices");
    }
    return v;
}

/* The product of two tensors, with each letter once in an operand. */
void pt2_map_einsum(struct pt2_import *c)
{
    const char *s = pt2_text(c, "equation", "");
    int n, src[PT2_DIMS], k = 0;
    struct pt2_value **v = pt2_tensors(c, "tensors", &n), y;
    struct term a = {.v = *v[0]}, b = {.v = *v[n - 1]}, result = {.v = {.ndim = 0}};
    struct letters l = {0};
    int64_t dim[PT2_DIMS];

    pt2_ignore(c, "path");
    if (c->why->len)
        return;
    if (n != 2 || read_term(&s, &a) != a.v.ndim || *s++ != ',' ||
        read_term(&s, &b) != b.v.ndim || strncmp(s, "->", 2) != 0 ||
        (s += 2, read_term(&s, &result) < 0) || *s ||
        !sort_letters(&a, &b, &result, &l)) {
        pt2_refuse(c, "another sum than a product of two tensors");
        return;
    }
    y = pt2_multiply(c, as_three(c, &a, &l, OF_A, SUMMED),
                     as_three(c, &b, &l, SUMMED, OF_B), 1);
    for (int kind = BATCH; kind <= OF_B; kind++)
        for (int i = 0; i < l.n[kind]; i++) {
            int letter = l.letter[kind][i];

            src[result.index[letter]] = k;
            dim[k++] = kind == OF_B ? b.v.dim[b.index[letter]] : a.v.dim[a.index[letter]];
        }
    if (!c->why->len && !pt2_value_view(&y, k, dim))
        pt2_refuse(c, "its result cannot be seen in its shape");
    if (c->why->len)
        return;
    pt2_value_permute(&y, src);
    pt2_result(c, y);
}
