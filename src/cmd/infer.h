/*
 * Images through a net: threads decode them, batch by batch, and the net sees them in the
 * order in which they were named.
 *
 *   struct infer v = {0};
 *   infer_open(&v, cfg, &images);        compiles; the weights are those of SEED
 *   ... pretrained_load_all(&v.session, ...) ...
 *   while ((b = infer_next(&v)))         b went through the net
 *       for (int i = 0; i < b->size; i++)
 *           if (infer_is_there(b, i))
 *               ... b->sample[i] is the image's number ...
 *   bad = infer_close(&v);
 *
 * The batch is DATA.VAL_BATCH_SIZE, or else chosen by task and number of images. Images
 * that cannot be read are named in the log; with DATA.ON_ERROR fail the first one ends
 * the program.
 */
#ifndef CMD_INFER_H
#define CMD_INFER_H

#include "cmd/images.h"
#include "dataset/loader.h"
#include "session/session.h"

struct infer {
    bool observe; /* before infer_open: session_options.observe */
    struct session session;
    struct dataset *files;
    struct loader *loader;
    struct transform transform; /* of each image */
    struct image_limits limits;
    const struct batch *batch; /* the one under way */
    void *labels;              /* of a segmentation: none that count */
};

/* Sets keys of cfg, which must outlive `v`; `images` must, too. */
void infer_open(struct infer *v, struct config *cfg, const struct images *images);
/* NULL: that was all. Gives the batch before back. */
const struct batch *infer_next(struct infer *v);
/* Was the i-th image of the batch read? */
bool infer_is_there(const struct batch *b, int i);
/* How many images could not be read. */
int64_t infer_close(struct infer *v);

#endif
