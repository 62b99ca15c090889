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
 *       infer_logits(&v, logits);        if needed: of the batch, over all views
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
#include "train/views.h"

struct infer {
    bool observe; /* session_options.observe; set it before infer_open() */
    bool tta;     /* averages the views of TEST.TTA; set it before infer_open() */
    bool cam;     /* session_options.cam and .cam_stage; set them before infer_open() */
    int cam_stage;
    struct session session;
    struct dataset *files;
    struct loader *loader[VIEWS_MAX]; /* one per view */
    int nviews;
    struct transform transform; /* of each image */
    struct image_limits limits;
    const struct batch *batch; /* the current batch */
    void *labels;              /* for segmentation: all ignored */
    double *sum;               /* of the views' probabilities */
};

/* Sets keys of cfg. cfg and images must outlive `v`. */
void infer_open(struct infer *v, struct config *cfg, const struct images *images);
/* Returns NULL after the last batch. Releases the previous batch. */
const struct batch *infer_next(struct infer *v);
/* Writes the logits of the batch, [batch, ..., classes]. With several views, those of the
 * mean probabilities; to be called once per batch then. */
void infer_logits(struct infer *v, float *logits);
/* True if the i-th image of the batch was read. */
bool infer_is_there(const struct batch *b, int i);
/* Returns the number of unreadable images. */
int64_t infer_close(struct infer *v);

#endif
