#include "tests/dataset/segment_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "dataset/dataset.h"
#include "tests/test.h"

static const char *const erfnet[] = {
    "MODEL.TYPE",
    "erfnet",
    "MODEL.NAME",
    "erfnet",
    "MODEL.NUM_CLASSES",
    "4",
    "DATA.MEAN",
    "[0.5,0.5,0.5]",
    "DATA.STD",
    "[0.5,0.5,0.5]",
    "DATA.IMG_WIDTH",
    "24",
    "DATA.IMG_HEIGHT",
    "16",
    "DATA.BATCH_SIZE",
    "2",
    "TRAIN.OPTIMIZER.NAME",
    "adam",
    "TRAIN.BASE_LR",
    "0.001",
    "TRAIN.WEIGHT_DECAY",
    "0.01",
};
enum { KEYS = sizeof(erfnet) / sizeof(erfnet[0]), MORE = 16 };

void segment_run(struct run *r, const char *const *more)
{
    const char *keys[KEYS + MORE + 1] = {NULL};
    int n = 0;

    for (int i = 0; i < KEYS; i++)
        keys[n++] = erfnet[i];
    for (int i = 0; more && more[i]; i++)
        keys[n++] = more[i];
    assert_true(n <= KEYS + MORE);
    run_init(r, keys);
}

/* Scene i: four patches whose noisy gray shows the class, and an ignored column. */
static void scene(int i, int divisor, uint8_t *pixels, uint8_t *labels)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int patch = 2 * (y >= H / 2) + (x >= W / 2), class = (patch + i) % K;
            struct philox p = philox(2, PHILOX_TEST, (uint64_t)i, (uint64_t)(y * W + x));

            for (int c = 0; c < 3; c++)
                pixels[(y * W + x) * 3 + c] =
                    (uint8_t)(60 * class + (int)philox_below(p.v[c], 40));
            if (y % divisor == 0 && x % divisor == 0)
                labels[y / divisor * (W / divisor) + x / divisor] =
                    (uint8_t)(x < divisor ? LABEL_IGNORE : class);
        }
}

void segment_batch(struct run *r, int first, int end, int64_t batch, void **pixels,
                   void **labels)
{
    int divisor = W / (int)r->s.build[SESSION_TRAIN].labels->dim[2];
    int size = W / divisor * (H / divisor);
    uint8_t *x = xcalloc((size_t)batch, (size_t)W * H * 3);
    uint8_t *y = xmalloc((size_t)batch * (size_t)size);

    memset(y, LABEL_IGNORE, (size_t)batch * (size_t)size);
    for (int i = 0; i < batch && first + i < end; i++)
        scene(first + i, divisor, x + i * W * H * 3, y + i * size);
    *pixels = x;
    *labels = y;
}

void segment_steps(struct run *r, int n)
{
    for (int i = 0; i < n; i++) {
        int first = (int)(r->s.micro * r->s.plan.batch % IMAGES);
        void *pixels, *labels;

        segment_batch(r, first, IMAGES, r->s.plan.batch, &pixels, &labels);
        (void)session_step(&r->s, pixels, labels);
        free(pixels);
        free(labels);
    }
}
