/*
 * A band of results on tiles: blocks of 32 positions by 32 channels, or 64 by 16, whose
 * sums stay in four tiles for all taps and source channels.
 */
#ifndef CPU_CONV_AMX_BAND_H
#define CPU_CONV_AMX_BAND_H

#include "cpu/conv/amx_window.h"
#include "cpu/simd/loop_activation.h"

struct amx_band {
    /* source */
    const uint16_t *x[CONV_TAPS]; /* address that each tap reads for position 0 */
    const uint16_t *w[CONV_TAPS]; /* its weights for the first 16 channels */
    int taps, depth, steps;       /* steps: of `depth` channels each */
    int group, group_step; /* channels of a group of the result, and of the source */
    ptrdiff_t step;        /* elements between positions */
    ptrdiff_t panel;       /* elements between the weights of groups of 16 channels */
    const uint16_t *next;  /* memory to prefetch during this band, */
    ptrdiff_t next_len;    /* this many elements */
    /* result */
    uint16_t *y;               /* position 0 */
    const uint16_t *relu_mask; /* likewise, or NULL */
    const uint16_t *add;       /* likewise; may be y */
    const float *bias;
    struct loop_activation act;
    const struct loops *loops;
    int channels, pitch, cols, rows;
    int begin, end;     /* channels to compute */
    ptrdiff_t col, row; /* elements between columns, between rows */
};

/* Returns the positions per block for a result with groups of `channels` channels. */
int amx_block(int channels);

/*
 * Computes the results of a band. `exact`: reads nothing past the last position. There
 * must be at least one whole block; the last block begins early and computes some results
 * again, without storing them. An activation other than relu adds nothing.
 */
void amx_run_band(const struct amx_band *b, bool exact);

#endif
