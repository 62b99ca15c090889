/*
 * Toy graphs: four ops on plain vectors of TOY_LEN floats, kernels that claim one node or
 * a mul with the add after it, and memory to run their programs.
 */
#ifndef TESTS_GRAPH_TOY_GRAPH_H
#define TESTS_GRAPH_TOY_GRAPH_H

#include <stdint.h>

#include "graph/program.h"

enum { TOY_LEN = 8 };

extern const struct op toy_add, toy_cast, toy_mul; /* on vectors; mul may be 16-bit */
extern const struct op toy_decay;                  /* an update: w -= g / 2 */
extern const struct graph_ops toy_ops;

/* Kernels: one for each node; one that also claims "mul then add"; one that never
 * claims. */
extern const struct backend toy_plain, toy_fusing, toy_refusing;

/* Claim function of the first of them. */
const char *toy_single_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev);

struct tensor *toy_vec(struct builder *b, const char *name);     /* an input */
struct tensor *toy_weight(struct builder *b, const char *layer); /* a parameter */

/* Adds an op with two inputs in a layer named like the op; returns its result. */
struct tensor *toy_two(struct builder *b, const struct op *op, struct tensor *x,
                       struct tensor *y);

/*
 * Memory for a program, filled with a value that must not appear in results; release with
 * toy_unbind.
 */
void **toy_bind(struct program *p);
void toy_unbind(void **base);

/* Returns numbers in [-0.5, 0.5). */
void toy_fill(const struct program *p, const struct tensor *t, uint64_t seed);

/* Fails the test unless both are equal within 1e-6. */
void toy_expect(const float *got, const float *want);

#endif
