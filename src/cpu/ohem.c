/*
 * Cross entropy of hard rows (OHEM) and its gradient on the CPU. Threads write the losses
 * of their rows; the smallest of the kept losses is found by the bits of the losses, one
 * byte at a time.
 */
#include "ops/ohem.h"

#include "cpu/kernels.h"
#include "cpu/row_loss.h"
#include "ops/ohem_formula.h"

enum { BYTES = 256 };

struct job {
    struct row_job row;
    const struct ohem_attrs *a;
    const float *loss;
    float cut, tie, scale;
};

static const char *ohem_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_ohem && n->op != &op_ohem_grad)
        return "not a cross entropy of hard rows";
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    return NULL;
}

static void loss_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    float *loss = r->s->out[ROW_LOSS_ROWS];
    int64_t lo, hi;

    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        const float *z = r->z + i * r->classes;
        int label = row_label_checked(&r->labels, i, r->classes);

        loss[i] = label < 0 ? -1 : ohem_row(row_lse(z, r->classes, 1), z[label]);
    }
}

/* Losses of valid rows have no sign bit; NaN is the largest. */
static bool counts(float loss)
{
    return !(loss < 0);
}

/* Returns the bits of the n-th largest loss, counted from 1. */
static uint32_t nth_largest(const float *loss, int64_t rows, int64_t n)
{
    uint32_t prefix = 0, mask = 0;

    for (int shift = 24; shift >= 0; shift -= 8) {
        int64_t count[BYTES] = {0};
        uint32_t byte = BYTES - 1;

        for (int64_t i = 0; i < rows; i++) {
            uint32_t bits = ohem_bits(loss[i]) & 0x7fffffff;

            if (counts(loss[i]) && (bits & mask) == prefix)
                count[bits >> shift & (BYTES - 1)]++;
        }
        while (count[byte] < n && byte)
            n -= count[byte--];
        prefix |= byte << shift;
        mask |= 0xffu << shift;
    }
    return prefix;
}

/* Selects the rows to keep, and computes their mean. */
static void select_rows(const struct job *j)
{
    const float *loss = j->row.s->out[ROW_LOSS_ROWS];
    float *sums = j->row.s->out[ROW_LOSS_SUMS], cut = ohem_cut(j->a->thresh);
    int64_t rows = j->row.rows, valid = 0, above = 0, pos = 0, least, kept;
    double sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        valid += counts(loss[i]);
        above += counts(loss[i]) && !(loss[i] <= cut);
    }
    least = ohem_least(valid, j->a->min_share);
    kept = above < least ? least : above;
    if (above < least)
        cut = ohem_loss(nth_largest(loss, rows, least));
    above = 0;
    for (int64_t i = 0; i < rows; i++)
        if (counts(loss[i]) && !(loss[i] <= cut)) {
            above++;
            sum += (double)loss[i];
        } else {
            pos += loss[i] == cut;
        }
    if (kept > above)
        sum += (double)(kept - above) * (double)cut;
    sums[OHEM_CUT] = cut;
    sums[OHEM_TIE] = kept > above ? (float)(kept - above) / (float)pos : 0;
    sums[OHEM_SCALE] = kept ? 1 / (float)kept : 0;
    *(float *)j->row.s->out[ROW_LOSS_LOSS] = kept ? (float)(sum / (double)kept) : 0;
}

static void grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    int64_t classes = r->classes, lo, hi;

    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        const float *z = r->z + i * classes;
        float *dz = r->dz + i * classes;
        float w = ohem_weight(j->loss[i], j->cut, j->tie) * j->scale, lse;

        for (int64_t k = 0; k < classes && w == 0; k++)
            dz[k] = 0;
        if (w == 0)
            continue;
        lse = row_lse(z, classes, 1);
        for (int64_t k = 0; k < classes; k++)
            dz[k] = expf(z[k] - lse) * w;
        dz[row_label(&r->labels, i)] -= w;
    }
}

static void ohem_run(struct step *s, struct device *dev)
{
    const struct ohem_attrs *a = s->node->attrs;
    bool gradient = s->node->op == &op_ohem_grad;
    struct job j = {.row = row_job_of(s, dev, a->ignore, gradient), .a = a};
    const float *sums;

    if (!gradient) {
        cpu_parallel(dev, loss_thread, &j);
        select_rows(&j);
        return;
    }
    sums = s->in[ROW_LOSS_GRAD_SUMS];
    j.loss = s->in[ROW_LOSS_GRAD_OTHER];
    j.cut = sums[OHEM_CUT];
    j.tie = sums[OHEM_TIE];
    j.scale = sums[OHEM_SCALE] * *(const float *)s->in[ROW_LOSS_GRAD_DLOSS];
    cpu_parallel(dev, grad_thread, &j);
}

const struct kernel cpu_ohem = {
    .name = "cpu ohem",
    .claim = ohem_claim,
    .run = ohem_run,
};
