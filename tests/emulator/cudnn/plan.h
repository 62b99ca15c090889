/*
 * Engines, plans, and the descriptors between them. All engines compute the same results;
 * they differ in properties that a caller must check: workspace, notes, and whether a
 * plan can be built.
 */
#ifndef EMULATOR_CUDNN_PLAN_H
#define EMULATOR_CUDNN_PLAN_H

#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/emulator/cudnn/descriptor.h"
#include "tests/emulator/cudnn/graph.h"

enum { PLANS_MAX = 65536, COMPUTE_CAPABILITY = 900 };

struct engine {
    int index;
    bool fallback;     /* offered by HEUR_MODE_FALLBACK instead of the other modes */
    int note[2];       /* numerical notes, -1: none */
    int64_t workspace; /* bytes */
    bool broken;       /* listed, but no plan can be built */
    bool compiled;     /* compiled when a plan is built */
    /* loses NaN in ops after a convolution, even if a relu must keep it */
    bool clips;
    bool waits; /* synchronizes, so it cannot be captured */
    enum { ANY, PRODUCT, GRADIENT, NO_PRODUCT, FUSED, ATTEND, ATTEND_GRADIENT } for_what;
};

struct plan {
    int serial; /* plan_alive() */
    const struct engine *engine;
    int capability; /* of its device */
    struct graph graph;
};

void plan_free(struct plan *p);
bool plan_alive(int serial);
int library_version(void); /* 91900; EMULATOR_CUDNN=91400 changes it */
bool engine_clips(const struct engine *e);
bool engine_notes(const struct engine *e, int note);

/* Finalizes descriptors other than tensors, operations, and graphs. */
cudnnStatus_t plan_finalize(struct descriptor *d);

/* Attributes set by the library: results, notes, workspace, text. Sets *mine for
 * these. */
cudnnStatus_t plan_get(struct descriptor *d, cudnnBackendAttributeName_t name,
                       int64_t asked, int64_t *count, void *values, bool *handled);

/* json.c. Both return a new string or plan. */
char *plan_to_json(const struct plan *p);
cudnnStatus_t plan_from_json(const char *json, const struct engine *engines, int nengine,
                             struct plan *p);
cudnnStatus_t device_check_json(const char *json, int *capability);
extern const char device_json[]; /* the emulated device */

#endif
