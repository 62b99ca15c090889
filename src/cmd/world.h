/*
 * trainc summary --world N: what N processes would send of a training step, in which
 * buckets (session/buckets.h), and how much of that while the backward phase goes on.
 *
 * A step's times are those of step_floor.h where the device says what it can do; else its
 * FLOPs have to do, as shares of a step whose time is given or not known. An all-reduce
 * of B bytes takes 2 (N - 1) / N * B / link, one bucket after the other, each when its
 * last gradient is there. With DIST.SHARD_OPTIMIZER each goes to the process that has its
 * share, in (N - 1) / N * B / link, and the weights come back in as much, after the
 * update.
 */
#ifndef CMD_WORLD_H
#define CMD_WORLD_H

#include "graph/program.h"
#include "io/json.h"

struct world {
    int processes;
    double link;    /* bytes per second of each process, what NCCL calls bus bandwidth */
    double seconds; /* of a step, measured; 0: not given */
    int64_t bucket_bytes;
    bool half;  /* gradients of weights that are used in 16 bits travel so */
    bool shard; /* to the process that updates those weights alone */
};

void world_print(const struct program *p, const struct world *w);
void world_json(struct json_writer *j, const struct program *p, const struct world *w);

#endif
