/*
 * Measured choices of kernels: which set of our own loops (cpu/conv/conv.h), or oneDNN,
 * computes a convolution or linear layer of some shape fastest on this processor. `trainc
 * bench --tune` measures them and stores those that differ from the rules of the kernels
 * (conv_loops.slower) in the folder CUDNN.CACHE, one file per processor model,
 * instruction set, number of threads, and version of oneDNN and trainc
 * (base/plan_file.h). Without a choice the rules decide, so that results are the same
 * bits on every run unless the user measures. A checkpoint has its run's choices, which a
 * resumed run takes instead of the file.
 *
 * A choice is the name of a set of loops, or KERNEL_TABLE_LIBRARY. Its key is the op, the
 * type, and all sizes; bias, activation, and sum after a layer are not part of it.
 */
#ifndef CPU_KERNEL_TABLE_H
#define CPU_KERNEL_TABLE_H

#include "graph/backend.h"

struct kernel_table;
struct node;

#define KERNEL_TABLE_LIBRARY "onednn"

/* All names that a choice may have: the library last, then NULL. */
extern const char *const kernel_table_names[];

/* `device`: the description of the device, part of the file's key. Invalid files and
 * checkpoints of other processors are logged and ignored. */
struct kernel_table *kernel_table_open(const char *device,
                                       const struct device_options *o);
void kernel_table_close(struct kernel_table *t);

int kernel_table_size(const struct kernel_table *t); /* number of choices */
/* Returns the name chosen for a node, or NULL if the rules decide. */
const char *kernel_table_choice(const struct kernel_table *t, const struct node *n);
/* Returns the choices as JSON for a checkpoint, on the heap, or NULL if there are none. */
char *kernel_table_text(const struct kernel_table *t);

/* ---- for trainc bench ---- */

/* Makes `name` the choice for all nodes; "": none, the rules decide; NULL: as before. */
void kernel_table_force(struct kernel_table *t, const char *name);
/* Returns the key of a convolution, a linear layer, or one of their gradients on the
 * heap, or NULL for any other node. */
char *kernel_table_key(const struct node *n);
/* Sets a choice; NULL: the rules decide. */
void kernel_table_set(struct kernel_table *t, const char *key, const char *name);
/* Writes the file and returns its path, which is NULL without a folder. */
const char *kernel_table_store(const struct kernel_table *t);

#endif
