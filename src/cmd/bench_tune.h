/*
 * trainc bench --tune: times every kernel that can compute a convolution or linear layer
 * of the network, in turns, and stores those that are clearly faster than the kernel
 * chosen by rule (cpu/kernel_table.h).
 */
#ifndef CMD_BENCH_TUNE_H
#define CMD_BENCH_TUNE_H

#include "session/session.h"

/* The session is compiled, but need not have memory; its device must be a CPU. */
void bench_tune(struct session *s, enum build_kind kind);

#endif
