/*
 * Counts calls of the emulated runtime. A test reads the counters here; every program
 * writes them at exit, as one JSON object, to the file named by EMULATOR_COUNTERS.
 */
#ifndef EMULATOR_COUNTERS_H
#define EMULATOR_COUNTERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct emulator_counters {
    int64_t synchronisations; /* of a stream or the device, or by a copy */
    int64_t pageable;         /* copies of pageable host memory */
    int64_t event_waits;      /* host waits for one event */
    int64_t allocations;      /* device and pinned memory, also streams and events */
    int64_t frees;
    int64_t launches;       /* of kernels and host nodes, outside graphs */
    int64_t graph_launches; /* of whole graphs */
    int64_t graph_nodes;    /* run by graph launches */
    int64_t captures;
    int64_t bytes_in, bytes_out, bytes_within; /* copied, including copies in graphs */
    int64_t bytes_held, bytes_peak;            /* device memory */
};

/* Returns the totals so far; a caller subtracts earlier ones. */
struct emulator_counters emulator_count(void);

/* Like EMULATOR_ORDER: forward, reverse, ahead, shuffle:SEED. Must not be called while
 * streams are busy. */
void emulator_order(const char *order);

/* Like EMULATOR_LAZY: streams only run when they are waited for. */
void emulator_lazy(int lazy);

#ifdef __cplusplus
}
#endif

#endif
