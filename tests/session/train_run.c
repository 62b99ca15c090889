#include "tests/session/train_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/philox.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/config_init.h"
#include "tests/ops/backends.h"
#include "train/class_weights.h"

static const char *const common[] = {
    "MODEL.TYPE",
    "resnet",
    "MODEL.NAME",
    "resnet20",
    "MODEL.NUM_CLASSES",
    "10",
    "MODEL.DROP_PATH_RATE",
    "0",
    "DATA.IMG_SIZE",
    "8",
    "DATA.BATCH_SIZE",
    "4",
    "CUDNN.DETERMINISTIC",
    "True",
    "CUDNN.ALLOW_TF32",
    "False",
    "CUDNN.CACHE",
    "",
    "AMP_ENABLE",
    "False",
    "AUG.MIXUP",
    "0",
    "AUG.CUTMIX",
    "0",
    "TRAIN.OPTIMIZER.NAME",
    "sgd",
    "TRAIN.BASE_LR",
    "0.1",
    "TRAIN.SCALE_LR",
    "False",
    "TRAIN.WARMUP_EPOCHS",
    "0",
    "TRAIN.EPOCHS",
    "1000",
    "MODEL.LABEL_SMOOTHING",
    "0",
};

void run_init(struct run *r, const char *const *more)
{
    run_init_of(r, 0, more);
}

void run_init_of(struct run *r, int64_t images, const char *const *more)
{
    struct session_options o = {.train = true, .eval = true, .images = images};

    config_init(&r->cfg);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i += 2)
        config_set(&r->cfg, common[i], common[i + 1]);
    config_set(&r->cfg, "DEVICE", test_device());
    for (; more && *more; more += 2)
        config_set(&r->cfg, more[0], more[1]);
    if (class_weights(&r->cfg, NULL, r->class_weight))
        o.factors.weight = r->class_weight;
    session_init(&r->s, &r->cfg, &o);
    session_alloc(&r->s);
    r->weights = xcalloc((size_t)session_flat(&r->s)->weights_len, sizeof(float));
}

void run_release(struct run *r)
{
    session_release(&r->s);
    free(r->weights);
    config_release(&r->cfg);
}

void make_batch(uint8_t *pixels, int32_t *labels, int n, int first)
{
    for (int i = 0; i < n; i++) {
        labels[i] = (first + i) % CLASSES;
        for (int k = 0; k < SIDE * SIDE * 3; k++) {
            struct philox p = philox(1, PHILOX_TEST, (uint64_t)(first + i), (uint64_t)k);

            pixels[i * SIDE * SIDE * 3 + k] =
                (uint8_t)(20 * labels[i] + (int)philox_below(p.v[0], 40));
        }
    }
}

void run_steps(struct run *r, int n)
{
    int batch = (int)r->s.plan.batch;
    uint8_t *pixels = xmalloc((size_t)batch * SIDE * SIDE * 3);
    int32_t *labels = xmalloc((size_t)batch * sizeof(*labels));

    for (int i = 0; i < n; i++) {
        make_batch(pixels, labels, batch, (int)r->s.micro * batch % 20);
        if (session_step(&r->s, pixels, labels))
            session_step_ema(&r->s);
    }
    free(pixels);
    free(labels);
}

const float *run_weights(struct run *r)
{
    session_get(&r->s, MEMORY_WEIGHTS, r->weights);
    return r->weights;
}

size_t run_bytes(const struct run *r)
{
    return (size_t)session_flat(&r->s)->weights_len * sizeof(float);
}

const struct segment *run_segment(const struct run *r, const char *name)
{
    const struct flat *f = session_flat(&r->s);

    for (int i = 0; i < f->nsegment; i++)
        if (!strcmp(f->segment[i].tensor->name, name))
            return &f->segment[i];
    BUG("no tensor '%s'", name);
}
