/*
 * Compares whole models with PyTorch: helpers of the golden tests. Weights and inputs
 * come from an integer hash that the scripts in scripts/golden also compute, so a golden
 * file contains only results.
 *
 *   t.backend, t.dev and t.g are set, t.g is built and flattened
 *   golden_open(&t, golden);          compiles, allocates, fills weights and t.x
 *   loss = golden_run(&t); golden_check_...(...);
 *   golden_close(&t);
 */
#ifndef TESTS_MODELS_GOLDEN_NET_H
#define TESTS_MODELS_GOLDEN_NET_H

#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"

struct trial {
    const struct backend *backend;
    struct device *dev;
    struct graph *g;
    struct tensor *x, *labels, *logits, *loss;
    struct program *program;
    void *base[MEMORY_COUNT];
    float branch; /* factor of every *.bn2.weight; 0 means 1 */
};

uint32_t golden_hash(uint32_t x);

/* Returns the value of a parameter or buffer at logical index i; and its stored index. */
float golden_formula(const struct trial *t, const struct tensor *p, int64_t i);
int64_t golden_stored(const struct tensor *t, int64_t i);

/* Reads tests/golden/models/NAME.json; fails the test if it cannot. */
json_t *golden_read(const char *name);
int64_t golden_int(const json_t *j, const char *key);

void golden_open(struct trial *t, const json_t *golden);
void golden_close(struct trial *t);
void golden_write(struct trial *t, const struct tensor *dst, const void *src);
float *golden_memory(struct trial *t, enum memory m); /* a copy; free() it */
double golden_run(struct trial *t);                   /* runs once; returns the loss */

/* |got - want| is at most `tol` times the maximum of `want`. */
void golden_check_numbers(const char *what, const float *got, const json_t *want,
                          double tol);

/*
 * A digest as computed by the scripts: the L2 norm, then six elements. A single element
 * may differ five times as much as the norm; `floor` is the rounding error of the norm.
 */
struct tolerance {
    double relative, floor;
};
void golden_check_digest(const char *what, const struct tensor *t, const float *data,
                         const json_t *want, struct tolerance tol);
/* The floor for the running mean of a batch norm, as a share of the standard deviation: a mean of
 * a large network may be 0 but for rounding. 0 in the committed golden files; a survey sets it. */
extern double golden_mean_floor;
/* Returns the floor for a tensor of `want`: with golden_mean_floor, or `floor` if it is larger. */
double golden_floor(const json_t *want, const struct tensor *t, double floor);
/* Checks segments [0, n) of the flat array `data`; `want` must have exactly those. */
void golden_check_flat(struct trial *t, const char *what, const float *data, int n,
                       const json_t *want, struct tolerance tol);
void golden_check_loss(const struct trial *t, const char *what, double got,
                       const json_t *want, double tol);
float *golden_logits(struct trial *t); /* a copy; free() it */

#endif
