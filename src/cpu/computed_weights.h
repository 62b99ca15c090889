/*
 * Weights that a node of the step computes (ops/norm_fold.h) cannot be packed ahead of
 * time, so the kernel packs them into its workspace when it runs.
 */
#ifndef CPU_COMPUTED_WEIGHTS_H
#define CPU_COMPUTED_WEIGHTS_H

#include "cpu/onednn.h"
#include "graph/kernel.h"

struct computed_weights {
    struct onednn_pack *pack; /* NULL if the primitive reads plain weights */
    int read;                 /* index of the read */
    size_t bytes;             /* of workspace */
    size_t wide;              /* of them for an fp32 copy of 16-bit weights */
    int64_t len;
};

/* Appends the read of `w` and sets c->bytes. */
void computed_weights_claim(struct computed_weights *c, struct region *r,
                            struct onednn *o, const struct onednn_prim *prim,
                            struct tensor *w);
/* Returns the packed weights. `workspace`: c->bytes, 64-byte aligned. */
void *computed_weights_run(const struct computed_weights *c, const struct step *s,
                           void *workspace);
void computed_weights_release(struct computed_weights *c);

#endif
