/*
 * Two programs of one network: the graph of training and that of evaluation, for networks
 * that compute something else in eval mode (MODEL.EVAL). Both have the same parameters and
 * buffers.
 */
#ifndef PT2_PAIR_H
#define PT2_PAIR_H

#include "pt2/program.h"

/* Returns true if `eval` can be the evaluation graph of p; else false with a reason. */
bool pt2_pair_check(const struct pt2_program *p, const struct pt2_program *eval,
                    struct strbuf *why);

#endif
