/*
 * Runs a model on images: threads decode them in batches, in the given order.
 *
 *   struct infer v = {0};
 *   infer_open(&v, cfg, &images);        compiles; initial weights from SEED
 *   ... pretrained_load_all(&v.session, ...) ...
 *   while ((b = infer_next(&v)))         runs the model on the next batch
 *       for (int i = 0; i < b->size; i++)
 *           if (infer_is_there(b, i))
 *               ... b->sample[i] is the image's index ...
 *   bad = infer_close(&v);
 *
 * The batch size is DATA.VAL_BATCH_SIZE, or else chosen by task and number of images. The
 * log names unreadable images; with DATA.ON_ERROR fail the first one ends the program.
 */
#ifndef CMD_INFER_H
#define CMD_INFER_H

#include "cmd/images.h"
#include "dataset/loader.h"
#include "session/session.h"

struct infer {
    bool observe; /* session_options.observe; set it before infer_open() */
    struct session session;
    struct dataset *files;
    struct loader *loader;
    struct transform transform; /* of each image */
    struct image_limits limits;
    const struct batch *batch; /* the current batch */
    void *labels;              /* for segmentation: all ignored */
};

/* Sets keys of cfg. cfg and images must outlive `v`. */
void infer_open(struct infer *v, struct config *cfg, const struct images *images);
/* Returns NULL after the last batch. Releases the previous batch. */
const struct batch *infer_next(struct infer *v);
/* True if the i-th image of the batch was read. */
bool infer_is_there(const struct batch *b, int i);
/* Returns the number of unreadable images. */
int64_t infer_close(struct infer *v);

#endif
