/*
 * What the files of the loader share: the ring of batches, its slots, and the loader
 * itself. loader_open.c makes and frees it, loader_fill.c fills a place of a batch,
 * loader_fault.c deals with damaged files, loader.c has the threads and the caller's
 * side. Private to src/dataset.
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
    int pending; /* samples that are not done */
    struct slot_fault {
        int at; /* in the batch */
        int64_t sample;
        char *reason;
        enum slot_cause { FAULT_DAMAGED, FAULT_MACHINE, FAULT_WARNED } cause;
    } * fault;
    int nfault, fault_cap;
};

struct loader {
    struct loader_options o;
    struct loader_source source;
    int64_t batches; /* of an epoch */
    uint8_t *bad;    /* by sample: 1 << slot_cause if it was named for that */
    char *failure;   /* NULL: none */
    struct loader_stats stats;
    struct loader_worker own; /* of the caller, without workers */

    pthread_t *thread;
    pthread_mutex_t lock; /* for everything below */
    pthread_cond_t work, ready, idle;
    atomic_bool hurry; /* leave tickets unfinished */
    bool stop;
    int active;  /* tickets in workers' hands */
    int started; /* threads that have a number */
    uint64_t epoch;
    double *weights;                /* of the sampler; NULL: none */
    struct sampler_windows windows; /* of the epoch; {0}: none */
    int64_t start;                  /* next batch to be started or continued */
    int start_at;                   /* its next sample */
    int64_t next;                   /* next batch for the caller */
    struct slot *slot;
    int nslots;
};

size_t loader_sample_size(const struct loader *l);

/* Bytes of a sample's label map; 0: there is none. */
size_t loader_label_map_size(const struct loader *l);

/* One place of a batch; returns the reason if the file of its *sample is damaged or, with
 * *machine, if it or another could not be read. w->transformer's decoder has the warning
 * of the image that takes the place. */
char *loader_fill(struct loader *l, struct loader_worker *w, struct batch *b, int at,
                  int64_t *sample, bool *machine);

/* A worker, of the loader `arg`. */
void *loader_thread(void *arg);

/* Keeps the reason. */
void slot_add_fault(struct slot *s, int at, int64_t sample, char *reason,
                    enum slot_cause cause);
void slot_clear_faults(struct slot *s);

/* Names the batch's damaged files. False: they are too many. */
bool loader_report(struct loader *l, struct slot *s);

#endif
