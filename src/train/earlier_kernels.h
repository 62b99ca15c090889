/* The kernels of the run that a resumed run continues. */
#ifndef TRAIN_EARLIER_KERNELS_H
#define TRAIN_EARLIER_KERNELS_H

struct config;

/*
 * Returns device_options.kernels from the checkpoint that a run with this configuration
 * resumes from, on the heap, so that it computes the same bits; NULL if the run is new.
 * Only reads the header, before the programs are compiled.
 */
char *earlier_kernels(const struct config *cfg);

#endif
