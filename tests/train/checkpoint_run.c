#include "tests/train/checkpoint_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/test.h"

static const char *const class_name[] = {"ant", "bee", "cat", "dog",  "eel",
                                         "fox", "gnu", "hen", "ibis", "jay"};
const struct class_list ckpt_classes = {class_name, 10};

const char *const ckpt_adamw_ema[] = {
    "TRAIN.OPTIMIZER.NAME", "adamw", "TRAIN.EMA.ENABLE", "True", NULL,
};

char ckpt_dir[64], ckpt_path[128];

int ckpt_setup(void **state)
{
    (void)state;
    log_level_set(LOG_ERROR);
    (void)snprintf(ckpt_dir, sizeof(ckpt_dir), "/tmp/trainc-test.XXXXXX");
    if (!mkdtemp(ckpt_dir))
        return -1;
    (void)snprintf(ckpt_path, sizeof(ckpt_path), "%s/ckpt_step_1.safetensors", ckpt_dir);
    return 0;
}

int ckpt_teardown(void **state)
{
    int n;
    char **name = dir_list(ckpt_dir, &n);

    (void)state;
    for (int i = 0; i < n; i++) {
        char *full = path_join(ckpt_dir, name[i]);

        (void)unlink(full);
        free(full);
    }
    dir_list_free(name, n);
    return rmdir(ckpt_dir);
}

const struct run_state ckpt_state = {
    .epoch = 3,
    .updates_per_epoch = 1,
    .axis = 41,
    .train =
        {.loss_sum = 1.0 / 3, .measured = 7, .count = 8, .top1 = 2, .top5 = 5, .runs = 2},
    .best_score = 61.7,
    .best_epoch = 2,
    .train_loss = 0.1,
    .val = {{2.25, 60.5, 99, 0, 0, 0, 0}},
    .ema = {{2, 61.7, 99.5, 0, 0, 0, 0}},
    .window = {.loss_sum = 0.25, .measured = 3, .count = 4, .top1 = 1, .runs = 1},
    .val_iou = {10, {0.5, 0, 1, 1.0 / 3}},
    .plateau = {.best = -1, .score = (double)NAN}, /* unused by this schedule */
    .val_step = 3,
};

void ckpt_store(const char *dst, const struct session *s, const struct run_state *state,
                const struct class_list *classes, const char *config)
{
    struct strbuf why = STRBUF_INIT;
    struct checkpoint c = {.s = NULL};

    checkpoint_copy(&c, s, state, classes, config);
    if (checkpoint_store(&c, dst, &why))
        fail_msg("%s", why.buf);
    checkpoint_release(&c);
    strbuf_release(&why);
}

void ckpt_write(struct run *r, const char *dst)
{
    ckpt_store(dst, &r->s, &ckpt_state, &ckpt_classes, "SEED: 0\n");
}

void ckpt_same_array(struct run *a, struct run *b, enum memory m)
{
    size_t size = run_bytes(a);
    float *x = xcalloc(1, size), *y = xcalloc(1, size);

    session_get(&a->s, m, x);
    session_get(&b->s, m, y);
    assert_memory_equal(x, y, size);
    free(x);
    free(y);
}

void ckpt_damage(const char *file, long pos)
{
    FILE *f = fopen(file, "r+b");
    int c;

    assert_non_null(f);
    (void)fseek(f, pos, SEEK_SET);
    c = fgetc(f);
    (void)fseek(f, pos, SEEK_SET);
    (void)fputc(c ^ 1, f);
    (void)fclose(f);
}
