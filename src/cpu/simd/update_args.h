/* Arguments of the optimizer loops (cpu/simd/loops.h, optimizer.inc). */
#ifndef CPU_SIMD_UPDATE_ARGS_H
#define CPU_SIMD_UPDATE_ARGS_H

#include <stdint.h>

struct control;
struct op;
struct optimizer_attrs;
struct update_segment;

/* Elements of a segment. Arrays do not overlap; moments that the optimizer does not have
 * are not accessed. */
struct update_part {
    const struct optimizer_attrs *attrs;
    const struct update_segment *segment;
    const struct control *control;
    float trust; /* the segment's trust ratio, if the optimizer has one */
    float *w, *m1, *m2;
    const float *g;
    int64_t n;
};

/* An optimizer, by its formula in ops/. */
struct update_loop {
    const struct op *op;
    void (*run)(const struct update_part *p);
    /* measure: sums of w^2 and of the squares of the measured values (NAME_measured() in
     * ops/), over at most UPDATE_BLOCK elements. trust: the ratio from these sums over
     * the segment. NULL: the optimizer has no trust ratio. */
    void (*measure)(const struct update_part *p, double sum[2]);
    float (*trust)(const struct update_part *p, const double sum[2]);
};
enum { UPDATE_BLOCK = 4096 };

#endif
