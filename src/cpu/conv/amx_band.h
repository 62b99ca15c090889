/*
 * A band of results on tiles: blocks of 32 positions by 32 channels, or 64 by 16, whose
 * sums stay in four tiles while the taps and the source's channels go by.
 */
#ifndef CPU_CONV_AMX_BAND_H
#define CPU_CONV_AMX_BAND_H

#include "cpu/conv/amx_window.h"

struct amx_band {
    /* source */
    const uint16_t *x[CONV_TAPS]; /* where each tap reads for position 0 */
    const uint16_t *w[CONV_TAPS]; /* its weights of the first 16 channels */
    int taps, depth, steps;       /* steps of depth channels each */
    ptrdiff_t step;               /* elements from one position to the next */
    ptrdiff_t panel;      /* elements from the weights of 16 channels to the next */
    const uint16_t *next; /* read from memory while this band runs, */
    ptrdiff_t next_len;   /* so many elements */
    /* result */
    uint16_t *y;          /* position 0 */
    const uint16_t *relu_mask; /* the same, or NULL */
    const float *bias;
    bool relu;
    int channels, pitch, cols, rows;
    int begin, end;     /* channels to make */
    ptrdiff_t col, row; /* elements from one to the next */
};

/* Positions of a block, for a result of so many channels. */
int amx_block(int channels);

/*
 * The results of a band. `exact`: nothing may be read past the last position, so there
 * must be a whole block, and the last one begins early: it makes some results twice.
 */
void amx_run_band(const struct amx_band *b, bool exact);

#endif
