/*
 * What a program asked of the emulated runtime. A test reads it here; any program writes
 * it when it ends, as one object of JSON, to the file that EMULATOR_COUNTERS names.
 */
#ifndef EMULATOR_COUNTERS_H
#define EMULATOR_COUNTERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct emulator_counters {
    int64_t synchronisations; /* of a stream or the device, or by a copy */
    int64_t pageable;         /* copies of host memory that is not pinned */
    int64_t event_waits;      /* of the host, for one event */
    int64_t allocations;      /* device and pinned memory, streams and events too */
    int64_t frees;
    int64_t launches;       /* of kernels and host nodes, outside of graphs */
    int64_t graph_launches; /* of whole graphs */
    int64_t graph_nodes;    /* run by them */
    int64_t captures;
    int64_t bytes_in, bytes_out, bytes_within; /* copied; graphs' copies too */
    int64_t bytes_held, bytes_peak;            /* of device memory */
};

/* Everything so far; a caller subtracts. */
struct emulator_counters emulator_count(void);

/* As EMULATOR_ORDER: forward, reverse, ahead, shuffle:SEED. Not while streams
 * are busy. */
void emulator_order(const char *order);

/* As EMULATOR_LAZY: streams run when somebody waits for them. */
void emulator_lazy(int lazy);

#ifdef __cplusplus
}
#endif

#endif
