/* Hooks that write the files of a run and its result, and that compute the EMA if no
 * program does. */
#include <stdlib.h>

#include "base/file.h"
#include "dist/group.h"
#include "session/fit.h"
#include "train/hooks.h"
#include "train/trainer_run.h"
#include "train/val_images.h"

static void open_outputs(struct trainer *t)
{
    output_open(&t->output, &t->session, &t->state, &t->feed.classes, t->step,
                t->resumed);
}

static void write_line(struct trainer *t)
{
    output_train(&t->output, &t->line);
}

static void write_val(struct trainer *t)
{
    output_val(&t->output, &t->val);
}

static void write_epoch(struct trainer *t)
{
    output_epoch(&t->output, &t->epoch_line);
}

const struct hook hook_outputs = {
    .name = "outputs",
    .run = {[HOOK_START] = open_outputs,
            [HOOK_LINE] = write_line,
            [HOOK_EVAL] = write_val,
            [HOOK_EPOCH] = write_epoch},
};

/* Deletes images of later epochs; the current epoch may have been validated
 * (MAX_STEPS). */
static void drop_images(struct trainer *t)
{
    const struct run_state *s = &t->state;
    bool validated = s->val_step > s->epoch * s->updates_per_epoch;
    char *dir = path_join(t->output.dir, "images");

    if (dist_is_first() && file_is_dir(dir))
        val_images_drop(dir, t->resumed ? s->epoch + validated : 0);
    free(dir);
}

static void paint(struct trainer *t)
{
    char *dir = path_join(t->output.dir, "images");
    char *prefix = val_images_of_epoch(t->state.epoch);
    struct val_images p = {
        .dir = dir,
        .prefix = prefix,
        .n = (int)t->cfg->log.images,
        .events = t->output.tensorboard ? &t->output.events : NULL,
        .step = output_axis(&t->output, t->step),
    };

    if (dist_is_first())
        (void)val_images_write(&p, &t->session, &t->feed);
    free(dir);
    free(prefix);
}

const struct hook hook_images = {
    .name = "images",
    .run = {[HOOK_START] = drop_images, [HOOK_EVAL] = paint},
};

/* Keeps the result current: a run may die at any time, and a sweep reads its progress. */
static void fill_progress(struct trainer *t)
{
    struct result *r = &t->result;

    r->epochs = t->state.epoch;
    r->steps = t->step;
    r->train_loss =
        t->state.train.count ? metrics_loss(&t->state.train) : t->state.train_loss;
    r->val = t->state.val;
    r->ema = t->state.ema;
    r->val_iou = t->state.val_iou;
    r->classes = &t->feed.classes;
    r->best = trainer_best(t);
    r->best_score = t->state.best_score;
    r->best_epoch = t->state.best_epoch;
}

static void fill_device(struct result *r, const struct session *s)
{
    struct device_memory m;

    r->device_open_seconds = s->open_seconds;
    r->peak_memory_bytes = (int64_t)s->backend->peak_memory(s->device);
    if (fit_device_memory(s, &m) && !m.shared)
        r->library_memory_bytes = (int64_t)m.library;
    if (s->backend->waits) {
        struct device_waits w = s->backend->waits(s->device);

        r->device_syncs = w.sync;
        r->device_waits = w.await;
    }
}

void trainer_fill_result(struct trainer *t)
{
    struct result *r = &t->result;

    fill_progress(t);
    if (t->feed.train_loader) {
        struct loader_stats stats = loader_stats(t->feed.train_loader);

        r->train_seconds = t->train_seconds;
        r->data_wait_seconds = stats.wait_seconds;
        r->data_stages = stats.stages;
        r->damaged_train = stats.bad_files;
        r->warned_train = stats.warned_files;
    }
    if (t->feed.val_loader) {
        struct loader_stats stats = loader_stats(t->feed.val_loader);

        r->damaged_val = stats.bad_files;
        r->warned_val = stats.warned_files;
    }
    if (t->train_images)
        r->images_per_second = (double)t->train_images / (t->train_seconds + 1e-9);
    fill_device(r, &t->session);
    fit_report(&t->session, "at the end");
}

const struct hook hook_result = {.name = "result", .run = {[HOOK_STEP] = fill_progress}};

static void step_ema(struct trainer *t)
{
    session_step_ema(&t->session);
}

const struct hook hook_ema = {.name = "ema", .run = {[HOOK_STEP] = step_ema}};
