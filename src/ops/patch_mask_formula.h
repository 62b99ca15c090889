/*
 * Which patches of an image are masked, for host and device: exactly `count` of `cells`,
 * every choice equally likely (selection sampling: Knuth, TAOCP 2, 3.4.2, algorithm S).
 * Cell i is taken with the probability missing / left: patches still to be masked, cells
 * not yet seen. A pure function of (seed, epoch, sample).
 */
#ifndef OPS_PATCH_MASK_FORMULA_H
#define OPS_PATCH_MASK_FORMULA_H

#include "base/augment_formula.h"

HOST_DEVICE static inline void patch_mask_fill(const struct augment_key *k, int cells,
                                               int count, float *mask)
{
    struct philox r = augment_draw(k, AUGMENT_MASK, 0);
    int missing = count;

    for (int i = 0; i < cells; i++) {
        bool masked;

        if (i && i % 4 == 0)
            r = augment_draw(k, AUGMENT_MASK, (uint32_t)i / 4);
        masked = philox_below(r.v[i % 4], (uint32_t)(cells - i)) < (uint32_t)missing;
        mask[i] = masked;
        missing -= masked;
    }
}

#endif
