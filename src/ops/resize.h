/*
 * resize: Pillow's resize of a batch with images of different sizes, with crop and flip,
 * on the device. `x` has resize_place() bytes per image; `jobs`, an int32 [N,
 * RESIZE_JOB_WORDS], describes the resize (base/resize_job.h). The bytes of the result
 * differ from the loader's (image/resize.h) by at most one level. No gradient.
 */
#ifndef OPS_RESIZE_H
#define OPS_RESIZE_H

#include "base/resize_job.h"
#include "graph/graph.h"

enum { RESIZE_X, RESIZE_JOBS }; /* uint8 [N, place]; jobs */
enum { RESIZE_JOB_WORDS = sizeof(struct resize_job) / sizeof(int32_t) };

struct resize_attrs {
    const char *layer;
    int height, width, channels; /* of the result */
};

struct tensor *resize_(struct builder *b, struct tensor *x, struct tensor *jobs,
                       const struct resize_attrs *a);

/* For the reference and the CPU: scratch for one image, and image i of a step. */
size_t resize_scratch(const struct resize_attrs *a);
void resize_image(const struct step *s, int64_t i, void *scratch);

extern const struct op op_resize;

#endif
