/*
 * trainc summary --world N: predicts the communication of N processes in a training step:
 * the buckets (session/buckets.h), and how much of it overlaps with the backward pass.
 *
 * Times of kernels come from step_floor.h if the device's limits are known; otherwise from
 * their share of the FLOPs, relative to the given or unknown time of a step. Buckets are
 * sent one after the other, each when its last gradient is computed. An all-reduce of B
 * bytes takes 2 (N - 1) / N * B / link. With DIST.SHARD_OPTIMIZER a reduce-scatter takes
 * (N - 1) / N * B / link, and gathering the weights after the optimizer step takes the
 * same.
 */
#ifndef CMD_WORLD_H
#define CMD_WORLD_H

#include "graph/program.h"
#include "io/json.h"

struct world {
    int processes;
    double link;    /* bytes per second of each process (NCCL's bus bandwidth) */
    double seconds; /* measured time of a step; 0: unknown */
    int64_t bucket_bytes;
    bool half;  /* send gradients of weights used in 16 bits as 16 bits */
    bool shard; /* DIST.SHARD_OPTIMIZER */
};

void world_print(const struct program *p, const struct world *w);
void world_json(struct json_writer *j, const struct program *p, const struct world *w);

#endif
