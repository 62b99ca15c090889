/*
 * Shared by the loader's files: the ring of batches, its slots, and the loader itself.
 * loader_open.c creates and frees it, loader_fill.c loads one sample of a batch,
 * loader_fault.c handles damaged files, and loader.c has the threads and the caller's
 * functions. Private to src/dataset.
 */
#ifndef DATASET_LOADER_RING_H
#define DATASET_LOADER_RING_H

#include <pthread.h>
#include <stdatomic.h>

#include "dataset/loader.h"
#include "dataset/loader_sample.h"
#include "dataset/sampler.h"

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_HELD };

struct slot {
    struct batch batch;
    enum slot_state state;
    int pending; /* samples not yet loaded */
    struct slot_fault {
        int index; /* in the batch */
        int64_t sample;
        char *reason;
        enum slot_cause { FAULT_DAMAGED, FAULT_MACHINE, FAULT_WARNED } cause;
    } * fault;
    int nfault, fault_cap;
};

struct loader {
    struct loader_options o;
    struct loader_source source;
    int64_t batches; /* per epoch */
    uint8_t *bad;    /* per sample: 1 << slot_cause for each cause that was logged */
    char *failure;   /* reason, or NULL */
    struct loader_stats stats;
    struct loader_worker local_worker; /* state of the caller's thread, without workers */

    pthread_t *thread;
    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t work, ready, idle;
    atomic_bool hurry; /* abandon tickets */
    bool stop;
    int active;  /* tickets that workers hold */
    int started; /* number of started threads */
    uint64_t epoch;
    double *weights;                /* the sampler's, or NULL */
    struct sampler_windows windows; /* of the epoch; {0}: none */
    int64_t start;                  /* next batch to start or continue */
    int start_index;                /* its next sample */
    int64_t next;                   /* next batch to return */
    struct slot *slot;
    int nslots;
};

size_t loader_sample_size(const struct loader *l);

/* Returns the bytes of a sample's label map, or 0 without label maps. */
size_t loader_label_map_size(const struct loader *l);

/* Loads one sample of a batch. Returns the reason if the file of its *sample is damaged
 * or if a file could not be read; the latter sets *machine, and *sample to that file's.
 * The decoder of w->transformer holds the warning of the image used. */
char *loader_fill(struct loader *l, struct loader_worker *w, struct batch *b, int pos,
                  int64_t *sample, bool *machine);

/* Main function of a worker; arg: the loader. */
void *loader_thread(void *arg);

/* Takes ownership of the reason. */
void slot_add_fault(struct slot *s, int pos, int64_t sample, char *reason,
                    enum slot_cause cause);
void slot_clear_faults(struct slot *s);

/* Logs the batch's damaged files. Returns false if there are too many. */
bool loader_report(struct loader *l, struct slot *s);

#endif
